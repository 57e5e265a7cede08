import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { OutputStream } from '../../context/cli-context.js';
import { CliError, outputUnwritable, usageError } from '../../context/cli-error.js';
import { countText } from '../../output/readable-numbers.js';
import { formatOf, type InputFile, type RecordFormat } from '../input/input-file.js';
import type { Disk } from '../progress/disk.js';
import { outputChanged } from '../progress/earlier-results.js';
import { type JournalContent, journalLine, type RunOptions, readJournal } from '../progress/journal.js';
import { callIdsIn, journalPath, oldStatePath, progressFolder, removeProgress } from '../progress/progress-files.js';
import { lockFolder } from '../progress/run-lock.js';
import { RunProgress } from '../progress/run-progress.js';
import { streamOutput } from './scored-output.js';

export interface OutputChoice {
  /** A path, or `-` for the stream. */
  readonly path: string;
  readonly stream: OutputStream;
  /** Discards the progress of an earlier run and overwrites its output. */
  readonly restart: boolean;
}

/** A new or resumed run. */
export interface OpenRun {
  readonly progress: RunProgress;
  readonly format: RecordFormat;
  /** Undefined for a stream, which cannot be resumed. */
  readonly folder: string | undefined;
  /** Lets another run use the output. */
  readonly release: () => Promise<void>;
}

/**
 * Begins the progress of a run, or reads that of the run before.
 * @throws CliError when the output already exists, belongs to a run with other options, or another run writes it now
 */
export async function openRun(
  input: InputFile,
  { options, choice, disk }: { readonly options: RunOptions; readonly choice: OutputChoice; readonly disk: Disk },
): Promise<OpenRun> {
  const outputPath = choice.path;
  if (outputPath === '-') {
    const progress = new RunProgress(streamOutput(choice.stream), undefined, undefined);
    return { progress, format: input.format, folder: undefined, release: async () => undefined };
  }
  const format = outputFormat(outputPath);
  if (resolve(outputPath) === resolve(input.path)) throw usageError('--out must not be the input file');
  const folder = progressFolder(outputPath);
  const release = await lockFolder(disk, folder, outputPath);
  try {
    return { ...(await openProgress({ options, choice, disk, folder })), format, release };
  } catch (error) {
    await release();
    throw error;
  }
}

/** Begins the progress in a folder that is locked, or reads that of the run before. */
async function openProgress({
  options,
  choice,
  disk,
  folder,
}: {
  readonly options: RunOptions;
  readonly choice: OutputChoice;
  readonly disk: Disk;
  readonly folder: string;
}): Promise<Pick<OpenRun, 'progress' | 'folder'>> {
  const outputPath = choice.path;
  if (choice.restart) await discard(disk, outputPath);
  else await refuseOldState(outputPath);
  const earlier = await readJournal(journalPath(folder), await callIdsIn(folder));
  if (earlier === undefined) await refuseExisting(choice);
  else await requireSame(earlier, { options, outputPath });
  // Without a journal the other files of the folder mean nothing.
  if (earlier === undefined) await removeProgress(disk, folder);
  const content = earlier ?? (await beginJournal(disk, { folder, options }));
  const files = { disk, outputPath, folder };
  const progress = new RunProgress(undefined, files, { content, isNew: earlier === undefined });
  return { progress, folder };
}

function outputFormat(path: string): RecordFormat {
  const format = formatOf(path);
  if (format === undefined || /\.(gz|tsv)$/i.test(path))
    throw usageError(`--out must end in .csv or .jsonl, or be - for standard output; "${path}" does not`);
  return format;
}

async function discard(disk: Disk, outputPath: string): Promise<void> {
  await removeProgress(disk, progressFolder(outputPath));
  await disk.remove(oldStatePath(outputPath));
}

async function refuseOldState(outputPath: string): Promise<void> {
  const path = oldStatePath(outputPath);
  if ((await statOf(path)) === undefined) return;
  throw new CliError(
    `${path} is the progress of another version of this command, which alone can resume it. Finish the run with that version, or use --restart to score and count all rows again`,
    { code: 'bad_state' },
  );
}

const statOf = (path: string) => stat(path).catch(() => undefined);

async function refuseExisting({ path, restart }: OutputChoice): Promise<void> {
  const found = await statOf(path);
  if (found?.isDirectory() === true)
    throw new CliError(`Cannot write ${path}: it is a folder`, { code: outputUnwritable });
  if (found === undefined || restart) return;
  throw new CliError(`${path} already exists. Use --restart to overwrite it, or --out to name another file`, {
    code: 'output_exists',
  });
}

async function beginJournal(
  disk: Disk,
  { folder, options }: { readonly folder: string; readonly options: RunOptions },
): Promise<JournalContent> {
  const head = { format: 2, options } as const;
  const line = journalLine(head);
  await disk.appendSafely(journalPath(folder), line);
  const bytes = Buffer.byteLength(line);
  return { head, begun: undefined, batches: [], resumed: undefined, took: [], doneCalls: new Set(), bytes };
}

/** Requires the options and the output of the earlier run. */
async function requireSame(
  { head, batches }: JournalContent,
  { options, outputPath }: { readonly options: RunOptions; readonly outputPath: string },
): Promise<void> {
  const last = batches.at(-1);
  const names = { model: '--model', explain: '--explain', crm_id: '--crm-id', only_scores: '--only-scores' } as const;
  for (const name of ['model', 'explain', 'crm_id', 'only_scores'] as const) {
    if (head.options[name] === options[name]) continue;
    throw new CliError(
      `${outputPath} was started with another ${names[name]} (${head.options[name] ?? 'none'}) and has ${countText(last?.rows ?? 0)} rows. Use the same option to resume, --restart to start over, or --out to name another file`,
      { code: 'options_changed' },
    );
  }
  if (last === undefined) return;
  const found = await statOf(outputPath);
  if (found === undefined || found.size < last.bytes) throw outputChanged(outputPath, last.rows);
}
