import type { Redis } from 'ioredis';
import type { Logger } from './logger.js';

const repeatEveryMs = 30_000;

/** Takes down an error that may come many times a second for as long as a server is away. */
export type NoteError = (error: Error) => void;

/**
 * Warns of an error when it comes first, then every half a minute with how often it has come.
 * @param fields that each line has beside the error's message
 */
export function errorLog(
  logger: Pick<Logger, 'warn'>,
  message: string,
  fields: Readonly<Record<string, string>> = {},
): NoteError {
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

/** Logs that a connection to Redis fails, not each time that it does, and that it is there again. */
export function logConnection(redis: Redis, name: string, logger: Logger): void {
  const fields = { connection: name };
  let note = errorLog(logger, 'redis connection error', fields);
  let failedSinceMs: number | undefined;
  redis.on('error', (error: Error) => {
    failedSinceMs ??= performance.now();
    note(error);
  });
  redis.on('ready', () => {
    if (failedSinceMs === undefined) return;
    const awayS = Number(((performance.now() - failedSinceMs) / 1000).toFixed(1));
    logger.info({ ...fields, awayS }, 'redis connection is back');
    failedSinceMs = undefined;
    note = errorLog(logger, 'redis connection error', fields);
  });
}
