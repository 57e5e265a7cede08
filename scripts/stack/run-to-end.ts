import { messageOf } from '../../shared/errors.js';

export type Undo = () => Promise<unknown> | undefined;

/** Takes what must be undone when a run ends, however it ends. */
export type OnEnd = (undo: Undo) => void;

/**
 * Has a part stopped when the run ends, also when that is while it starts: it is then waited for, so that nothing of it is
 * left behind. (Who interrupts a second time does not wait.)
 * @param starting gives the part once it is up; whoever starts it stops what of it has begun when it does not come up
 * @returns the part
 */
export function stoppedAtEnd<Part extends { stop(): unknown }>(
  onEnd: OnEnd,
  starting: Promise<Part>,
): Promise<Part> {
  onEnd(() =>
    starting.then(
      (part) => part.stop(),
      () => undefined,
    ),
  );
  return starting;
}

/** What a run may do to its end. */
export interface RunEnd {
  readonly onEnd: OnEnd;
  /** Undoes now what was taken so far, the last first. */
  readonly end: () => Promise<void>;
}

/** The command line cannot be understood; the message says why. */
export class UsageError extends Error {
  override name = 'UsageError';
}

/**
 * Runs a command that starts servers and processes, undoes all of it, and ends the process: with what `process.exitCode`
 * says, 1 when the run failed, 2 for wrong usage, 130 when it was interrupted.
 * @param run what it writes to standard output is written in full before the process ends, unless it is interrupted
 * @param failure what is said before the reason of a failure, as "The run failed"
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
    // What is taken away from a run that is interrupted makes it fail; that says nothing.
    if (!isInterrupted) tell(error, failure);
  }
  await end();
  await written();
  // Node was seen to spin for ever while it cleaned up what such a run leaves behind.
  process.exit();
}

/** A part that cannot be undone does not keep the others. */
async function undoAll(undoings: Undo[]): Promise<void> {
  for (let undo = undoings.pop(); undo !== undefined; undo = undoings.pop()) {
    try {
      await undo();
    } catch (error) {
      process.stderr.write(`${messageOf(error)}\n`);
    }
  }
}

function tell(error: unknown, failure: string): void {
  const isUsage = error instanceof UsageError;
  process.exitCode = isUsage ? 2 : 1;
  process.stderr.write(`${isUsage ? '' : `${failure}: `}${messageOf(error)}\n`);
  if (error instanceof Error && error.cause !== undefined)
    process.stderr.write(`${messageOf(error.cause)}\n`);
}

/** Resolves when everything that was said has left the process. */
const written = (): Promise<void> =>
  new Promise((resolve) => {
    process.stdout.write('', () => resolve());
  });
