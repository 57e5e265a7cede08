import type { ProgressState } from '../terminal/pace.js';
import { Progress } from '../terminal/progress.js';
import { readableCount } from '../terminal/readable-numbers.js';
import { type CliContext, wrappedFor } from './cli-context.js';

/** What a command that goes through a file, row by row, says while it does. */
export interface FileListener {
  /** Before it is started: something that a person may want to stop for. */
  notice?(text: string): void;
  /** Before the first row: rows that an earlier run has done. */
  started(rowsDone: number): void;
  progress(state: ProgressState): void;
  waiting(why: string): void;
}

export interface FileRunOptions {
  /** What is being done, such as `Scoring`. */
  readonly label: string;
  /** What is counted, in the plural, such as `records`. */
  readonly unit: string;
  /** Whether only one JSON document is wanted: then nothing is shown. */
  readonly json: boolean | undefined;
}

/**
 * Does something with a file and shows how far it has come. The first Ctrl-C or SIGTERM asks the work to stop in good
 * order, a second one ends the process.
 * @param work `signal` is aborted when it is to stop, what it has done being kept
 */
export async function runThroughFile<Result>(
  { stderr }: CliContext,
  { label, unit, json }: FileRunOptions,
  work: (signal: AbortSignal, listener: FileListener) => Promise<Result>,
): Promise<Result> {
  const stop = new AbortController();
  const onInterrupt = () => stop.abort();
  process.once('SIGINT', onInterrupt);
  process.once('SIGTERM', onInterrupt);
  const progress = json === true ? undefined : new Progress({ stream: stderr, label, unit });
  const listener: FileListener = {
    notice: (text) => {
      if (json !== true) stderr.write(`${wrappedFor(stderr, text)}\n`);
    },
    started: (rowsDone) => {
      if (rowsDone > 0 && progress !== undefined)
        stderr.write(`Going on after row ${readableCount(rowsDone)}, where the last run stopped.\n`);
      progress?.start({ done: rowsDone, fraction: undefined });
    },
    progress: (state) => progress?.update(state),
    waiting: (why) => progress?.waiting(why),
  };
  try {
    return await work(stop.signal, listener);
  } finally {
    progress?.stop();
    process.off('SIGINT', onInterrupt);
    process.off('SIGTERM', onInterrupt);
  }
}
