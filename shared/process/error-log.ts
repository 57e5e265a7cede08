import type { Logger } from './logger.js';
import { absentServer } from './outage.js';

const repeatEveryMs = 30_000;

/** Logs an error that may repeat many times a second. */
export type LogError = (error: Error) => void;

/**
 * Makes a throttled log: the first error at once, then at most one line in 30 s with the number of errors since the
 * last. Errors of a server that is away are not throttled here: the logger makes them one outage.
 * @param fields further fields of each line
 */
export function errorLog(
  logger: Pick<Logger, 'warn'>,
  message: string,
  fields: Readonly<Record<string, string | number>> = {},
): LogError {
  let times = 0;
  let quietUntilMs = Number.NEGATIVE_INFINITY;
  return (error) => {
    if (absentServer(error) !== undefined) {
      logger.warn({ ...fields, error }, message);
      return;
    }
    times += 1;
    const nowMs = performance.now();
    if (nowMs < quietUntilMs) return;
    quietUntilMs = nowMs + repeatEveryMs;
    logger.warn({ ...fields, error: error.message, times }, message);
    times = 0;
  };
}
