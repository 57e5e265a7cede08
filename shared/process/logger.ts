import { writeSync } from 'node:fs';
import { type Logger, pino } from 'pino';
import { withoutSecrets } from '../contract/api-key.js';

const standardOutput = 1;
/** For a reader that is slow, where somebody has made the pipe to it one that does not wait by itself. */
const maxWaitMs = 100;
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
        if (!isBusy(error) || waitedMs >= maxWaitMs) return;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryMs);
        waitedMs += retryMs;
      }
    }
  },
};

const isBusy = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'EAGAIN';

export type { Logger } from 'pino';

/**
 * A logger that writes one JSON object a line to standard output. API keys, bodies and field values are never handed to
 * it; what is cut out here is a second fence, for those that slip in with an error: anything that looks like a key, and
 * what is in the headers that carry one.
 * @param process what this process is: `gateway`, `pool`, `worker`
 */
export const createLogger = (level: string, process: string): Logger =>
  pino(
    {
      level,
      base: { process },
      redact: {
        paths: ['*.authorization', '*.headers.authorization', 'headers["x-api-key"]'],
        censor: '[key]',
      },
      hooks: { streamWrite: withoutSecrets },
      serializers: { error: (thrown: unknown) => describeError(thrown) },
      formatters: { level: (label) => ({ level: label }) },
      timestamp: pino.stdTimeFunctions.isoTime,
    },
    logOutput,
  );

const maxCauses = 5;

/** What a log says of an error: its kind, message, code and where it was thrown, and the same of its causes. */
function describeError(thrown: unknown, depth = 0): unknown {
  if (!(thrown instanceof Error)) return thrown;
  return {
    kind: thrown.name,
    message: thrown.message,
    ...('code' in thrown ? { code: thrown.code } : {}),
    stack: thrown.stack
      ?.split('\n')
      .slice(1, 6)
      .map((line) => line.trim()),
    ...(thrown.cause === undefined || depth === maxCauses
      ? {}
      : { cause: describeError(thrown.cause, depth + 1) }),
  };
}
