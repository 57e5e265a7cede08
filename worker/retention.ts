import type { Db } from '../shared/store/connect.js';
import { inTime } from '../shared/store/in-time.js';
import { firstKeptId } from '../shared/store/prediction-slice.js';
import { PredictionStore } from '../shared/store/predictions.js';
import { RetentionStore } from '../shared/store/retention.js';
import { dayNumber } from '../shared/utc-day.js';

/** Up to a hundred predictions each. */
const slicesAtOnce = 50;
/** What is left goes with the next run. */
const longestRunMs = 2_000;
/** A frozen MongoDB must not keep the lane for ever. */
const longestCallMs = 10_000;

/**
 * Removes predictions that are older than they are to be kept, the oldest first, for at most two seconds. What was
 * counted stays in the ledger.
 * @param options.retentionDays predictions of this many days before today, and of today, are kept
 * @param options.timeoutMs the longest that each call to MongoDB may take
 * @returns how many slices, of up to a hundred predictions, were removed
 * @throws what MongoDB says; a TimeoutError when it says nothing; can be run again
 */
export async function removeOldPredictions({
  database,
  nowMs,
  retentionDays,
  timeoutMs = longestCallMs,
}: {
  readonly database: Db;
  readonly nowMs: number;
  readonly retentionDays: number;
  readonly timeoutMs?: number;
}): Promise<number> {
  const keptFromDay = dayNumber(nowMs) - retentionDays;
  const predictions = new PredictionStore(database);
  const retention = new RetentionStore(database);
  const call = <Result>(work: () => Promise<Result>): Promise<Result> => inTime(timeoutMs, work);
  const beforeId = firstKeptId(nowMs, retentionDays);
  const endMs = performance.now() + longestRunMs;
  let fromId = await call(() => retention.removedBeforeId());
  for (let removed = 0; ; ) {
    const ids = await call(() => predictions.oldest({ fromId, beforeId, most: slicesAtOnce }));
    if (ids.length > 0 && removed === 0) await call(() => retention.keepFrom(keptFromDay));
    await call(() => predictions.remove(ids));
    removed += ids.length;
    fromId = ids.at(-1) ?? fromId;
    const isLast = ids.length < slicesAtOnce;
    if (!isLast && performance.now() <= endMs) continue;
    if (removed > 0) await call(() => retention.noteRemoved(isLast ? beforeId : fromId));
    return removed;
  }
}
