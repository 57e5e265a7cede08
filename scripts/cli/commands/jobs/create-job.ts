import { resolve } from 'node:path';
import { jobLimits, type StopAt } from '../../../../shared/store/jobs/job-documents.js';
import { type CliContext, type CommandResult, exitWhen, lineWidth } from '../../context/cli-context.js';
import { CliError, usageError } from '../../context/cli-error.js';
import { ResultsDownload } from '../../jobs/download-results.js';
import { idempotencyKeyOf } from '../../jobs/job-client.js';
import { hasEnded, type JobReply, rowsDone } from '../../jobs/job-reply.js';
import { jobText } from '../../jobs/job-text.js';
import { fileSink, type ResultsSink } from '../../jobs/results-sink.js';
import { uploadInput } from '../../jobs/upload-input.js';
import { waitForJob } from '../../jobs/wait-for-job.js';
import { countText, readableBytes } from '../../output/readable-numbers.js';
import { badInput, type InputFile, openInput } from '../../score/input/input-file.js';
import { type AccessOptions, type JobDesk, jobCommand, withJobs } from './job-options.js';

/** Parsed options of `job create`. */
export interface CreateJobOptions extends AccessOptions {
  readonly model: string;
  readonly crmId?: string;
  readonly explain?: boolean;
  readonly stopAt: StopAt;
  readonly maxErrors: number;
  /** False with `--no-previous`. */
  readonly previous: boolean;
  /** False with `--no-input`. */
  readonly input: boolean;
  readonly wait?: boolean;
  readonly strict?: boolean;
  readonly out?: string;
}

/**
 * Creates a job and uploads its file. With `--wait` it also waits for the end, and with `--out` downloads the results.
 * Every step finds the work of an earlier run of the same command, so a command that broke off can be run again.
 */
export async function createJob(context: CliContext, path: string, options: CreateJobOptions): Promise<CommandResult> {
  if (path === '-')
    throw usageError(
      'Standard input cannot be uploaded: after a lost connection its bytes could not be read again. Give a file',
    );
  if (options.out !== undefined && options.wait !== true)
    throw usageError('--out needs --wait. Without it, download later: npx leadscore job results JOB --out FILE');
  if (options.out !== undefined && resolve(options.out) === resolve(path))
    throw usageError('--out must not be the input file');
  const input = await openInput(path);
  requireSize(input);
  const run = new CreateRun(context, input, options);
  return await withJobs(
    context,
    options,
    (desk) => run.run(desk),
    () => run.stopped(),
  );
}

function requireSize({ name, bytes }: InputFile): void {
  if (bytes === 0) throw badInput(`${name} is empty`);
  if (bytes <= jobLimits.uploadBytes) return;
  const max = readableBytes(jobLimits.uploadBytes);
  throw badInput(
    `${name} has ${readableBytes(bytes)}, and a job takes at most ${max}. Compress it with gzip, or split it`,
  );
}

/** One run of the command. */
class CreateRun {
  private job: JobReply | undefined;
  private isUploaded = false;

  constructor(
    private readonly context: CliContext,
    private readonly input: InputFile,
    private readonly options: CreateJobOptions,
  ) {}

  async run({ client, screen }: JobDesk): Promise<CommandResult> {
    const { input, options } = this;
    const body = bodyOf(input, options);
    const found = await client.create(body, idempotencyKeyOf(identityOf(input, body)));
    this.job = found;
    const sink = options.out === undefined ? undefined : await openOutput(options.out, found);
    try {
      if (found.state === 'awaiting_upload') {
        const onBytes = (bytes: number) =>
          screen.update('Uploading', { done: bytes, fraction: bytes / Math.max(1, input.bytes) });
        onBytes(found.input?.bytes_received ?? 0);
        await uploadInput({ client, job: found, input, onBytes });
        this.job = await client.job(found.job_id);
      }
      this.isUploaded = true;
      if (options.wait !== true) return this.result(undefined);
      const download = sink && new ResultsDownload({ client, jobId: found.job_id, kind: 'results', sink });
      this.job = await waitForJob(found.job_id, { client, screen, download });
      screen.stop();
      if (download !== undefined && this.job.state !== 'failed')
        await download.fetch((bytes, total) => screen.downloaded(bytes, total));
      return this.result(sink);
    } finally {
      await sink?.close();
    }
  }

