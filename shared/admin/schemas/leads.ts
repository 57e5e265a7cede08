import {
  bucket,
  count,
  crmId,
  cursor,
  explainMethod,
  flag,
  instant,
  instantOrNull,
  list,
  modelId,
  number,
  numberOrNull,
  object,
  organisationId,
  record,
  score,
  share,
  text,
  textOrNull,
} from './schema.js';

/** Leads whose crm_id begins with a text of at least two characters. */
export const searchLeadsInput = object({
  org_id: organisationId,
  prefix: { type: 'string', minLength: 2, maxLength: 255, format: 'well-formed-text' },
});
/** In the order of their bytes, at most 20. */
export const searchLeadsOutput = object({
  leads: list(
    object({
      crm_id: text,
      /** The latest score under any model; absent when the lead is erased during the search. */
      'latest?': object({
        model_id: text,
        model_name: textOrNull,
        version: text,
        score,
        scored_at: instant,
        /** The last scores under this model, oldest first, at most five. The last one is `score`. */
        scores: list(score),
        /** How many other models have scored the lead. */
        other_models: count,
      }),
    }),
  ),
});

export const leadInput = object({ org_id: organisationId, crm_id: crmId, 'before?': cursor });

/** A field that was sent with another value than in the lead's score before. */
const changedField = object({ field: text, label: text, before: textOrNull, after: textOrNull });

/** Latest score first. `next` is absent on the last page. */
export const leadSchema = object({
  crm_id: text,
  scores: list(
    object({
      model_id: text,
      model_name: textOrNull,
      version: text,
      score,
      conversion_likelihood: share,
      scored_at: instant,
      /** Against the lead's score before under the same model; absent for the first. */
      'delta?': { type: 'integer', minimum: -100, maximum: 100 },
      /** The fields that changed since that score; absent where it is not known. */
      'changed?': list(changedField),
    }),
  ),
  'outcome?': object({ converted: flag, at: instant }),
  'next?': text,
});

export const eraseLeadInput = object({ org_id: organisationId, crm_id: crmId });
export const eraseLeadOutput = object({ crm_id: text, erased_at: instant });

/** Values of a record as a CRM would send them. */
export const playgroundInput = object({
  org_id: organisationId,
  model_id: modelId,
  fields: record({ type: ['string', 'number', 'boolean', 'null', 'array'] }),
});
export const playgroundOutput = object({
  score,
  conversion_likelihood: share,
  /** The mean likelihood of training data; null if the author did not state it. */
  base_rate: numberOrNull,
  explain_method: explainMethod,
  /** Strongest first, at most ten. `contribution` is a change of the log-odds. */
  drivers: list(
    object({
      field: text,
      label: text,
      value: text,
      direction: { type: 'string', enum: ['positive', 'negative'] },
      contribution: number,
    }),
  ),
  reasons: list(text),
  warnings: list(text),
  /** Records of the test bucket this month, this one included. */
  usage: object({ current: { type: 'integer' }, limit: { type: 'integer' } }),
});

export const crmInput = object({ org_id: organisationId });
/** The set-up page of a CRM: whether calls arrive. */
export const crmSchema = object({
  /** Where CRMs send calls to. */
  api_url: text,
  first_call_at: instantOrNull,
  last_call_at: instantOrNull,
  /** The newest counted calls, at most 20. */
  calls: list(
    object({
      at: instant,
      key_id: text,
      bucket,
      model_id: text,
      records: { type: 'integer', minimum: 1 },
      request_id: text,
    }),
  ),
});
