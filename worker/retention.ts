import type { Db } from '../shared/store/connect.js';
import { inTime } from '../shared/store/in-time.js';
import { firstKeptId } from '../shared/store/prediction-slice.js';
import { PredictionStore } from '../shared/store/predictions.js';
import { RetentionStore } from '../shared/store/retention.js';
import { dayNumber } from '../shared/utc-day.js';

/** Documents, of up to a hundred predictions each. */
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
 * @returns how many documents of `predictions` were removed
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
  const beforeId = firstKeptId(nowMs, retentionDays);
  const endMs = performance.now() + longestRunMs;
  let removed = 0;
  if (!(await inTime(timeoutMs, () => predictions.hasBefore(beforeId)))) return removed;
  await inTime(timeoutMs, () => new RetentionStore(database).keepFrom(keptFromDay));
  for (;;) {
    const count = await inTime(timeoutMs, () => predictions.removeOldest({ beforeId, most: slicesAtOnce }));
    removed += count;
    if (count < slicesAtOnce || performance.now() > endMs) return removed;
  }
}
