import { failureDocument, pauseDocument } from '../../../shared/admin/jobs/job-document.js';
import type { UsageReport } from '../../../shared/contract/plans.js';
import { unresolved, type Verdict } from '../../../shared/contract/verdict.js';
import type { Job } from '../../../shared/store/jobs/job-documents.js';
import type { ModelVerdicts } from '../../../shared/store/validation/model-verdicts.js';
import type { Metering } from '../../admission/metering.js';
import type { Reader } from '../reading.js';
import { inputSummaryOf } from './input-summary.js';

export interface JobReplyDeps {
  readonly metering: Pick<Metering, 'usage'>;
  readonly verdicts: Pick<ModelVerdicts, 'of'>;
  readonly nowMs: () => number;
  /** Whether a runner of bulk jobs runs. */
  readonly hasRunner: () => Promise<boolean>;
}

type JobForReply = Omit<Job, 'file'> & { readonly file?: Pick<NonNullable<Job['file']>, 'rows' | 'fields'> };

/** The jobs of one caller as V1Job. The usage is read once. */
export async function jobReplies(
  jobs: readonly JobForReply[],
  { organisation, apiKey, models }: Reader,
  { metering, verdicts, nowMs, hasRunner }: JobReplyDeps,
): Promise<Record<string, unknown>[]> {
  if (jobs.length === 0) return [];
  const { month: _, ...usage } = await metering.usage(organisation, apiKey.kind);
  return await Promise.all(
    jobs.map(async (job) => {
      const model = models.find(({ _id }) => _id === job.model);
      // A removed model has no verdict.
      const verdict = model === undefined ? unresolved : await verdicts.of({ ...model, version: job.version });
      const waitsForRunner = runnable.has(job.state) && !(await hasRunner());
      return jobReply(job, { usage, verdict, nowMs: nowMs(), waitsForRunner });
    }),
  );
}

/** The states in which a runner works on a job, and the one before them. */
const runnable: ReadonlySet<Job['state']> = new Set(['awaiting_upload', 'reading', 'running']);

/** Stands before the notices about the file, and goes when a runner runs. */
const withoutRunner =
  'No runner of bulk jobs runs, so the job waits. The operator of the service starts one: npm run start:bulk';

interface ReplyState {
  readonly usage: UsageReport;
  readonly verdict: Verdict;
  readonly nowMs: number;
  readonly waitsForRunner: boolean;
}

function jobReply(job: JobForReply, { usage, verdict, nowMs, waitsForRunner }: ReplyState): Record<string, unknown> {
  const { options, upload, pause, failure } = job;
  const notices = [...(waitsForRunner ? [withoutRunner] : []), ...(job.notices ?? [])];
  const sha256 = upload.sha256 ?? options.sha256;
  return {
    job_id: job._id,
    state: job.state,
    model_id: job.model,
    model_version: job.version,
    created_at: job.created_at.toISOString(),
    ...(job.started_at === undefined ? {} : { started_at: job.started_at.toISOString() }),
    ...(job.ended_at === undefined ? {} : { ended_at: job.ended_at.toISOString() }),
    input: {
      ...(options.stored !== undefined && { source: 'stored', ...options.stored }),
      format: options.format,
      ...(options.crm_id_field === undefined ? {} : { crm_id_field: options.crm_id_field }),
      ...(options.name === undefined ? {} : { name: options.name }),
      ...(sha256 === undefined ? {} : { sha256 }),
      bytes_received: upload.complete_at === undefined ? (upload.bytes ?? 0) : (upload.length ?? 0),
      ...(upload.length === undefined ? {} : { bytes: upload.length }),
    },
    output: { format: options.format, include_input: options.include_input },
    explain: options.explain,
    stop_at: options.stop_at,
    max_errors: options.max_errors,
    previous: options.previous,
    strict: options.strict ?? false,
    progress: progressOf(job, nowMs),
    ...(job.file?.fields === undefined || job.input === undefined
      ? {}
      : { input_summary: inputSummaryOf(job.file.fields, job.input) }),
    ...(pause === undefined ? {} : { pause: pauseDocument(pause) }),
    ...(failure === undefined ? {} : { error: failureDocument(failure) }),
    ...(notices.length > 0 && { notices }),
    usage,
    validation: verdict,
    expires_at: job.purge_at.toISOString(),
    ...(job.bucket === 'test' ? { test: true } : {}),
  };
}

function progressOf({ file, settled, started_at, ended_at, state }: JobForReply, nowMs: number) {
  const seconds = started_at === undefined ? 0 : ((ended_at?.getTime() ?? nowMs) - started_at.getTime()) / 1_000;
  const rate = seconds > 0 ? settled.rows / seconds : null;
  const rowsLeft = (file?.rows ?? 0) - settled.rows;
  return {
    rows: file?.rows ?? null,
    scored: settled.scored,
    failed: settled.failed,
    empty: settled.empty,
    rows_per_second: rate === null ? null : Math.round(10 * rate) / 10,
    seconds_left:
      state === 'running' && file !== undefined && rate !== null && rate > 0 ? Math.ceil(rowsLeft / rate) : null,
  };
}
