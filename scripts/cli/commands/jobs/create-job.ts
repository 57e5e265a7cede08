import type { CliContext, CommandResult } from '../../context/cli-context.js';
import { lineWidth } from '../../context/cli-context.js';
import { usageError } from '../../context/cli-error.js';
import { openInput } from '../../files/input-file.js';
import { type FileJobOptions, fileJob, withDigest } from '../../jobs/file-job.js';
import { hasEnded, type JobReply } from '../../jobs/job-reply.js';
import { jobText } from '../../jobs/job-text.js';
import { requireSource, type StoredJobOptions, storedJob } from '../../jobs/stored-job.js';
import { requireSize, uploadFile } from '../../jobs/upload-input.js';
import { type AccessOptions, jobCommand, withJobs } from './job-options.js';

/** Parsed options of `job create`. */
export interface CreateJobOptions extends AccessOptions, StoredJobOptions, Omit<FileJobOptions, 'includeInput'> {
  /** False with `--no-input`. */
  readonly input: boolean;
  readonly stored?: boolean;
}

/**
 * Creates the job of a file and uploads it, or that of stored leads. Run again after an interruption, it continues the
 * upload.
 */
export async function createJob(
  context: CliContext,
  path: string | undefined,
  options: CreateJobOptions,
): Promise<CommandResult> {
  requireSource(path, { ...options });
  if (path === undefined)
    return await withJobs(context, options, async ({ client }) =>
      createdOf(await storedJob(client, options, new Date()), options, context),
    );
  if (path === '-') throw usageError(noStandardInput);
  const opened = await openInput(path);
  requireSize(opened);
  let job: JobReply | undefined;
  const stopped = (): string =>
    job === undefined
      ? 'Stopped before the job was created.'
      : `Stopped during the upload of ${job.job_id}. Run the same command again to continue it.`;
  return await withJobs(
    context,
    options,
    async ({ client, screen }) => {
      const input = await withDigest(opened, client.means.signal);
      const found = await fileJob({ context, client }, input, { ...options, includeInput: options.input });
      job = found.job;
      job = await uploadFile({ client, screen, job, input });
      return createdOf(job, options, context);
    },
    stopped,
  );
}

function createdOf(job: JobReply, options: CreateJobOptions, context: CliContext): CommandResult {
  const text = jobText(job, { width: lineWidth(context.stdout) });
  return { document: job, text: `${text}\n\n${nextOf(job, options, context).join('\n')}` };
}

/** Why a command takes no standard input. */
export const noStandardInput =
  'Standard input cannot be uploaded: after a lost connection its bytes could not be read again. Give a file';

/** The commands that a user may want next. */
function nextOf(job: JobReply, options: CreateJobOptions, { config }: CliContext): string[] {
  const words = (text: string): string => `  ${jobCommand(text, options, config)}`;
  const results = words(`results ${job.job_id} --out FILE`);
  if (hasEnded(job)) return ['Download the results:', results];
  return [...['See how far it is:', words(`show ${job.job_id}`)], ...['Download the results that exist:', results]];
}
