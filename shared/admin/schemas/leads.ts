import {
  closedObject,
  count,
  flag,
  instant,
  instantOrNull,
  list,
  number,
  numberOrNull,
  record,
  score,
  share,
  text,
  textOrNull,
} from '../../contract/schema.js';
import { bucket, crmId, cursor, explainMethod, modelId, organisationId } from './members.js';

/** Leads whose crm_id begins with a text of at least two characters. */
export const searchLeadsInput = closedObject({
  org_id: organisationId,
  prefix: { type: 'string', minLength: 2, maxLength: 255, format: 'well-formed-text' },
});
/** In the order of their bytes, at most 20. */
export const searchLeadsOutput = closedObject({
  leads: list(
    closedObject({
      crm_id: text,
      /** The latest score under any model; absent when the lead is erased during the search. */
      'latest?': closedObject({
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

export const recentLeadsInput = closedObject({ org_id: organisationId });
const recentLead = closedObject({
  crm_id: text,
  model_id: text,
  model_name: textOrNull,
  /** The latest under this model. */
  score,
  scored_at: instant,
  /** Against the score before under this model; absent where it is not among the predictions that were read. */
  'delta?': { type: 'integer', minimum: -100, maximum: 100 },
});
/** At most ten leads in each list. */
export const recentLeadsOutput = closedObject({
  /** How many predictions were read: at most 10,000, of at most 3,000 calls and parts of calls. */
  predictions: count,
  /** When the oldest of them was made. */
  'since?': instant,
  newest: list(recentLead),
  highest: list(recentLead),
  /** The leads whose score changed most against the one before. */
  changed: list(recentLead),
});

export const leadInput = closedObject({ org_id: organisationId, crm_id: crmId, 'before?': cursor });

/** A field that was sent with another value than in the lead's score before. */
const changedField = closedObject({ field: text, label: text, before: textOrNull, after: textOrNull });

/** Latest score first. `next` is absent on the last page. */
export const leadSchema = closedObject({
  crm_id: text,
  scores: list(
    closedObject({
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
  'outcome?': closedObject({ converted: flag, at: instant }),
  'next?': text,
});

/** All that is stored of a lead, latest score first. `next` is absent on the last page. */
export const exportLeadOutput = closedObject({
  crm_id: text,
  scores: list(
    closedObject({
      call_id: text,
      /** The bulk job of the call, while the job is kept. */
      'job_id?': text,
      model_id: text,
      model_name: textOrNull,
      version: text,
      score,
      conversion_likelihood: share,
      scored_at: instant,
      /** The values that the score was made from, also those that came from an earlier one. Any JSON. */
      fields: list(closedObject({ field: text, value: {} })),
    }),
  ),
  'outcome?': closedObject({ converted: flag, at: instant, received_at: instant }),
  'next?': text,
});

export const eraseLeadInput = closedObject({ org_id: organisationId, crm_id: crmId });
export const eraseLeadOutput = closedObject({ crm_id: text, erased_at: instant });

/** Values of a record as a CRM would send them. */
export const playgroundInput = closedObject({
  org_id: organisationId,
  model_id: modelId,
  fields: record({ type: ['string', 'number', 'boolean', 'null', 'array'] }),
});
export const playgroundOutput = closedObject({
  score,
  conversion_likelihood: share,
  /** The mean likelihood of training data; null if the author did not state it. */
  base_rate: numberOrNull,
  explain_method: explainMethod,
  /** Strongest first, at most ten. `contribution` is a change of the log-odds. A date says how long ago it was. */
  drivers: list(
    closedObject({
      field: text,
      label: text,
      value: text,
      direction: { type: 'string', enum: ['positive', 'negative'] },
      contribution: number,
    }),
  ),
  reasons: list(text),
  warnings: list(text),
  /** How the record was read, as `input` of a reply to `POST /v1/score`, without the fields that have no value. */
  input: closedObject({
    used: count,
    unread: list(closedObject({ field: text, value: text, reason: text })),
    unseen: list(closedObject({ field: text, value: text })),
    ambiguous: list(closedObject({ field: text, value: text, date_order: text })),
    /** Names that the model does not know, and the fields that some of them probably mean. */
    ignored: list(text),
    did_you_mean: record(text),
    /** How many more each list of the report has; absent where all are listed. */
    'more?': record(count),
  }),
  /** Records of the test bucket this month, this one included. */
  usage: closedObject({ current: { type: 'integer' }, limit: { type: 'integer' } }),
});

export const crmInput = closedObject({ org_id: organisationId });
/** The set-up page of a CRM: whether calls arrive. */
export const crmSchema = closedObject({
  /** Where CRMs send calls to. */
  api_url: text,
  first_call_at: instantOrNull,
  last_call_at: instantOrNull,
  /** The newest counted calls, at most 20. */
  calls: list(
    closedObject({
      at: instant,
      key_id: text,
      'key_name?': text,
      bucket,
      model_id: text,
      'model_name?': text,
      records: { type: 'integer', minimum: 1 },
      request_id: text,
    }),
  ),
});
