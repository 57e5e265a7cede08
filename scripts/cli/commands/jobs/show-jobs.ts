import { type CliContext, type CommandResult, exitWhen, lineWidth } from '../../context/cli-context.js';
import { declined, usageError } from '../../context/cli-error.js';
import { perform } from '../../context/perform.js';
import { type OnBytes, ResultsDownload } from '../../jobs/download-results.js';
import { type JobClient, type JobCommand, maxPage } from '../../jobs/job-client.js';
import { hasEnded, type JobReply } from '../../jobs/job-reply.js';
import { jobsTable, jobText } from '../../jobs/job-text.js';
import { fileSink, streamSink } from '../../jobs/results-sink.js';
import { countText, readableBytes } from '../../output/readable-numbers.js';
import { type AccessOptions, withJobs } from './job-options.js';

/** Parsed options of `job list`: the jobs of a key, or those of an organisation in MongoDB. */
export interface ListJobsOptions extends Omit<AccessOptions, 'key'> {
  readonly key?: string;
  readonly org?: string;
  readonly limit: number;
}

/** Parsed options of `job results`. */
export interface ResultsOptions extends AccessOptions {
  readonly out?: string;
  readonly errors?: boolean;
}

export async function listJobs(context: CliContext, options: ListJobsOptions): Promise<CommandResult> {
  const { key, org, limit } = options;
  if ((key === undefined) === (org === undefined))
    throw usageError('Give --key for the jobs of an API key, or --org for the jobs of an organisation (operators)');
  const jobs =
    key === undefined
      ? await jobsOfOrganisation(context, String(org), limit)
      : await withJobs(context, { ...options, key }, ({ client }) => jobsOfKey(client, limit));
  const none = 'No jobs yet. Create one: npx leadscore job create FILE --model MODEL --key KEY';
  const text = jobs.length === 0 ? none : jobsTable(jobs, { width: lineWidth(context.stdout) });
  return { document: { jobs }, text };
}

/** Imports its action when it runs: the other commands need no driver of MongoDB. */
async function jobsOfOrganisation(context: CliContext, organisationId: string, limit: number) {
  const { listJobs: action } = await import('../../../../shared/admin/jobs/list-jobs.js');
  return (await perform(context, action, { org_id: organisationId, limit })).jobs;
}

async function jobsOfKey(client: Pick<JobClient, 'page'>, limit: number): Promise<JobReply[]> {
  const jobs: JobReply[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.page(Math.min(maxPage, limit - jobs.length), cursor);
    jobs.push(...page.jobs);
    cursor = page.jobs.length === 0 ? undefined : page.next_cursor;
  } while (cursor !== undefined && jobs.length < limit);
  return jobs.slice(0, limit);
}

export async function showJob(context: CliContext, jobId: string, options: AccessOptions): Promise<CommandResult> {
  const job = await withJobs(context, options, ({ client }) => client.job(jobId));
  return resultOf(context, job);
}

/** Pauses, resumes or cancels a job. */
export async function changeJob(
  context: CliContext,
  { jobId, command }: { readonly jobId: string; readonly command: JobCommand },
  options: AccessOptions,
): Promise<CommandResult> {
  const job = await withJobs(context, options, ({ client }) => client.command(jobId, command));
  return resultOf(context, job);
}

/** Removes a job with its files after confirmation. */
export async function deleteJob(
  context: CliContext,
  jobId: string,
  options: AccessOptions & { readonly yes?: boolean },
): Promise<CommandResult> {
  return await withJobs(context, options, async ({ client }) => {
    const job = await client.job(jobId);
    const scored = countText(job.progress?.scored ?? 0);
    const question = `Delete ${jobId} (${job.state}, ${scored} rows scored) with its files? Scored rows stay counted.`;
    if (options.yes !== true && !(await context.confirm(question))) throw declined(`${jobId} was not deleted.`);
    await client.remove(jobId);
    return { document: { job_id: jobId }, text: `${jobId} was deleted with its files.` };
  });
}

/** Downloads the results of a job, or its failed rows. A partial file is completed. */
export async function downloadResults(
  context: CliContext,
  jobId: string,
  options: ResultsOptions,
): Promise<CommandResult> {
  const { out, errors, json } = options;
  const toStream = out === undefined || out === '-';
  if (toStream && json === true) throw usageError('--json needs --out FILE: the results are on standard output');
  const kind = errors === true ? 'errors' : 'results';
  const again = () => `Stopped. ${out ?? ''} is not complete: run the same command again to continue.`;
  return await withJobs(
    context,
    options,
    async ({ client, screen }) => {
      const job = await client.job(jobId);
      const sink = toStream ? streamSink(context.stdout) : await fileSink(out);
      const onBytes: OnBytes = (bytes, total) => {
        if (!toStream) screen.downloaded(bytes, total);
      };
      try {
        await new ResultsDownload({ client, jobId, kind, sink }).fetch(onBytes);
        screen.stop();
        const isEmpty = sink.bytes === 0;
        const notes = isEmpty ? `${jobId} has no ${kind}: it is ${job.state}.` : partialNote(job);
        if (toStream && notes !== '') context.stderr.write(`${notes}\n`);
        return {
          document: { job_id: jobId, state: job.state, path: sink.name, bytes: sink.bytes },
          text: [isEmpty ? '' : `${sink.name} has ${readableBytes(sink.bytes)} of ${kind}.`, notes]
            .filter((part) => part !== '')
            .join('\n'),
          silent: toStream,
          // A completed job without failed rows has no errors, as it should be.
          ...exitWhen(isEmpty && !(kind === 'errors' && job.state === 'completed')),
        };
      } finally {
        await sink.close();
      }
    },
    toStream ? () => 'Stopped: the output is not complete.' : again,
  );
}

/** The results of a job that has not ended grow. */
const partialNote = (job: JobReply): string =>
  hasEnded(job) ? '' : `The job is ${job.state}, so there will be more. Run the same command again to add it.`;

const resultOf = (context: CliContext, job: JobReply): CommandResult => ({
  document: job,
  text: jobText(job, { width: lineWidth(context.stdout) }),
});
