import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { OutputStream } from '../../context/cli-context.js';
import { CliError, codeOf, outputUnwritable, unwritable, usageError } from '../../context/cli-error.js';
import { countText } from '../../output/readable-numbers.js';
import { formatOf, type InputFile, type RecordFormat } from '../input/input-file.js';
import { RecordDigest } from '../input/record-batches.js';
import { newRun, type RunOptions, type RunState, readState, removeState, statePath, writeState } from './run-state.js';
import { fileOutput, type ScoredOutput, streamOutput } from './scored-output.js';

export interface OutputChoice {
  /** A path, or `-` for the stream. */
  readonly path: string;
  readonly stream: OutputStream;
  /** Discards the progress of an earlier run and overwrites its output. */
  readonly restart: boolean;
}

/** A new or resumed run. Without a row, its output is empty and the caller writes the header. */
export interface OpenRun {
  readonly state: RunState;
  readonly format: RecordFormat;
  readonly output: ScoredOutput;
  /** Path of the state file; undefined for a stream, which cannot be resumed. */
  readonly statePath: string | undefined;
}

/**
 * Opens the output, and resumes the earlier run if there is a state file.
 * @throws CliError when the output already exists or belongs to a run with other options
 */
export async function openRun(input: InputFile, options: RunOptions, choice: OutputChoice): Promise<OpenRun> {
  const begun = {
    input: { name: input.name, bytes: input.bytes, modified_at: input.modifiedAt.toISOString() },
    options,
    digest: new RecordDigest(options.only_scores === false).value(),
  };
  if (choice.path === '-') {
    return {
      state: newRun(begun),
      format: input.format,
      output: streamOutput(choice.stream),
      statePath: undefined,
    };
  }
  const format = outputFormat(choice.path);
  if (resolve(choice.path) === resolve(input.path)) throw usageError('--out must not be the input file');
  const path = statePath(choice.path);
  if (choice.restart) await removeState(path);
  const state = await readState(path);
  if (state !== undefined) return resume(state, { options, outputPath: choice.path, format, statePath: path });
  const begin = { state: newRun(begun), format, output: await newOutput(choice), statePath: path };
  await writeState(path, begin.state);
  return begin;
}

function outputFormat(path: string): RecordFormat {
  const format = formatOf(path);
  if (format === undefined || /\.(gz|tsv)$/i.test(path))
    throw usageError(`--out must end in .csv or .jsonl, or be - for standard output; "${path}" does not`);
  return format;
}

async function newOutput({ path, restart }: OutputChoice): Promise<ScoredOutput> {
  try {
    return await fileOutput(path, { from: 0, overwrite: restart });
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw unwritable(path, error);
    if ((await stat(path)).isDirectory())
      throw new CliError(`Cannot write ${path}: it is a folder`, { code: outputUnwritable });
    throw new CliError(`${path} already exists. Use --restart to overwrite it, or --out to name another file`, {
      code: 'output_exists',
    });
  }
}

async function resume(
  state: RunState,
  to: {
    readonly options: RunOptions;
    readonly outputPath: string;
    readonly format: RecordFormat;
    readonly statePath: string;
  },
): Promise<OpenRun> {
  const { options, outputPath } = to;
  const begun = { ...state.options, only_scores: state.options.only_scores ?? true };
  const names = { model: '--model', explain: '--explain', crm_id: '--crm-id', only_scores: '--only-scores' } as const;
  for (const name of ['model', 'explain', 'crm_id', 'only_scores'] as const) {
    if (begun[name] === options[name]) continue;
    throw new CliError(
      `${outputPath} was started with another ${names[name]} (${begun[name] ?? 'none'}) and has ${countText(state.rows)} rows. Use the same option to resume, --restart to start over, or --out to name another file`,
      { code: 'options_changed' },
    );
  }
  // Without a row, the header of the file may have changed meanwhile. The output begins again.
  const from = state.rows === 0 ? 0 : state.outputBytes;
  const found = await stat(outputPath).catch(() => undefined);
  if (from > 0 && (found === undefined || found.size < from))
    throw new CliError(
      `${outputPath} is missing some of the ${countText(state.rows)} rows already scored. Use --restart to start over`,
      { code: 'output_changed' },
    );
  const output = await fileOutput(outputPath, { from, overwrite: true }).catch((error: unknown) => {
    throw unwritable(outputPath, error);
  });
  return { state, format: to.format, output, statePath: to.statePath };
}
