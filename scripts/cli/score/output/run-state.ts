import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { CliError, codeOf, fileProblem, unwritable } from '../../context/cli-error.js';
import type { ReplyUsage, ReplyValidation } from '../calls/api-reply.js';

/** Figures over all resumed parts of a run. */
export interface RunFigures {
  readonly records: number;
  readonly emptyRows: number;
  readonly enriched: number;
  readonly warned: number;
  /** Records with a crm_id; undefined when an older version started the run. */
  readonly withCrmId?: number;
  /** Counts of the scores 0-9, 10-19, …, 90-100. */
  readonly histogram: readonly number[];
  readonly elapsedMs: number;
  readonly usage?: ReplyUsage;
  readonly validation?: ReplyValidation;
}

/** Options that must be the same when the run is resumed. */
export interface RunOptions {
  readonly model: string;
  readonly explain: boolean;
  readonly crm_id: string | null;
  /** Absent when an older version, which wrote only scores, started the run. */
  readonly only_scores?: boolean;
}

/** Progress of a run, stored beside the output until the run completes. */
export interface RunState {
  readonly format: 1;
  /** Id of the run, part of every Idempotency-Key. */
  readonly run: string;
  readonly input: { readonly name: string; readonly bytes: number; readonly modified_at: string };
  readonly options: RunOptions;
  /** Rows of the input that are scored and written, counted from the first. */
  readonly rows: number;
  /** SHA-256 of these rows: see `RecordDigest`. */
  readonly digest: string;
  /** Bytes of the output for these rows. Later bytes are an incomplete write and are cut off. */
  readonly outputBytes: number;
  readonly figures: RunFigures;
}

export const newRun = (start: Pick<RunState, 'input' | 'options' | 'digest'>): RunState => ({
  format: 1,
  run: randomUUID(),
  ...start,
  rows: 0,
  outputBytes: 0,
  figures: { records: 0, emptyRows: 0, enriched: 0, warned: 0, withCrmId: 0, histogram: [], elapsedMs: 0 },
});

export const statePath = (outputPath: string): string => `${outputPath}.resume.json`;

/**
 * Reads the state of an interrupted run.
 * @returns undefined when the file does not exist
 * @throws CliError when the file is invalid
 */
export async function readState(path: string): Promise<RunState | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    // ENOTDIR: the path is invalid. Opening the output reports it.
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error))) return undefined;
    throw new CliError(`Cannot read ${path}: ${fileProblem(error)}`, { code: 'bad_state', cause: error });
  }
  try {
    const value: unknown = JSON.parse(text);
    if (isState(value)) return value;
  } catch {
    // reported below
  }
  throw new CliError(`${path} is not a valid state file. Use --restart to start over`, { code: 'bad_state' });
}

/** Replaces the state atomically: a crash leaves either the old or the new one. */
export async function writeState(path: string, state: RunState): Promise<void> {
  try {
    await writeFile(`${path}.part`, `${JSON.stringify(state)}\n`);
    await rename(`${path}.part`, path);
  } catch (error) {
    throw unwritable(path, error);
  }
}

export async function removeState(path: string): Promise<void> {
  await rm(path, { force: true }).catch((error: unknown) => {
    throw unwritable(path, error);
  });
}

function isState(value: unknown): value is RunState {
  if (typeof value !== 'object' || value === null) return false;
  const state: Partial<Record<keyof RunState, unknown>> = value;
  return (
    state.format === 1 &&
    typeof state.run === 'string' &&
    typeof state.rows === 'number' &&
    typeof state.digest === 'string' &&
    typeof state.outputBytes === 'number' &&
    typeof state.options === 'object' &&
    typeof state.input === 'object' &&
    typeof state.figures === 'object'
  );
}
