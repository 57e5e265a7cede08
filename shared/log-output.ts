import { writeSync } from 'node:fs';

const standardOutput = 1;
/** For a reader that is slow, where somebody has made the pipe to it one that does not wait by itself. */
const longestWaitMs = 100;
const retryMs = 5;

/**
 * Standard output, for the log. What cannot be written, because the disk is full, or the terminal or the reader has gone, is
 * lost: it must neither end a process nor hold it up, as pino's own output does, which tries for ever when the process ends.
 */
export const logOutput = {
  write(line: string): void {
    let rest: Uint8Array = Buffer.from(line);
    let waitedMs = 0;
    while (rest.length > 0) {
      try {
        rest = rest.subarray(writeSync(standardOutput, rest));
      } catch (error) {
        if (!isBusy(error) || waitedMs >= longestWaitMs) return;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryMs);
        waitedMs += retryMs;
      }
    }
  },
};

const isBusy = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'EAGAIN';
