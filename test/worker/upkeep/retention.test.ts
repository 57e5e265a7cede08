import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { startMongo } from '../../../scripts/servers/mongo-server.js';
import { dayMs, dayNumber } from '../../../shared/contract/dates.js';
import { latestScoresKey } from '../../../shared/redis/keys.js';
import {
  callsCollection,
  firstKeptId,
  idsOfOrganisation,
  type PredictionSegment,
} from '../../../shared/store/calls/prediction-segment.js';
import { connectMongo, type Mongo } from '../../../shared/store/connection/connect.js';
import { removeOldPredictions, retentionTimings } from '../../../worker/upkeep/retention.js';
import { freeze } from '../../support/faults/stall.js';
import { gradesIn } from '../grading/grade-at.js';
import { figures } from '../grading/grade-truth.js';
import type { RecordedWorld, WorldIds } from '../grading/recorded-world.js';
import { worldForEachTest } from './world-hooks.js';

const nowMs = Date.UTC(2026, 5, 30, 12);
const horizonDays = 5;
const retentionDays = 30;
const minuteMs = 60_000;

describe('retention', () => {
  let mongo: Mongo;
  let redis: Redis;
  let ids: WorldIds;
  let world: RecordedWorld;

  worldForEachTest((fresh) => {
    ({ mongo, redis, ids, world } = fresh);
  });

  const remove = ({
    runMs = retentionTimings.runMs,
    timeoutMs = retentionTimings.timeoutMs,
    database = mongo.database,
    signal = new AbortController().signal,
  } = {}) => {
    const timings = { ...retentionTimings, runMs, timeoutMs, pauseMs: 50 };
    return removeOldPredictions({ database, redis, nowMs, retentionDays, timings, signal });
  };
  const left = async () =>
    (
      await mongo.database
        .collection<PredictionSegment>(callsCollection)
        .find({ scores: { $exists: true } })
        .sort({ _id: 1 })
        .toArray()
    ).flatMap((segment) => segment.crm_ids);
  const startOfDay = (daysAgo: number) => Math.floor(nowMs / dayMs) * dayMs - daysAgo * dayMs;
  const score = (crmId: string, atMs: number) => world.call(atMs, [{ crmId, score: 90 }]);

  it('removes the predictions of days past retention, and no others', async () => {
    await score('older', startOfDay(retentionDays) - 1);
    await score('on the first kept day', startOfDay(retentionDays));
    await score('new', nowMs);
    expect(await remove()).to.equal(1);
    expect(await left()).to.have.members(['on the first kept day', 'new']);
    expect(await remove()).to.equal(0);
  });

  it('removes the scores of candidates for such predictions, too', async () => {
    await score('older', startOfDay(retentionDays) - 1);
    await score('on the first kept day', startOfDay(retentionDays));
    const candidates = mongo.database.collection<{ readonly _id: string }>('candidate_scores');
    const { $gte, $lt } = idsOfOrganisation(ids.organisationId);
    const segments = await mongo.database
      .collection<PredictionSegment>(callsCollection)
      .find({ _id: { $gte, $lt }, scores: { $exists: true } })
      .sort({ _id: 1 })
      .toArray();
    const [older, kept] = segments.map(({ _id }) => ({ _id: `${_id}-2.0.0` }));
    await candidates.insertMany([older, kept, { _id: '0000000000-2.0.0' }] as { _id: string }[]);
    await remove();
    expect(await candidates.find().sort({ _id: 1 }).toArray()).to.have.deep.members([
      kept,
      { _id: '0000000000-2.0.0' },
    ]);
  });

  it('removes their latest scores from Redis, too', async () => {
    const key = latestScoresKey('org');
    const itemAt = (id: string) => `${id.padEnd(26, '0')}0000090001`;
    const kept = { '': 'run token ', kept: itemAt(firstKeptId(dayNumber(nowMs) - retentionDays, 'org')) };
    await redis.hset(key, { ...kept, older: itemAt(firstKeptId(dayNumber(nowMs) - retentionDays - 1, 'org')) });
    await score('older', startOfDay(retentionDays) - 1);
    await remove();
    expect(await redis.hgetall(key)).to.deep.equal(kept);
  });

  const scoreElevenThousand = async () => {
    const rows = Array.from({ length: 1_000 }, (_, row) => ({ crmId: `L-${row}`, score: 50 }));
    for (let call = 0; call < 11; call += 1) await world.call(startOfDay(90) + call, rows);
  };

  it('removes eleven thousand predictions in one run', async () => {
    await scoreElevenThousand();
    await score('new', nowMs);
    expect(await remove(), 'documents').to.equal(110);
    expect(await left()).to.deep.equal(['new']);
  });

  it('goes on after a pause when there are more than one run removes', async () => {
    await scoreElevenThousand();
    await score('new', nowMs);
    expect(await remove({ runMs: 0 }), 'documents').to.equal(110);
    expect(await left()).to.deep.equal(['new']);
  });

  it('ends early when its signal is aborted, and the next job removes the rest', async () => {
    await scoreElevenThousand();
    const stopping = new AbortController();
    const removal = remove({ runMs: 0, signal: stopping.signal });
    stopping.abort();
    expect(await removal, 'documents').to.equal(50);
    expect(await remove()).to.equal(60);
  });

  it('throws MongoTimeout when MongoDB does not answer in time', async () => {
    const { directory, server } = await ownMongo();
    const own = await connectMongo(server.url, { name: 'test' });
    try {
      await freeze(server.pid);
      const removal = remove({ database: own.database, timeoutMs: 300 });
      expect(await removal.catch((error: Error) => error.name)).to.equal('MongoTimeout');
    } finally {
      process.kill(server.pid, 'SIGCONT');
      await own.client.close();
      await server.stop();
      await rm(directory, { recursive: true });
    }
  });

  it('leaves grades that count the kept days only, and reconcile', async () => {
    await score('removed', startOfDay(60));
    await score('half a day', startOfDay(retentionDays + 1) + dayMs - minuteMs);
    await score('kept', startOfDay(10));
    await world.outcomes([{ crmId: 'kept', converted: true, at: new Date(startOfDay(9)) }], nowMs);
    const grade = () => gradesIn(mongo, horizonDays)(ids, nowMs);
    expect(figures(await grade(), 'predictions_recorded')).to.include({ cohort: 3 });
    await remove();
    const graded = await grade();
    expect(figures(graded, 'predictions_recorded')).to.include({ cohort: 1 });
    expect(figures(graded, 'cohort_reconciles')).to.include({ ledger_records: 1, stored_rows: 1, cohort: 1 });
  });
});

/** A MongoDB that a test may freeze. */
async function ownMongo() {
  const directory = await mkdtemp(join(tmpdir(), 'leadscore-retention-'));
  return { directory, server: await startMongo({ directory }) };
}
