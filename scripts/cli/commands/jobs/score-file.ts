import { existsSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { type CliContext, type CommandResult, exitWhen, lineWidth } from '../../context/cli-context.js';
import { CliError, usageError } from '../../context/cli-error.js';
import { formatOf, type InputFile, openInput } from '../../files/input-file.js';
import { ResultsDownload } from '../../jobs/download-results.js';
import { type FailedRows, writeErrorsFile } from '../../jobs/errors-file.js';
import { type FileJob, type FileJobOptions, fileJob, withDigest } from '../../jobs/file-job.js';
import { type JobReply, rowsDone } from '../../jobs/job-reply.js';
import { jobText } from '../../jobs/job-text.js';
import { fileSink, type ResultsSink, streamSink } from '../../jobs/results-sink.js';
import { requireSize, uploadFile } from '../../jobs/upload-input.js';
import { waitForJob } from '../../jobs/wait-for-job.js';
import { countText } from '../../output/readable-numbers.js';
import { noStandardInput } from './create-job.js';
import { type AccessOptions, type JobDesk, jobCommand, withJobs } from './job-options.js';

/** Parsed options of `score`. */
export interface ScoreFileOptions extends AccessOptions, Omit<FileJobOptions, 'includeInput'> {
  readonly onlyScores?: boolean;
  readonly out?: string;
  readonly force?: boolean;
}

/**
 * The story of a file: its job, the upload, the wait, the results, the rows that failed. Each step finds the work of an
 * earlier run of the same command.
 */
export async function scoreFile(context: CliContext, path: string, options: ScoreFileOptions): Promise<CommandResult> {
  if (path === '-') throw usageError(noStandardInput);
  const input = await openInput(path);
  requireSize(input);
  const out = outputOf(input, options);
  if (existsSync(`${out}.resume`))
    context.stderr.write(`${out}.resume is from an earlier release of this command. It is not read, and stays.\n`);
  const run = new ScoreRun(context, { input, out, options });
  return await withJobs(
    context,
    options,
    (desk) => run.run(desk),
    () => run.stopped(),
  );
}

/** @throws CliError for an output that cannot have the results */
function outputOf({ path, name, format }: InputFile, { out, json }: ScoreFileOptions): string {
  if (out === '-' && json === true) throw usageError('--json and --out - both write to standard output');
  const base = name.replace(/\.gz$/i, '').replace(/\.(csv|tsv|jsonl|ndjson)$/i, '');
  const found = out ?? join(dirname(path), `${base}.scored.${format}`);
  if (found === '-') return found;
  if (resolve(found) === resolve(path)) throw usageError('--out must not be the input file');
  if (formatOf(found) !== format)
    throw usageError(`The results have the format of the file, so the name of --out must end in .${format}`);
  return found;
}

/** `leads.scored.csv` becomes `leads.errors.csv`. */
function errorsPathOf(out: string): string {
  const [, base, end] = /^(.*?)(?:\.scored)?(\.[a-z]+)(?:\.gz)?$/i.exec(basename(out)) ?? [];
  return join(dirname(out), `${base ?? basename(out)}.errors${end ?? ''}`);
}

interface ScoreRunOptions {
  readonly input: InputFile;
  readonly out: string;
  readonly options: ScoreFileOptions;
}

/** One run of the command. */
class ScoreRun {
  private job: JobReply | undefined;
  private isUploaded = false;

  constructor(
    private readonly context: CliContext,
    private readonly of: ScoreRunOptions,
  ) {}

  async run(desk: JobDesk): Promise<CommandResult> {
    const { client, screen } = desk;
    const { options, out } = this.of;
    const input = await withDigest(this.of.input, client.means.signal);
    const found = await fileJob({ context: this.context, client }, input, {
      ...options,
      includeInput: options.onlyScores !== true,
    });
    this.job = found.job;
    const sink = out === '-' ? streamSink(this.context.stdout) : await this.openOutput(desk, found);
    try {
      this.job = await uploadFile({ client, screen, job: found.job, input });
      this.isUploaded = true;
      const download = new ResultsDownload({ client, jobId: found.job.job_id, kind: 'results', sink });
      this.job = await waitForJob(found.job.job_id, { client, screen, download });
      screen.stop();
      if (this.job.state !== 'failed')
        await download.fetch((bytes, total) => {
          if (out !== '-') screen.downloaded(bytes, total);
        });
      screen.stop();
    } finally {
      await sink.close();
    }
    const failed = this.job.progress?.failed ?? 0;
    const errors =
      out === '-' || failed === 0
        ? undefined
        : await writeErrorsFile({
            ...{ client, job: this.job, input },
            ...{ path: errorsPathOf(out), force: options.force === true },
          });
    return this.result(this.job, sink, errors);
  }

  /** The sentence after Ctrl-C. */
  stopped(): string {
    const { job, isUploaded } = this;
    if (job === undefined) return 'Stopped before the job was created.';
    if (!isUploaded) return `Stopped during the upload of ${job.job_id}. Run the same command again to continue it.`;
    return [
      `Stopped waiting. ${job.job_id} goes on without this command. Run the same command again for its results, or see:`,
      this.words(`show ${job.job_id}`),
    ].join('\n');
  }

  /**
   * Opens the output before the upload, so that an unwritable or foreign file is known at once. Results of earlier jobs
   * of the file are replaced.
   */
  private async openOutput({ client }: JobDesk, { job, earlier }: FileJob): Promise<ResultsSink> {
    const { out, options } = this.of;
    const sink = await fileSink(out);
    const isOf = (jobId: string) => new ResultsDownload({ client, jobId, kind: 'results', sink });
    try {
      if (sink.bytes === 0) return sink;
      if (options.force === true) await sink.clear();
      else if (rowsDone(job) === 0 || !(await isOf(job.job_id).isBeginning())) {
        let isOurs = false;
        for (const { job_id } of earlier) isOurs ||= await isOf(job_id).isBeginning();
        if (!isOurs)
          throw new CliError(
            `${out} exists, and is not from this file. Replace it with --force, or name another file with --out`,
            { code: 'output_exists' },
          );
        await sink.clear();
      }
      return sink;
    } catch (error) {
      await sink.close();
      throw error;
    }
  }

  private result(job: JobReply, sink: ResultsSink, errors: FailedRows | undefined): CommandResult {
    const { context } = this;
    const { options, out } = this.of;
    const failed = job.progress?.failed ?? 0;
    const toStream = out === '-';
    const more: [string, string][] = [
      ...(toStream || sink.bytes === 0 ? [] : [['Results', sink.name] as [string, string]]),
      ...(errors?.path === undefined ? [] : [['Errors', errors.path] as [string, string]]),
    ];
    const next = this.next(job, errors);
    const stream = toStream ? context.stderr : context.stdout;
    const shown = jobText(job, { width: lineWidth(stream), more });
    const text = next.length === 0 ? shown : `${shown}\n\n${next.join('\n')}`;
    if (toStream) context.stderr.write(`${text}\n`);
    return {
      document: {
        ...job,
        results_file: { path: sink.name, bytes: sink.bytes },
        ...(errors?.path === undefined ? {} : { errors_file: { path: errors.path } }),
      },
      text,
      silent: toStream,
      ...exitWhen(job.state === 'failed' || job.state === 'canceled' || (options.strict === true && failed > 0)),
    };
  }

  private next(job: JobReply, errors: FailedRows | undefined): string[] {
    if (job.state === 'failed') return ['Correct the file, then run the command again.'];
    if (job.state === 'canceled') return ['The job was canceled. To score all rows of the file, add --again.'];
    const failed = job.progress?.failed ?? 0;
    if (failed === 0) return [];
    const [row, are] = failed === 1 ? ['row has', 'is'] : ['rows have', 'are'];
    const { reasons = [], path, problem } = errors ?? {};
    const more = failed - reasons.length;
    return [
      `${countText(failed)} ${row} no score, and ${are} not counted.`,
      ...reasons,
      ...(reasons.length > 0 && more > 0 ? [`and ${countText(more)} more`] : []),
      ...(path === undefined ? [] : [`Correct ${failed === 1 ? 'it' : 'them'} in ${path}, then score that file.`]),
      ...(problem === undefined ? [] : [problem]),
      ...(path === undefined || more > 0 ? ['All reasons:', this.words(`results ${job.job_id} --errors`)] : []),
    ];
  }

  private words(text: string): string {
    return `  ${jobCommand(text, this.of.options, this.context.config)}`;
  }
}
