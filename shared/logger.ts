import { type Logger, pino } from 'pino';

export type { Logger } from 'pino';

/**
 * A logger that writes one JSON object a line to standard output. API keys, bodies and field values are never handed to
 * it; the redaction is a second fence for headers that slip in with an error.
 * @param process what this process is: `gateway`, `pool`, `worker`
 */
export const createLogger = (level: string, process: string): Logger =>
  pino({
    level,
    base: { process },
    redact: {
      paths: ['*.authorization', '*.headers.authorization', 'headers["x-api-key"]'],
      censor: '[key]',
    },
    formatters: { level: (label) => ({ level: label }) },
    timestamp: pino.stdTimeFunctions.isoTime,
  });
