import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { CliError } from '../cli-error.js';
import { codeOf, fileProblem, unwritable } from '../file-problem.js';
import type { ReplyUsage, ReplyValidation } from './api-reply.js';

/** Figures of the rows that are done, of all runs that went on with the same file. */
export interface RunFigures {
  readonly records: number;
  readonly emptyRows: number;
  readonly enriched: number;
  readonly warned: number;
  /** Records that had a crm_id; undefined where an older version has begun the run. */
  readonly withCrmId?: number;
  /** Scores 0-9, 10-19, …, 90-100. */
  readonly histogram: readonly number[];
  /** Time spent, all runs together. */
  readonly elapsedMs: number;
  readonly usage?: ReplyUsage;
  readonly validation?: ReplyValidation;
}

/** The options that a run cannot change on its way. */
export interface RunOptions {
  readonly model: string;
  readonly explain: boolean;
  readonly crm_id: string | null;
}

/** How far a run has come: what is kept beside the output until it is complete. */
export interface RunState {
  readonly format: 1;
  /** Names the run; part of every Idempotency-Key. */
  readonly run: string;
  readonly input: { readonly name: string; readonly bytes: number; readonly modified_at: string };
  readonly options: RunOptions;
  /** Rows of the input that are done, from the first. */
  readonly rows: number;
  /** SHA-256 of the records of these rows. */
  readonly digest: string;
  /** Bytes of the output that hold them; what lies behind was cut off by the stop. */
  readonly outputBytes: number;
  readonly figures: RunFigures;
}

/** A run that has not begun. */
export const newRun = (begun: Pick<RunState, 'input' | 'options' | 'digest'>): RunState => ({
  format: 1,
  run: randomUUID(),
  ...begun,
  rows: 0,
  outputBytes: 0,
  figures: { records: 0, emptyRows: 0, enriched: 0, warned: 0, withCrmId: 0, histogram: [], elapsedMs: 0 },
});

/** The file beside an output that holds its run's state. */
export const statePath = (outputPath: string): string => `${outputPath}.resume.json`;

/**
 * The state of a run that was stopped.
 * @returns undefined when there is none
 * @throws CliError when the file is there but is no such state
 */
export async function readState(path: string): Promise<RunState | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    // Where no file can be there is none; whoever opens the output says why.
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error))) return undefined;
    throw new CliError(`${path} cannot be read: ${fileProblem(error)}`, { code: 'bad_state', cause: error });
  }
  try {
    const value: unknown = JSON.parse(text);
    if (isState(value)) return value;
  } catch {
    // said below
  }
  throw new CliError(`${path} cannot be used to go on. Use --restart to begin anew`, { code: 'bad_state' });
}

/** Replaces the state as a whole, so that a stop at any moment leaves either the old or the new one. */
export async function writeState(path: string, state: RunState): Promise<void> {
  try {
    await writeFile(`${path}.part`, `${JSON.stringify(state)}\n`);
    await rename(`${path}.part`, path);
  } catch (error) {
    throw unwritable(path, error);
  }
}

/** Removes the state of a run that is complete, or that is begun anew. */
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
