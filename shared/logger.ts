import { type Logger, pino } from 'pino';
import { withoutSecrets } from './api-key.js';
import { logOutput } from './log-output.js';

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

const mostCauses = 5;

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
    ...(thrown.cause === undefined || depth === mostCauses
      ? {}
      : { cause: describeError(thrown.cause, depth + 1) }),
  };
}
