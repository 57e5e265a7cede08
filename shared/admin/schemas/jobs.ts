import { closedObject, count, countOrNull, flag, instant, list, numberOrNull, text } from '../../contract/schema.js';
import { bucket, keyId, modelId, organisationId } from './members.js';

const jobMembers = {
  job_id: text,
  org_id: text,
  /** Id of the API key that created it, or `console`. */
  key_id: text,
  /** The person who created it in the console, or the name of the key. */
  created_by: text,
  kind: bucket,
  state: text,
  'pause?': closedObject({ reason: text, message: text, 'resumes_at?': instant }),
  'error?': closedObject({ message: text, 'line?': count, 'column?': count }),
  model_id: text,
  /** Absent for a model that was removed. */
  'model_name?': text,
  model_version: text,
  /** Name of the file, if its creation named one. */
  'name?': text,
  /** The job has no file, and scores stored leads again. */
  'source?': { type: 'string', enum: ['stored'] },
  progress: closedObject({
    /** Null until the file has been read. */
    rows: countOrNull,
    scored: count,
    failed: count,
    empty: count,
  }),
  created_at: instant,
  'ended_at?': instant,
  /** When its files are removed. */
  expires_at: instant,
} as const;

/** A bulk job in a list: without the columns and rows of its file. */
export const jobSchema = closedObject(jobMembers);

export const listJobsInput = closedObject({
  org_id: organisationId,
  'limit?': { type: 'integer', minimum: 1, maximum: 1_000 },
});
export const listJobsOutput = closedObject({ jobs: list(jobSchema) });

const usage = closedObject({
  current: count,
  limit: count,
  remaining: { type: 'integer' },
  in_grace: flag,
  backstop: countOrNull,
});

/** A bulk job on its own page. */
export const jobPageSchema = closedObject({
  ...jobMembers,
  upload: closedObject({
    format: { type: 'string', enum: ['csv', 'jsonl'] },
    received: count,
    'bytes?': count,
    'fingerprint?': text,
  }),
  pace: closedObject({ rows_per_second: numberOrNull, seconds_left: countOrNull }),
  options: closedObject({
    'crm_id_field?': text,
    /** Only with `source`: the leads that were sent in so many days, and their greatest number. */
    'sent_within_days?': count,
    'max_rows?': count,
    include_input: flag,
    explain: flag,
    previous: flag,
    strict: flag,
    stop_at: text,
    max_errors: count,
  }),
  'input_summary?': closedObject({
    records: count,
    fields: list(
      closedObject({
        field: text,
        sent: count,
        unread: count,
        unseen: count,
        'ambiguous?': count,
        'date_order?': text,
        'reason?': text,
      }),
    ),
    ignored: list(closedObject({ name: text, records: count, 'did_you_mean?': text })),
    'ignored_more?': count,
  }),
  notices: list(text),
  usage,
});

export const jobInput = closedObject({ org_id: organisationId, job_id: { type: 'string', maxLength: 100 } });

const format = { type: 'string', enum: ['csv', 'jsonl'] } as const;
const column = { type: 'string', minLength: 1, maxLength: 255, format: 'well-formed-text' } as const;
const fingerprint = { type: 'string', pattern: '^[0-9a-f]{64}$' } as const;
const fileName = { type: 'string', minLength: 1, maxLength: 255, format: 'well-formed-text' } as const;

export const createJobInput = closedObject({
  org_id: organisationId,
  model_id: modelId,
  format,
  name: fileName,
  bytes: { type: 'integer', minimum: 1, maximum: 5 * 1024 ** 3 },
  /** See `Job.fingerprint`. */
  fingerprint,
  'crm_id_field?': column,
  'include_input?': flag,
  'explain?': flag,
  'previous?': flag,
  'strict?': flag,
  'stop_at?': { type: 'string', enum: ['limit', 'backstop'] },
});

/** See docs/bulk.md, which states the limits. */
export const createStoredJobInput = closedObject({
  org_id: organisationId,
  model_id: modelId,
  sent_within_days: { type: 'integer', minimum: 1, maximum: 365 },
  max_rows: { type: 'integer', minimum: 1, maximum: 2_000_000 },
  'format?': format,
  'explain?': flag,
  'stop_at?': { type: 'string', enum: ['limit', 'backstop'] },
});

const rescoring = {
  /** `promotion`: once another version scores calls. `nightly`: at the begin of each UTC day. */
  when: { type: 'string', enum: ['promotion', 'nightly'] },
  /** The key under which the jobs count. */
  key_id: keyId,
  /** Leads of one job. */
  at_most: { type: 'integer', minimum: 1, maximum: 2_000_000 },
} as const;

/** The jobs of stored leads that the service creates for a model by itself. */
export const rescoringSchema = closedObject({
  ...rescoring,
  /** Absent for a key that no longer exists, and in lists. */
  'key_name?': text,
  by: text,
  since: instant,
  /** The last job. */
  'job_id?': text,
  /** Why no job follows. */
  'ended?': closedObject({ at: instant, reason: text }),
});

/** Sets these jobs; null ends them. */
export const rescoringInput = { ...closedObject(rescoring), type: ['object', 'null'] } as const;

/** The first bytes of a file in base64, inflated if it is gzip. */
const headOfFile = { type: 'string', maxLength: 200_000, pattern: '^[A-Za-z0-9+/]*={0,2}$' } as const;

export const previewJobInput = closedObject({
  org_id: organisationId,
  model_id: modelId,
  head: headOfFile,
  /** Whether the head is all of the file. */
  is_whole: flag,
  fingerprint,
  'crm_id_field?': column,
});

/** A file before it is scored: its columns beside the fields of a model. */
export const previewJobOutput = closedObject({
  format,
  /** The first thousand columns, or members of the first records. */
  columns: list(
    closedObject({
      name: text,
      /** The field that it feeds. */
      'field?': text,
      /** The nearest field, for a name that the model does not know. */
      'did_you_mean?': text,
      'is_id?': { type: 'boolean', enum: [true] },
    }),
  ),
  more_columns: count,
  /** The fields of the model that the file lacks. */
  missing: list(text),
  fields: count,
  /** The name with the ids; absent when no name says so. */
  'id_column?': text,
  /** The name that may have them. */
  'id_guess?': text,
  /** Why the file cannot be read. */
  'problem?': text,
  /** Rows in the head. */
  rows: count,
  usage,
  /** Earlier jobs of the same file, newest first. */
  same_file: list(jobSchema),
});

/** The first failed rows of a job, by their reasons. */
export const jobFailuresOutput = closedObject({
  kinds: list(
    closedObject({
      /** The reason, with `…` for the values that differ. */
      reason: text,
      rows: count,
      first: list(closedObject({ row: count, line: count, 'crm_id?': text, message: text })),
    }),
  ),
  /** Failed rows that were read for this, and all of them. */
  read: count,
  failed: count,
});
