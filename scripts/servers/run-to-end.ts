import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { messageOf } from '../../shared/contract/errors.js';

export type Undo = () => Promise<unknown> | undefined;

/** Registers an undo that runs when the run ends, in every case. */
export type OnEnd = (undo: Undo) => void;

/**
 * Stops a part when the run ends. If the part is still starting then, the run waits for it, so that no process of it
 * remains. A second interrupt does not wait.
 * @param starting if it rejects, the starter must have stopped everything itself
 */
export function stoppedAtEnd<Part extends { stop(): unknown }>(onEnd: OnEnd, starting: Promise<Part>): Promise<Part> {
  onEnd(() =>
    starting.then(
      (part) => part.stop(),
      () => undefined,
    ),
  );
  return starting;
}

/** Makes a directory outside the project, which the end of the run removes. `name` tells its use. */
export async function temporaryDirectory(onEnd: OnEnd, name: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), `leadscore-${name}-`));
  onEnd(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

export interface RunEnd {
  readonly onEnd: OnEnd;
  /** Runs the registered undos now, last first. */
  readonly end: () => Promise<void>;
}

/** A wrong command line. The message says why. */
export class UsageError extends Error {
  override name = 'UsageError';
}

/**
 * Reads options as `parseArgs` does.
 * @param args without the program's name
 * @throws UsageError
 */
export function readOptions<const Options extends NonNullable<ParseArgsConfig['options']>>(
  args: readonly string[],
  options: Options,
) {
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new UsageError(messageOf(error));
  }
}

/**
 * Runs a command that starts servers and processes, undoes all of it, and ends the process. The exit code is
 * `process.exitCode`, 1 when the run failed, 2 for wrong usage, 130 when it was interrupted.
 * @param run its standard output is flushed before the process ends, unless it is interrupted
 * @param failure stands before the reason of a failure, as "The run failed"
 */
export async function runToEnd(run: (end: RunEnd) => Promise<void>, failure: string): Promise<never> {
  const undoings: Undo[] = [];
  let isInterrupted = false;
  let ending = Promise.resolve();
  const end = (): Promise<void> => {
    ending = ending.then(() => undoAll(undoings));
    return ending;
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      isInterrupted = true;
      process.exitCode = 130;
      void end().then(() => process.exit());
    });
  }
  try {
    await run({ onEnd: (undo) => undoings.push(undo), end });
  } catch (error) {
    // An interrupted run fails because its parts are stopped: that error says nothing.
    if (!isInterrupted) reportFailure(error, failure);
  }
  await end();
  await flushStdout();
  // Without exit(), Node was seen to spin forever while it cleaned up after such a run.
  process.exit();
}

/** A failed undo does not prevent the others. */
async function undoAll(undoings: Undo[]): Promise<void> {
  for (let undo = undoings.pop(); undo !== undefined; undo = undoings.pop()) {
    try {
      await undo();
    } catch (error) {
      process.stderr.write(`${messageOf(error)}\n`);
    }
  }
}

function reportFailure(error: unknown, failure: string): void {
  const isUsage = error instanceof UsageError;
  process.exitCode = isUsage ? 2 : 1;
  process.stderr.write(`${isUsage ? '' : `${failure}: `}${messageOf(error)}\n`);
  if (error instanceof Error && error.cause !== undefined) process.stderr.write(`${messageOf(error.cause)}\n`);
}

const flushStdout = (): Promise<void> =>
  new Promise((resolve) => {
    process.stdout.write('', () => resolve());
  });
