import { closedObject, count, countOrNull, instant, list, share, text } from '../../contract/schema.js';
import { bucket, day, month, organisationId } from './members.js';

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
