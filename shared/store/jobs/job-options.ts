import type { FileFormat } from '../../files/file-form.js';

/** Where a job stops: at the limit of the month, or at the end of the grace band. */
export type StopAt = 'limit' | 'backstop';

/** Which leads a job without a file scores again: those with a call of the model in these days, newest first. */
export interface StoredLeads {
  readonly sent_within_days: number;
  readonly max_rows: number;
}

/** The limits of jobs of stored leads. docs/bulk.md states them. */
export const storedLimits = { days: 365, defaultDays: 90, rows: 2_000_000 } as const;

export interface JobOptions {
  readonly format: FileFormat;
  /** Set for a job without a file. */
  readonly stored?: StoredLeads;
  /** Column or member with the crm_id; absent means `crm_id`, if it exists. */
  readonly crm_id_field?: string;
  /** Bytes of the upload that the creation named; absent if it named none. */
  readonly bytes?: number;
  /** Name of the file, for people; absent if the creation named none. */
  readonly name?: string;
  /** SHA-256 of the upload that the creation named, in hex; absent if it named none. */
  readonly sha256?: string;
  /** Whether a result has the columns of its input row. */
  readonly include_input: boolean;
  readonly explain: boolean;
  readonly stop_at: StopAt;
  /** Failed rows after which the job pauses. */
  readonly max_errors: number;
  /** Whether earlier scores of leads are looked up, for `previous_score`, `enriched` and fill-in. */
  readonly previous: boolean;
  /** Whether a file with names that the model does not know is refused. Absent: false. */
  readonly strict?: boolean;
}