  /** The sentence after Ctrl-C. */
  stopped(): string {
    const { job, isUploaded } = this;
    if (job === undefined) return 'Stopped before the job was created.';
    if (!isUploaded) return `Stopped during the upload of ${job.job_id}. Run the same command again to continue it.`;
    return [
      `Stopped waiting. ${job.job_id} goes on without this command. Run the same command again to wait for it, or see:`,
      this.command(job, 'show'),
    ].join('\n');
  }

  private result(sink: ResultsSink | undefined): CommandResult {
    const { job, context, options } = this;
    if (job === undefined) throw new Error('the job is not known yet');
    const results: [string, string][] = sink === undefined || sink.bytes === 0 ? [] : [['Results', sink.name]];
    const text = jobText(job, { width: lineWidth(context.stdout), more: results });
    const file = sink === undefined ? {} : { results_file: { path: sink.name, bytes: sink.bytes } };
    const next = this.next(job, sink);
    const failed = job.progress?.failed ?? 0;
    return {
      document: { ...job, ...file },
      text: next.length === 0 ? text : `${text}\n\n${next.join('\n')}`,
      ...exitWhen(job.state === 'failed' || job.state === 'canceled' || (options.strict === true && failed > 0)),
    };
  }

  /** The commands that a user may want next. */
  private next(job: JobReply, sink: ResultsSink | undefined): string[] {
    if (!hasEnded(job))
      return [
        ...['See how far it is:', this.command(job, 'show')],
        ...['Download the results that exist:', this.command(job, 'results')],
      ];
    if (job.state === 'failed') return ['Correct the file, then run the command again.'];
    if (job.state === 'canceled')
      return ['To score the same file again, delete the job first:', this.command(job, 'delete')];
    const failed = job.progress?.failed ?? 0;
    const code = this.options.strict === true ? '' : ' The exit code is 0.';
    return [
      ...(sink === undefined ? ['Download the results:', this.command(job, 'results')] : []),
      ...(failed === 0
        ? []
        : [
            `${countText(failed)} ${failed === 1 ? 'row has' : 'rows have'} no score, and ${failed === 1 ? 'is' : 'are'} not counted.${code}`,
            ...[`See ${failed === 1 ? 'it' : 'them'} with the reasons:`, this.command(job, 'errors')],
          ]),
    ];
  }

  private command({ job_id: id }: JobReply, name: 'show' | 'results' | 'errors' | 'delete'): string {
    const words = {
      show: `show ${id}`,
      results: `results ${id} --out FILE`,
      errors: `results ${id} --errors`,
      delete: `delete ${id}`,
    };
    return `  ${jobCommand(words[name], this.options, this.context.config)}`;
  }
}

const bodyOf = ({ format }: InputFile, options: CreateJobOptions) => ({
  model_id: options.model,
  input: { format, ...(options.crmId === undefined ? {} : { crm_id_field: options.crmId }) },
  output: { include_input: options.input },
  explain: options.explain === true,
  stop_at: options.stopAt,
  max_errors: options.maxErrors,
  previous: options.previous,
  ...(options.strict === true && { strict: true }),
});

/** A file with another size or time of change is another job. */
const identityOf = ({ path, bytes, modifiedAt }: InputFile, body: Readonly<Record<string, unknown>>) => ({
  path: resolve(path),
  bytes,
  modified_at: modifiedAt.toISOString(),
  body,
});

/** Opens the output before the upload, so that an unwritable or foreign file is known at once. */
async function openOutput(path: string, job: JobReply): Promise<ResultsSink> {
  const sink = await fileSink(path);
  if (sink.bytes === 0 || rowsDone(job) > 0) return sink;
  await sink.close();
  throw new CliError(
    `${path} exists, but ${job.job_id} has no results yet. Remove the file, or name another one with --out`,
    { code: 'output_exists' },
  );
}
