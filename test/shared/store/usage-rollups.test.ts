import { expect } from 'chai';
import type { ClientSession } from 'mongodb';
import { seededRandom } from '../../../scripts/leads/seeded-random.js';
import { callIdGenerator, newId } from '../../../shared/contract/identifiers.js';
import type { Clock } from '../../../shared/process/clock.js';
import type { UsageCounter } from '../../../shared/redis/keys.js';
import { callsCollection } from '../../../shared/store/calls/prediction-slice.js';
import { UsageLedger } from '../../../shared/store/calls/usage-ledger.js';
import { UsageRollups } from '../../../shared/store/calls/usage-rollups.js';
import { connectMongo, type Mongo } from '../../../shared/store/connection/connect.js';
import { prepareDatabase } from '../../../shared/store/connection/prepare-database.js';
import { eventually } from '../../support/eventually.js';
import { documentsOfCall } from '../../support/service/prediction-rows.js';
import { freshDatabases } from '../../support/service/servers.js';

const hourMs = 60 * 60 * 1000;
const month = '2026-02';
const monthStart = Date.UTC(2026, 1, 1);

describe('UsageRollups', () => {
  let mongo: Mongo;
  let counter: UsageCounter;
  let nowMs: number;
  let ledger: UsageLedger;
  let rollups: UsageRollups;
  const clock: Clock = { now: () => nowMs };
  const newCallId = callIdGenerator();

  before(async () => {
    mongo = await connectMongo((await freshDatabases()).mongoUrl, { name: 'test' });
    await prepareDatabase(mongo.database);
    ledger = new UsageLedger(mongo.database, clock);
    rollups = new UsageRollups(mongo.database);
  });
  after(() => mongo.client.close());
  beforeEach(() => {
    counter = { organisationId: newId('org'), bucket: 'live', month };
    nowMs = monthStart;
  });

  async function record(records: number): Promise<string> {
    const _id = newCallId(nowMs);
    const { organisationId: org, bucket } = counter;
    const documents = documentsOfCall({ _id, org, bucket, month, records, at: new Date(nowMs) });
    await mongo.database.collection<{ _id: string }>(callsCollection).insertMany(documents);
    return _id;
  }
  const calls = () => mongo.database.collection<{ _id: string; org: string }>(callsCollection);
  const advance = (minCalls = 1) => rollups.advance(counter, { nowMs, minCalls });
  const snapshot = async () => (await ledger.snapshot(counter, { recentMs: 60_000, nowMs })).records;
  const rollupEndMs = async () => (await rollups.read(counter, AbortSignal.timeout(5_000))).before.getTime();
  const voidIn = (callId: string, session: ClientSession) =>
    ledger.voidCall(callId, { session, signal: AbortSignal.timeout(5_000) });
  const voidCall = (callId: string) =>
    mongo.client.withSession((session) => session.withTransaction(() => voidIn(callId, session)));

  const rollupsBeingWritten = async (): Promise<number> => {
    const ns = `${mongo.database.databaseName}.usage_sums`;
    const { inprog } = await mongo.client
      .db('admin')
      .command({ currentOp: 1, active: true, op: 'update', ns });
    return inprog.length;
  };

  it('holds the calls older than 26 hours, which are not read again', async () => {
    await record(5);
    nowMs += hourMs / 2;
    await record(3);
    nowMs += hourMs / 2;
    await record(4);
    nowMs = monthStart + 26.5 * hourMs;
    await record(11);
    await advance();
    expect(await rollupEndMs()).to.equal(monthStart + hourMs / 2);
    expect(await snapshot()).to.equal(23);
    await calls().deleteMany({ org: counter.organisationId, at: new Date(monthStart) });
    expect(await snapshot(), 'after the row of a rolled-up call was deleted').to.equal(23);
  });

  it('makes no roll-up of fewer calls than the minimum, or of calls within 26 hours', async () => {
    for (let count = 0; count < 3; count += 1) await record(1);
    nowMs += 100 * hourMs;
    await advance(4);
    expect(await rollupEndMs()).to.equal(0);
    await advance(3);
    expect(await rollupEndMs()).to.equal(nowMs - 26 * hourMs);
    counter = { ...counter, organisationId: newId('org') };
    await record(1);
    await advance();
    expect(await rollupEndMs()).to.equal(0);
  });

  it('resets a roll-up when one of its calls is voided', async () => {
    const first = await record(5);
    await record(7);
    nowMs += 48 * hourMs;
    await advance();
    await voidCall(first);
    expect(await snapshot()).to.equal(7);
    expect(await rollupEndMs()).to.equal(0);
    await advance();
    expect(await snapshot()).to.equal(7);
    expect(await rollupEndMs()).to.equal(nowMs - 26 * hourMs);
  });

  for (const exists of [true, false])
    it(`discards an advance when a call is voided during it, ${exists ? 'with' : 'without'} an existing roll-up`, async () => {
      if (exists) await record(3);
      nowMs += 12 * hourMs;
      const callId = await record(5);
      await record(7);
      nowMs += 20 * hourMs;
      if (exists) await advance();
      nowMs += 20 * hourMs;
      await mongo.client.withSession(async (session) => {
        session.startTransaction({ writeConcern: { w: 'majority' } });
        await voidIn(callId, session);
        // The advance has counted the call and waits for the transaction to write its result.
        const advancing = advance();
        await eventually(async () => expect(await rollupsBeingWritten()).to.equal(1));
        await session.commitTransaction();
        await advancing;
      });
      expect(await snapshot()).to.equal(await ledger.sum(counter));
    });

  it('snapshot equals the full sum after any sequence of records, voids and advances', async () => {
    const random = seededRandom(31);
    const recorded: { readonly id: string; readonly atMs: number }[] = [];
    for (let step = 0; step < 250; step += 1) {
      const action = random.uniform();
      if (action < 0.5)
        recorded.push({ id: await record(1 + Math.floor(random.uniform() * 9)), atMs: nowMs });
      else if (action < 0.7) nowMs += Math.floor(random.uniform() * 20 * hourMs);
      else if (action < 0.85) await advance();
      else if (recorded.length > 0) {
        const [call] = recorded.splice(Math.floor(random.uniform() * recorded.length), 1);
        if (call !== undefined) await voidCall(call.id);
      }
      if (step % 5 === 0) expect(await snapshot(), `step ${step}`).to.equal(await ledger.sum(counter));
    }
    expect(await rollupEndMs()).to.be.above(monthStart);
  });
});
