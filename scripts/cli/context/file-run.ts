import { Progress, type ProgressState } from '../output/progress.js';
import type { CliContext } from './cli-context.js';

/** Receives the progress of a command that processes a file row by row. */
interface FileListener {
  started(): void;
  progress(state: ProgressState): void;
  waiting(why: string): void;
}

export interface FileRunOptions {
  /** The activity, such as `Scoring`. */
  readonly label: string;
  /** Plural noun, such as `records`. */
  readonly unit: string;
  /** With `--json` no progress is shown. */
  readonly json: boolean | undefined;
}

/**
 * Processes a file and shows progress. The first Ctrl-C or SIGTERM aborts `signal`; a second one ends the process.
 * @param work must save its progress and return when `signal` is aborted
 */
export async function runThroughFile<Result>(
  { stderr }: CliContext,
  { label, unit, json }: FileRunOptions,
  work: (signal: AbortSignal, listener: FileListener) => Promise<Result>,
): Promise<Result> {
  const progress = json === true ? undefined : new Progress({ stream: stderr, label, unit });
  const listener: FileListener = {
    started: () => progress?.start(),
    progress: (state) => progress?.update(state),
    waiting: (why) => progress?.waiting(why),
  };
  return await untilInterrupted((signal) => work(signal, listener).finally(() => progress?.stop()));
}

/**
 * Aborts a signal on the first Ctrl-C or SIGTERM. A second one ends the process.
 * @param work must save its progress and return when the signal is aborted
 */
export async function untilInterrupted<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const stop = new AbortController();
  const onInterrupt = () => stop.abort();
  process.once('SIGINT', onInterrupt);
  process.once('SIGTERM', onInterrupt);
  try {
    return await work(stop.signal);
  } finally {
    process.off('SIGINT', onInterrupt);
    process.off('SIGTERM', onInterrupt);
  }
}
