import { closedObject, count, countOrNull, flag, instant, list, record, share, text } from '../../contract/schema.js';
import { bucket, cursor, day, month, name, organisationId } from './members.js';

export const plan = { type: 'string', enum: ['free', 'trial', 'pro', 'enterprise'] } as const;
/** For models that have not passed validation: `block` refuses calls, `warn` scores with the verdict attached. */
export const policy = { type: 'string', enum: ['block', 'warn'] } as const;
/** Values of a CRM, such as stages of deals. */
export const outcomeValues = {
  type: 'array',
  items: { type: 'string', minLength: 1, maxLength: 255, pattern: '\\S' },
  maxItems: 200,
} as const;
const recordLimit = { type: 'integer', minimum: 1, maximum: 1_000_000_000_000 } as const;

/** An operator has stopped the scoring of the organisation. */
const suspension = closedObject({ since: instant, by: text, reason: text });

/** Its calls get 401 and its people see nothing. From `due_at` on its data is removed. */
const deletion = closedObject({ requested_at: instant, by: text, due_at: instant });

const organisationMembers = {
  org_id: text,
  name: text,
  plan,
  /** Records of live keys that a month includes. */
  limit: count,
  /** Usage never exceeds this. */
  backstop: countOrNull,
  policy,
  /**
   * The organisation's own limit; absent if the plan's limit applies. Without live records on the plan it has no
   * effect.
   */
  'own_limit?': count,
  'trial_ends_at?': instant,
  /** Values of `outcome` in webhooks that mean won or not won, besides the usual words. Absent without any. */
  'won_values?': list(text),
  'lost_values?': list(text),
  /** Absent: the organisation may score. */
  'suspended?': suspension,
  /** Absent: the organisation is not to be deleted. */
  'deletion?': deletion,
  created_at: instant,
} as const;

export const organisationSchema = closedObject(organisationMembers);

export const organisationInput = closedObject({ org_id: organisationId });

/** Within these days a deletion can be taken back. */
export const leastDeletionDays = 1;
export const mostDeletionDays = 90;
export const usualDeletionDays = 7;

/** The name of the organisation confirms the deletion. */
export const deleteOrganisationInput = closedObject({
  org_id: organisationId,
  name,
  'after_days?': { type: 'integer', minimum: leastDeletionDays, maximum: mostDeletionDays },
});

/** Without names. `removing`: its data is being removed. `deleted`: a receipt. */
export const listDeletionsOutput = closedObject({
  deletions: list(
    closedObject({
      org_id: text,
      state: { type: 'string', enum: ['pending', 'removing', 'deleted'] },
      requested_at: instant,
      by: text,
      due_at: instant,
      'begun_at?': instant,
      'ended_at?': instant,
      /** Removed documents by collection. Absent until the removal begins; so for `records`. */
      'removed?': record(count),
      'records?': list(closedObject({ month, live: count, test: count })),
    }),
  ),
});

/** The reason is shown to the people of the organisation. */
export const suspendInput = closedObject({ org_id: organisationId, reason: name });

/**
 * Why calls are refused now. A suspension refuses all scoring, and is then the only reason that is named. An ended
 * trial refuses all keys. A plan without live records and the stop of the month refuse live keys. The policy `block`
 * refuses calls of models that have not passed.
 */
const refusalReasons = ['suspended', 'trial_ended', 'plan_without_live_calls', 'hard_stop', 'blocked_models'] as const;

export const standingOutput = closedObject({
  org_id: text,
  plan,
  refusals: list(
    closedObject({
      reason: { type: 'string', enum: refusalReasons },
      /** The end of the trial, or the beginning of the suspension. */
      'since?': instant,
      /** The words of the operator who suspended the organisation. */
      'operator_reason?': text,
      /** When the month ends, and with it the stop. */
      'until?': instant,
      /** The records at which calls are refused. */
      'backstop?': count,
      /** The first five models that are refused, and the number of all. */
      'models?': list(closedObject({ model_id: text, name: text })),
      'model_count?': count,
    }),
  ),
});

export const attentionInput = closedObject({ org_id: organisationId });

/**
 * The troubles of an organisation, besides calls that are refused now: see `standingOutput`. Each list has the first
 * three, and its count is of all. Lists are empty for a person who may not act on them.
 */
export const attentionOutput = closedObject({
  org_id: text,
  /** Absent while live keys have used less than nine tenths of the limit, and once their calls are refused. */
  'near_limit?': closedObject({ month, used: count, limit: count, backstop: count, resets_at: instant }),
  /** Newest first. */
  paused_jobs: list(
    closedObject({
      job_id: text,
      /** The file's. */
      'name?': text,
      /** Null until the file has been read. */
      rows: countOrNull,
      done: count,
      'pause?': closedObject({ reason: text, message: text, 'resumes_at?': instant }),
    }),
  ),
  paused_job_count: count,
  /** Fields of live models that less than half of the usual share of records had on the last day with records. */
  vanished_fields: list(
    closedObject({ model_id: text, model_name: text, field: text, label: text, day, before: share, now: share }),
  ),
  vanished_field_count: count,
  /** Valid keys without a call for sixty days, those of the longest silence first. */
  idle_keys: list(
    closedObject({
      key_id: text,
      name: text,
      kind: bucket,
      created_at: instant,
      /** Absent if no call of the last 400 days is known. */
      'last_used_at?': instant,
    }),
  ),
  idle_key_count: count,
});

export const createOrganisationInput = closedObject({
  name,
  plan,
  'limit?': recordLimit,
  'policy?': policy,
  'trial_ends_at?': instant,
});

/** Members that are absent stay. Plan, limit and the end of the trial are the operator's. */
export const setOrganisationInput = closedObject({
  org_id: organisationId,
  'name?': name,
  'plan?': plan,
  /** Null restores the limit of the plan. */
  'limit?': { ...recordLimit, type: ['integer', 'null'] },
  'policy?': policy,
  'trial_ends_at?': instant,
  /** An empty list removes them. */
  'won_values?': outcomeValues,
  'lost_values?': outcomeValues,
});

/** Without `limit` all organisations. */
export const listOrganisationsInput = closedObject({
  'after?': cursor,
  'limit?': { type: 'integer', minimum: 1, maximum: 1_000 },
  'with_usage?': flag,
});
export const listOrganisationsOutput = closedObject({
  organisations: list(
    closedObject({
      ...organisationMembers,
      /** Records of live keys this month; null while Redis knows no counter. Only `with_usage`. */
      'used?': countOrNull,
    }),
  ),
  'next?': text,
});
