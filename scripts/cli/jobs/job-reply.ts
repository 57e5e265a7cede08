import { member, type ReplyUsage, type ReplyValidation } from '../calls/api-reply.js';

/** A bulk job as the API shows it: the members that the command uses. `--json` prints all. */
export interface JobReply {
  readonly job_id: string;
  readonly state: string;
  readonly model_id?: string;
  readonly model_version?: string;
  readonly created_at?: string;
  readonly input?: {
    readonly format?: string;
    /** `stored` for a job without a file, with the next two. */
    readonly source?: string;
    readonly sent_within_days?: number;
    readonly max_rows?: number;
    readonly crm_id_field?: string;
    readonly name?: string;
    readonly sha256?: string;
    /** Bytes of the upload that the service has stored. */
    readonly bytes_received?: number;
    /** Bytes of the complete upload, once they are known. */
    readonly bytes?: number;
  };
  readonly output?: { readonly include_input?: boolean };
  readonly explain?: boolean;
  readonly stop_at?: string;
  readonly previous?: boolean;
  readonly progress?: JobProgress;
  readonly pause?: { readonly reason: string; readonly message: string; readonly resumes_at?: string };
  /** Why a failed job cannot be read. */
  readonly error?: { readonly message: string; readonly line?: number; readonly column?: number };
  /** Sentences about rows that were passed over, short rows and repeated ids. */
  readonly notices?: readonly string[];
  readonly usage?: ReplyUsage;
  readonly validation?: ReplyValidation;
  readonly expires_at?: string;
}

/** Rows of the file by their fate. */
interface JobProgress {
  /** Null until the file has been read. */
  readonly rows: number | null;
  readonly scored: number;
  readonly failed: number;
  readonly empty: number;
  readonly rows_per_second?: number | null;
  readonly seconds_left?: number | null;
}

export interface JobPage {
  readonly jobs: readonly JobReply[];
  readonly next_cursor?: string;
}

/** Whether a parsed body is a job. */
export function isJob(body: unknown): body is JobReply {
  const progress = member(body, 'progress');
  const counts = ['scored', 'failed', 'empty'].map((name) => member(progress, name));
  return (
    typeof member(body, 'job_id') === 'string' &&
    typeof member(body, 'state') === 'string' &&
    (progress === undefined || counts.every((count) => typeof count === 'number'))
  );
}

/** Whether a parsed body is a page of jobs. */
export function isJobPage(body: unknown): body is JobPage {
  const jobs = member(body, 'jobs');
  return Array.isArray(jobs) && jobs.every(isJob);
}

/** Whether a job has ended, and will not change again. */
export const hasEnded = ({ state }: JobReply): boolean => ['completed', 'canceled', 'failed'].includes(state);

/** Rows of the settled prefix: scored, failed or empty. */
export const rowsDone = ({ progress }: JobReply): number =>
  progress === undefined ? 0 : progress.scored + progress.failed + progress.empty;

/** Finished share of the rows, 0 to 1; undefined until the file has been read. */
export function shareDone(job: JobReply): number | undefined {
  const rows = job.progress?.rows ?? undefined;
  if (rows === undefined) return undefined;
  return rows === 0 ? 1 : Math.min(1, rowsDone(job) / rows);
}
