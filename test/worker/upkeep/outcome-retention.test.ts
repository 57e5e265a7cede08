import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { dayMs } from '../../../shared/contract/dates.js';
import type { Mongo } from '../../../shared/store/connection/connect.js';
import { outcomeId, type StoredOutcome } from '../../../shared/store/validation/outcomes.js';
import { removeUnscoredOutcomes } from '../../../worker/upkeep/outcome-retention.js';
import { removeOldPredictions, retentionTimings } from '../../../worker/upkeep/retention.js';
import { newIds } from '../grading/grade-at.js';
import { RecordedWorld, type WorldIds } from '../grading/recorded-world.js';
import { worldForEachTest } from './world-hooks.js';

const nowMs = Date.UTC(2026, 5, 30, 12);
const daysAgo = (days: number) => nowMs - days * dayMs;

describe('the retention of outcomes', () => {
  let mongo: Mongo;
  let redis: Redis;
  let ids: WorldIds;
  let world: RecordedWorld;

  worldForEachTest((fresh) => {
    ({ mongo, redis, ids, world } = fresh);
  });

  const remove = ({ atMs = nowMs, retentionDays = 760, signal = new AbortController().signal } = {}) =>
    removeUnscoredOutcomes({ database: mongo.database, nowMs: atMs, retentionDays, signal });
  const report = (crmId: string, receivedMs: number) =>
    world.outcomes([{ crmId, converted: true, at: new Date(receivedMs) }], receivedMs);
  const stored = async () =>
    (await mongo.database.collection<StoredOutcome>('outcomes').find().sort({ _id: 1 }).toArray()).map(
      ({ crm_id }) => crm_id,
    );

  it('removes outcomes of leads without a prediction 180 days after their report, and no others', async () => {
    await world.call(daysAgo(300), [{ crmId: 'scored', score: 50 }]);
    await report('scored', daysAgo(299));
    await report('unscored', daysAgo(181));
    await report('unscored, but recent', daysAgo(179));
    expect(await remove()).to.equal(1);
    expect(await stored()).to.deep.equal(['scored', 'unscored, but recent']);
  });

  it('removes the outcome of a lead whose last prediction retention has removed', async () => {
    await world.call(daysAgo(60), [{ crmId: 'L-1', score: 50 }]);
    await world.call(daysAgo(60), [{ crmId: 'L-2', score: 50 }]);
    await world.call(daysAgo(10), [{ crmId: 'L-2', score: 50 }]);
    for (const crmId of ['L-1', 'L-2']) await report(crmId, daysAgo(59));
    const retentionDays = 30;
    const { database } = mongo;
    await removeOldPredictions({ database, redis, nowMs, retentionDays, timings: retentionTimings });
    expect(await remove({ retentionDays })).to.equal(1);
    expect(await stored()).to.deep.equal(['L-2']);
  });

  it('tells organisations apart', async () => {
    const other = new RecordedWorld(mongo.database, newIds());
    await other.call(daysAgo(300), [{ crmId: 'L-1', score: 50 }]);
    for (const each of [world, other])
      await each.outcomes([{ crmId: 'L-1', converted: true, at: new Date(daysAgo(299)) }], daysAgo(299));
    expect(await remove()).to.equal(1);
    expect(await stored()).to.deep.equal(['L-1']);
  });

  it('goes through all outcomes once a day', async () => {
    const received = new Date(daysAgo(200));
    const outcomes = Array.from({ length: 1_200 }, (_, lead): StoredOutcome => {
      const crm_id = `L-${lead}`;
      const dates = { at: received, received_at: received, changed_at: received };
      return { _id: outcomeId(ids.organisationId, crm_id), org: ids.organisationId, crm_id, converted: true, ...dates };
    });
    await mongo.database.collection<StoredOutcome>('outcomes').insertMany(outcomes);
    expect(await remove()).to.equal(1_200);
    await report('later that day', daysAgo(200));
    expect(await remove()).to.equal(0);
    expect(await remove({ atMs: nowMs + dayMs })).to.equal(1);
  });

  it('continues where an aborted pass has stopped', async () => {
    await report('L-1', daysAgo(200));
    expect(await remove({ signal: AbortSignal.abort() })).to.equal(0);
    expect(await remove()).to.equal(1);
  });
});
