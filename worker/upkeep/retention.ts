import { setTimeout as pause } from 'node:timers/promises';
import { dayNumber } from '../../shared/contract/dates.js';
import { expireOldScores } from '../../shared/latest-scores/eviction.js';
import type { Redis } from '../../shared/redis/connect.js';
import { firstKeptId } from '../../shared/store/calls/prediction-slice.js';
import { PredictionStore } from '../../shared/store/calls/predictions.js';
import { RetentionStore } from '../../shared/store/calls/retention.js';
import type { Db } from '../../shared/store/connection/connect.js';
import { withMongoTimeout } from '../../shared/store/connection/mongo-errors.js';

/** Up to a hundred predictions each. */
const slicesAtOnce = 50;
/** MongoDB has work for others: after two seconds it is given half a one. */
const maxRunMs = 2_000;
const restMs = 500;
/** What is left goes with the next job, a minute after this one began. */
const maxJobMs = 45_000;
/** A frozen MongoDB must not keep the lane for ever. */
const maxCallMs = 10_000;

export interface RetentionOptions {
  readonly database: Db;
  readonly redis: Redis;
  readonly nowMs: number;
  /** Predictions of this many days before today, and of today, are kept. */
  readonly retentionDays: number;
  /** The longest that each call to MongoDB may take. */
  readonly timeoutMs?: number;
  /** How long it removes without a rest. */
  readonly runMs?: number;
  /** Ends it early, with what it has in hand. */
  readonly signal?: AbortSignal;
}

/**
 * Removes predictions that are older than they are to be kept, the oldest first: until none is left, for at most three
 * quarters of a minute, with rests. What Redis knows of them goes as well; what was counted stays in the ledger.
 * @returns how many slices, of up to a hundred predictions, were removed
 * @throws what MongoDB or Redis says; MongoTimeout when it says nothing; can be run again
 */
export async function removeOldPredictions(options: RetentionOptions): Promise<number> {
  const { redis, nowMs, retentionDays, signal } = options;
  const endMs = performance.now() + maxJobMs;
  let removed = 0;
  for (;;) {
    const run = await removeForAWhile(options);
    removed += run.removed;
    if (run.isLast) break;
    if (signal?.aborted || performance.now() > endMs) return removed;
    await pause(restMs, undefined, { signal }).catch(() => undefined);
  }
  // All of Redis is looked through: once, when the last of them has gone.
  if (removed > 0) await expireOldScores(redis, firstKeptId(nowMs, retentionDays));
  return removed;
}

/** One run; notes how far it has come. */
async function removeForAWhile({
  database,
  nowMs,
  retentionDays,
  timeoutMs = maxCallMs,
  runMs = maxRunMs,
  signal,
}: RetentionOptions): Promise<{ readonly removed: number; readonly isLast: boolean }> {
  const keptFromDay = dayNumber(nowMs) - retentionDays;
  const predictions = new PredictionStore(database);
  const retention = new RetentionStore(database);
  const call = <Result>(work: () => Promise<Result>): Promise<Result> => withMongoTimeout(timeoutMs, work);
  const beforeId = firstKeptId(nowMs, retentionDays);
  const endMs = performance.now() + runMs;
  let fromId = await call(() => retention.removedBeforeId());
  for (let removed = 0; ; ) {
    const ids = await call(() => predictions.oldest({ fromId, beforeId, most: slicesAtOnce }));
    if (ids.length > 0 && removed === 0) await call(() => retention.keepFrom(keptFromDay));
    await call(() => predictions.remove(ids));
    removed += ids.length;
    fromId = ids.at(-1) ?? fromId;
    const isLast = ids.length < slicesAtOnce;
    if (!isLast && !signal?.aborted && performance.now() <= endMs) continue;
    if (removed > 0) await call(() => retention.noteRemoved(isLast ? beforeId : fromId));
    return { removed, isLast };
  }
}
