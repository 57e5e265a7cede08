import {
  closedObject,
  count,
  countOrNull,
  flag,
  instant,
  instantOrNull,
  list,
  number,
  numberOrNull,
  record,
  share,
  text,
  textOrNull,
} from '../../contract/schema.js';
import { rescoringInput, rescoringSchema } from './jobs.js';
import { day, explainMethod, modelId, name, organisationId, version } from './members.js';

const verdictState = {
  type: 'string',
  enum: ['passed', 'failed', 'too_early_to_grade', 'unresolved', 'not_applicable'],
} as const;

/** The verdict that callers receive. `failing_gate` is null unless a gate did not clear. */
export const verdictSchema = closedObject({ state: verdictState, failing_gate: textOrNull, summary: text });

const overrideSchema = closedObject({ version: text, by: text, at: instant, reason: text });

/** A stored version that scores no calls, to be compared with the one that does. */
const candidateSchema = closedObject({ version: text, since: instant, by: text });

/** The version that scored calls before the current one, with its override. A rollback restores both. */
const previousSchema = closedObject({ version: text, 'override?': overrideSchema });

/** How far the candidate has scored the leads of the last 365 days. */
export const candidateRunSchema = closedObject({
  state: { type: 'string', enum: ['waiting', 'running', 'completed', 'failed'] },
  /** The version that it is compared with. */
  base: text,
  rows: count,
  /** Leads among `rows` that the candidate may have been trained on. */
  seen: count,
  /** Leads that it cannot score. */
  refused: count,
  /** Null until the leads are counted. */
  total: countOrNull,
  summary: text,
});

const settingMembers = {
  model_id: text,
  org_id: text,
  name: text,
  family: { type: 'string', enum: ['forward', 'timing'] },
  /** The version that scores calls. */
  version: text,
  live_api: flag,
  /** Lets this version score without passed validation. */
  'override?': overrideSchema,
  /** An override of another version, which does not apply now. */
  'other_override?': overrideSchema,
  'candidate?': candidateSchema,
  'previous?': previousSchema,
  'rescore?': rescoringSchema,
  created_at: instant,
} as const;
const modelMembers = { ...settingMembers, validation: verdictSchema } as const;

export const modelInput = closedObject({ 'org_id?': organisationId, model_id: modelId });
export const listModelsInput = closedObject({ org_id: organisationId });
export const listModelsOutput = closedObject({ models: list(closedObject(modelMembers)) });

const fieldMembers = {
  field: text,
  label: text,
  type: { type: 'string', enum: ['number', 'boolean', 'category', 'multi', 'date'] },
  required: flag,
  /** How dates with slashes are read. Only for `date`; without it they are unreadable. */
  'date_order?': { type: 'string', enum: ['dmy', 'mdy'] },
} as const;

const fieldSchema = closedObject({
  ...fieldMembers,
  'aliases?': list(text),
  /** Only for `category` and `multi`. */
  'categories?': list(text),
});

/** The reply of every action on one model. */
export const modelSchema = closedObject({
  ...modelMembers,
  'candidate_run?': candidateRunSchema,
  /** Latest import first. */
  versions: list(closedObject({ version: text, digest: text, imported_at: instant })),
  'fields?': list(fieldSchema),
});

export const gateSchema = closedObject({
  gate: {
    type: 'string',
    enum: [
      'predictions_recorded',
      'cohort_reconciles',
      'matured_cohort',
      'outcomes_observed',
      'rate_rises_with_band',
      'top_band_lift',
    ],
  },
  state: { type: 'string', enum: ['cleared', 'too_early', 'failed', 'not_reached'] },
  /** Counts, rates and p values, with their thresholds as `required…`; see docs/validation.md. */
  figures: record(number),
  'needs?': text,
});

/** Conversions of matured leads of one score band, with the 95 % Wilson interval of their rate. */
const bandSchema = closedObject({
  scores: text,
  records: count,
  conversions: count,
  rate: share,
  low: share,
  high: share,
});

/** One score band of a grade: promised against converted. Null without a matured lead. */
const calibrationSchema = closedObject({
  scores: text,
  records: count,
  /** Mean likelihood that was promised. */
  promised: numberOrNull,
  converted: numberOrNull,
  low: share,
  high: share,
});

export const reportInput = closedObject({
  'org_id?': organisationId,
  model_id: modelId,
  /** The current one by default. */
  'version?': version,
});

