import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { StopAt } from '../../../shared/store/jobs/job-options.js';
import type { CliContext } from '../context/cli-context.js';
import { CliError, declined, fileProblem } from '../context/cli-error.js';
import { badInput, type InputFile } from '../files/input-file.js';
import { countText } from '../output/readable-numbers.js';
import { idempotencyKeyOf, type JobClient } from './job-client.js';
import { hasEnded, type JobReply, rowsDone } from './job-reply.js';
import { instantText } from './job-text.js';

/** How the rows of a file are scored. */
export interface FileJobOptions {
  readonly model: string;
  readonly crmId?: string;
  readonly explain?: boolean;
  readonly stopAt: StopAt;
  readonly maxErrors: number;
  readonly previous: boolean;
  /** Whether the results have the columns of the file. */
  readonly includeInput: boolean;
  readonly strict?: boolean;
  /** Scores a file once more whose job has ended. */
  readonly again?: boolean;
  /** Skips the question whether a changed file is scored as a whole. */
  readonly yes?: boolean;
}

/** The job of a file. */
export interface FileJob {
  readonly job: JobReply;
  /** Jobs whose results may lie where those of this job go, newest first. */
  readonly earlier: readonly JobReply[];
}

/** A file whose content is known by its digest. */
export interface DigestedFile extends InputFile {
  /** SHA-256 of its bytes, in hex. */
  readonly sha256: string;
}

/**
 * Reads a file to its end.
 * @throws CliError when it cannot be read; AbortError when the command is stopped
 */
export async function withDigest(input: InputFile, signal: AbortSignal): Promise<DigestedFile> {
  const hash = createHash('sha256');
  try {
    for await (const bytes of createReadStream(input.path, { highWaterMark: 1024 * 1024, signal })) hash.update(bytes);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw badInput(`Cannot read ${input.path}: ${fileProblem(error)}`);
  }
  return { ...input, sha256: hash.digest('hex') };
}

/**
 * Finds the newest job of this content and these options, or creates one. A job that ended without a scored row counts
 * as none. Asks before rows of an earlier file of this name count once more.
 * @throws CliError when the service refuses, or the user
 */
export async function fileJob(
  { context, client }: { readonly context: CliContext; readonly client: JobClient },
  input: DigestedFile,
  options: FileJobOptions,
): Promise<FileJob> {
  const body = bodyOf(input, options);
  const same = (await client.jobsOf({ input_sha256: input.sha256 })).filter((job) => isAlike(job, body));
  const [newest] = same;
  const isUseful = newest !== undefined && (!hasEnded(newest) || rowsDone(newest) > 0 || newest.state === 'completed');
  if (isUseful && !(await isAgain({ context, client }, newest, options))) return { job: newest, earlier: same };
  const others = (await client.jobsOf({ input_name: input.name })).filter(
    ({ model_id, input: file }) => model_id === options.model && file?.sha256 !== input.sha256,
  );
  if (!isUseful && options.yes !== true) await askAboutChange(context, input, others);
  // The key names the job before: two commands at once create one, and a later one a further one.
  const { model_id, input: sent, output, explain, previous } = body;
  const { format, sha256, crm_id_field } = sent;
  const results = { model_id, ...{ format, sha256, crm_id_field }, output, explain, previous };
  const key = idempotencyKeyOf({ ...results, after: newest?.job_id ?? null });
  return { job: await client.create(body, key), earlier: [...same, ...others] };
}

/** Whether a file is scored once more whose rows have been scored. */
async function isAgain(
  { context, client }: { readonly context: CliContext; readonly client: JobClient },
  job: JobReply,
  { model, again, yes }: FileJobOptions,
): Promise<boolean> {
  if (!hasEnded(job)) return false;
  const rows = countText(job.progress?.scored ?? 0);
  const scored = `This file was scored by version ${job.model_version} (${job.job_id}, ${instantText(job.created_at ?? '')})`;
  if (again === true) return true;
  const version = await client.modelVersion(model);
  if (version === undefined || version === job.model_version) {
    context.stderr.write(`${scored}. Nothing is counted again. To score it once more, add --again.\n`);
    return false;
  }
  const question = `${scored}, and version ${version} scores calls now. Score its ${rows} rows again? They count once more.`;
  if (context.canAsk && yes !== true) return await context.confirm(question);
  context.stderr.write(
    `${scored}, and version ${version} scores calls now. Nothing is counted again. For scores of ${version}, add --again.\n`,
  );
  return false;
}

/** @throws CliError when the file was scored with another content, and the user does not want all of it scored */
async function askAboutChange(context: CliContext, { name }: InputFile, others: readonly JobReply[]): Promise<void> {
  const scored = others.find((job) => (job.progress?.scored ?? 0) > 0);
  if (scored === undefined) return;
  const rows = countText(scored.progress?.scored ?? 0);
  const change = `${name} has changed since it was scored (${scored.job_id}, ${instantText(scored.created_at ?? '')}). All its rows count, also those of the ${rows} that are the same`;
  if (!context.canAsk)
    throw new CliError(
      `${change}. To score all rows, add --yes. To score corrected rows alone, put them into another file.`,
      { code: 'file_changed' },
    );
  if (!(await context.confirm(`${change}. Score it?`))) throw declined(`${name} was not scored.`);
}

type JobBody = ReturnType<typeof bodyOf>;

const bodyOf = ({ format, name, sha256 }: DigestedFile, options: FileJobOptions) => ({
  model_id: options.model,
  input: { format, name, sha256, ...(options.crmId === undefined ? {} : { crm_id_field: options.crmId }) },
  output: { include_input: options.includeInput },
  explain: options.explain === true,
  stop_at: options.stopAt,
  max_errors: options.maxErrors,
  previous: options.previous,
  ...(options.strict === true && { strict: true }),
});

/** Whether a job gives the results that a body asks for. Where it pauses does not change them. */
const isAlike = (job: JobReply, { model_id, input, output, explain, previous }: JobBody): boolean =>
  job.model_id === model_id &&
  job.input?.format === input.format &&
  job.input.crm_id_field === input.crm_id_field &&
  job.output?.include_input === output.include_input &&
  job.explain === explain &&
  job.previous === previous;
