import { dayMs, dayNumber } from '../../shared/contract/dates.js';
import { RetentionStore } from '../../shared/store/calls/retention.js';
import { type Db, withMongoTimeout } from '../../shared/store/connection/connect.js';
import { OutcomeStore } from '../../shared/store/validation/outcomes.js';

/** Outcomes of leads without a prediction are kept for this long: a lead may be reported before it is scored. */
const unscoredDays = 180;
const outcomesPerBatch = 500;
const maxRunMs = 5_000; // the next job, a minute after the start of this one, continues
const timeoutMs = 10_000; // of each batch: a frozen MongoDB must not block the queue

/**
 * Removes the outcomes of leads that have no prediction (any more), in one pass a day through all organisations. Stores
 * how far it came. Can be run again after any failure.
 * @returns removed outcomes
 * @throws errors of MongoDB; MongoTimeout
 */
export async function removeUnscoredOutcomes(options: {
  readonly database: Db;
  readonly nowMs: number;
  readonly retentionDays: number;
  readonly signal?: AbortSignal;
}): Promise<number> {
  const { database, nowMs, retentionDays, signal } = options;
  const retention = new RetentionStore(database);
  const outcomes = new OutcomeStore(database);
  const today = dayNumber(nowMs);
  const before = new Date(nowMs - Math.min(unscoredDays, retentionDays) * dayMs);
  const endMs = performance.now() + maxRunMs;
  let removed = 0;
  let next = await withMongoTimeout(timeoutMs, () => retention.outcomesAfter(today));
  while (next !== undefined && performance.now() < endMs && signal?.aborted !== true) {
    const { org, crm_id: after } = next;
    next = await withMongoTimeout(timeoutMs, async () => {
      const batch = await outcomes.after(org, after, outcomesPerBatch);
      const old = batch.filter(({ received_at }) => received_at < before).map(({ crm_id }) => crm_id);
      removed += await outcomes.removeUnscored(org, old, before);
      const last = batch.at(-1);
      if (last !== undefined && batch.length === outcomesPerBatch) return { org, crm_id: last.crm_id };
      const other = await outcomes.organisationAfter(org);
      return other === undefined ? undefined : { org: other, crm_id: '' };
    });
    await withMongoTimeout(timeoutMs, () => retention.storeOutcomesPass(today, next));
  }
  return removed;
}