/** The evidence about one version, and the facts about its bundle. */
export const modelReportSchema = closedObject({
  model_id: text,
  version: text,
  /** The verdict on this version, without an override. */
  validation: verdictSchema,
  /** The six gates, also before the first grade; empty for a timing model or an unresolved verdict. */
  gates: list(gateSchema),
  /** Absent before the first grade. `bands` and `calibration` have five entries, lowest scores first. */
  'grade?': closedObject({
    as_of: instant,
    graded_at: instant,
    horizon_days: count,
    bands: list(bandSchema),
    calibration: list(calibrationSchema),
  }),
  /**
   * While it is too early for a verdict: the day on which one becomes possible, if outcomes name all leads. The day is
   * absent when it is not known. An estimate supposes that leads arrive and convert as so far.
   */
  'outlook?': closedObject({ horizon_days: count, 'verdict_day?': day, is_estimate: flag }),
  /** First scores of leads by day, oldest first, for up to a year. `bands` has five counts, lowest scores first. */
  days: list(closedObject({ day, bands: list(count) })),
  /** Population stability index of the last 28 days against all earlier ones; null without enough scores. */
  stability: numberOrNull,
  /** Mean contribution of each field over the golden records, in log-odds, strongest first; null if not computed. */
  contributions: {
    type: ['array', 'null'],
    items: closedObject({ field: text, label: text, raises: number, lowers: number }),
  },
  /** How `contributions` are computed. */
  explain_method: explainMethod,
  base_rate: numberOrNull,
  trained_at: instantOrNull,
  /** Input columns of the model. */
  width: countOrNull,
  /** In the order of the bundle; `categories` is their number. Several entries may have one field. */
  fields: list(closedObject({ ...fieldMembers, 'categories?': count })),
  /** Records of live keys this month, of all versions; up to a minute late. */
  records_this_month: countOrNull,
});

/** One of the golden records; null for a bundle without them, and when the drawn one is too long for a form. */
export const exampleOutput = closedObject({
  record: {
    type: ['object', 'null'],
    additionalProperties: { type: ['string', 'number', 'boolean', 'array'], items: {} },
  },
});

export const coverageInput = closedObject({
  'org_id?': organisationId,
  model_id: modelId,
  /** Today included, or the last day `to`; 7 by default. */
  'days?': { type: 'integer', minimum: 1, maximum: 90 },
  'to?': day,
  /** The current one by default. */
  'version?': version,
});

const fieldCounts = { sent: count, missing: count, filled: count, unread: count, unseen: count } as const;

/** How the fields of live calls were read; up to a minute late. Oldest day first. */
export const coverageOutput = closedObject({
  model_id: text,
  name: text,
  version: text,
  days: list(closedObject({ day, records: count })),
  fields: list(
    closedObject({
      field: text,
      ...fieldCounts,
      by_day: list(closedObject({ day, ...fieldCounts })),
      /** The commonest, at most 20. */
      unseen_values: list(closedObject({ value: text, records: count })),
    }),
  ),
  /** Why fields need attention, in words, the worst first. */
  attention: list(text),
});

/** Members that are absent stay. A reason gives the version an override, and null removes it. */
export const setModelInput = closedObject({
  'org_id?': organisationId,
  model_id: modelId,
  'live_api?': flag,
  'name?': name,
  'version?': version,
  'override?': {
    type: ['object', 'null'],
    properties: { reason: name },
    required: ['reason'],
    additionalProperties: false,
  },
  'rescore?': rescoringInput,
});

export const overrideInput = closedObject({ org_id: organisationId, model_id: modelId, reason: name });
/** An override lets a version score that the deploy policy would block. */
const givenOverride = closedObject({ reason: name });

/** Both versions are named: in another state of the model nothing changes. */
export const promoteInput = closedObject({
  'org_id?': organisationId,
  model_id: modelId,
  /** The version that scores calls. */
  current: version,
  candidate: version,
  /** Promotes a candidate against which something speaks. */
  'force?': closedObject({ reason: name }),
  'override?': givenOverride,
});

/** Both versions are named: in another state of the model nothing changes. */
export const rollbackInput = closedObject({
  'org_id?': organisationId,
  model_id: modelId,
  /** The version that scores calls. */
  current: version,
  /** The version that scored calls before. */
  previous: version,
  /** By default the override that it had is restored. */
  'override?': givenOverride,
});
export const candidateInput = closedObject({ 'org_id?': organisationId, model_id: modelId, version });

/** Members of an import, of a bundle that was uploaded as of one that was read. */
export const importMembers = () =>
  ({
    org_id: organisationId,
    /** Makes the bundle a version of this model; otherwise it becomes a new model. */
    'model_id?': modelId,
    /**
     * With `model_id`, whether the version scores calls at once, or is a candidate that scores none. Required then,
     * because a version that has not passed may be blocked.
     */
    'use?': { type: 'string', enum: ['candidate', 'serve'] },
    'override?': givenOverride,
    /** Makes a new model although a model of the organisation has the same bundle. */
    'new?': flag,
    'name?': name,
    'live_api?': flag,
  }) as const;

export const importModelInput = closedObject(importMembers());
/**
 * `is_new_version` is false if the model had this version already, with the same content. `blocked` is the validation
 * state for which the deploy policy refuses the calls of a new model.
 */
export const importModelOutput = closedObject({ ...settingMembers, is_new_version: flag, 'blocked?': text });

export const deleteModelOutput = closedObject({ model_id: text, deleted_at: instant });
