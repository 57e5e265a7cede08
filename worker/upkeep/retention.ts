import { setTimeout as pause } from 'node:timers/promises';
import { dayNumber } from '../../shared/contract/dates.js';
import { expireOldScores } from '../../shared/latest-scores/eviction.js';
import type { Redis } from '../../shared/redis/connect.js';
import { firstKeptId } from '../../shared/store/calls/prediction-slice.js';
import { PredictionStore } from '../../shared/store/calls/predictions.js';
import { RetentionStore } from '../../shared/store/calls/retention.js';
import { type Db, withMongoTimeout } from '../../shared/store/connection/connect.js';

const slicesPerDelete = 50; // of up to a hundred predictions each

/** The timings of production. */
export const retentionTimings = {
  runMs: 2_000, // removals without a pause
  pauseMs: 500, // leaves MongoDB to others between two runs
  maxJobMs: 45_000, // the next job, a minute after the start of this one, removes the rest
  timeoutMs: 10_000, // of each call to MongoDB: a frozen one must not block the queue
};

export interface RetentionOptions {
  readonly database: Db;
  readonly redis: Redis;
  readonly nowMs: number;
  /** Predictions of today and of this many days before are kept. */
  readonly retentionDays: number;
  readonly timings: Readonly<typeof retentionTimings>;
  /** Ends the removal after the delete that is in flight. */
  readonly signal?: AbortSignal;
}

/**
 * Removes predictions that are past retention, the oldest first, and their latest scores in Redis. The ledger keeps the
 * counts. Can be run again after any failure.
 * @returns removed slices, of up to a hundred predictions each
 * @throws errors of MongoDB and Redis; MongoSilent when MongoDB does not answer in time
 */
export async function removeOldPredictions(options: RetentionOptions): Promise<number> {
  const { redis, nowMs, retentionDays, timings, signal } = options;
  const endMs = performance.now() + timings.maxJobMs;
  let removed = 0;
  for (;;) {
    const run = await removeWithoutPause(options);
    removed += run.removed;
    if (run.isLast) break;
    if (signal?.aborted || performance.now() > endMs) return removed;
    await pause(timings.pauseMs, undefined, { signal }).catch(() => undefined);
  }
  // This scans all of Redis, so it runs once, after the last removal.
  if (removed > 0) await expireOldScores(redis, firstKeptId(nowMs, retentionDays));
  return removed;
}

/** Removes slices for `runMs`, and stores how far it came. */
async function removeWithoutPause(
  options: RetentionOptions,
): Promise<{ readonly removed: number; readonly isLast: boolean }> {
  const { database, nowMs, retentionDays, timings, signal } = options;
  const keptFromDay = dayNumber(nowMs) - retentionDays;
  const predictions = new PredictionStore(database);
  const retention = new RetentionStore(database);
  const call = <Result>(work: () => Promise<Result>): Promise<Result> => withMongoTimeout(timings.timeoutMs, work);
  const beforeId = firstKeptId(nowMs, retentionDays);
  const endMs = performance.now() + timings.runMs;
  let fromId = await call(() => retention.removedBeforeId());
  for (let removed = 0; ; ) {
    const ids = await call(() => predictions.oldest({ fromId, beforeId, most: slicesPerDelete }));
    if (ids.length > 0 && removed === 0) await call(() => retention.keepFrom(keptFromDay));
    await call(() => predictions.remove(ids));
    removed += ids.length;
    fromId = ids.at(-1) ?? fromId;
    const isLast = ids.length < slicesPerDelete;
    if (!isLast && !signal?.aborted && performance.now() <= endMs) continue;
    if (removed > 0) await call(() => retention.noteRemoved(isLast ? beforeId : fromId));
    return { removed, isLast };
  }
}
