import type { EventEmitter } from 'node:events';
import type { Logger } from './logger.js';

const repeatEveryMs = 30_000;

/** Logs an error that may repeat many times a second while a server is away. */
export type LogError = (error: Error) => void;

/**
 * Makes a throttled log: the first error at once, then at most one line in 30 s with the number of errors since the
 * last.
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
    times += 1;
    const nowMs = performance.now();
    if (nowMs < quietUntilMs) return;
    quietUntilMs = nowMs + repeatEveryMs;
    logger.warn({ ...fields, error: error.message, times }, message);
    times = 0;
  };
}

/** Logs failures of a Redis connection, throttled, and its return. */
export function logConnection(
  redis: Pick<EventEmitter, 'on'>,
  name: string,
  logger: Pick<Logger, 'info' | 'warn'>,
): void {
  const fields = { connection: name };
  let log = errorLog(logger, 'redis connection error', fields);
  let failedSinceMs: number | undefined;
  redis.on('error', (error: Error) => {
    failedSinceMs ??= performance.now();
    log(error);
  });
  redis.on('ready', () => {
    if (failedSinceMs === undefined) return;
    const awayS = Number(((performance.now() - failedSinceMs) / 1000).toFixed(1));
    logger.info({ ...fields, awayS }, 'redis connection is back');
    failedSinceMs = undefined;
    log = errorLog(logger, 'redis connection error', fields);
  });
}
