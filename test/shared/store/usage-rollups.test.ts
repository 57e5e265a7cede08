import { expect } from 'chai';
import { Redis } from 'ioredis';
import type { Db } from 'mongodb';
import { seededRandom } from '../../../scripts/leads/seeded-random.js';
import { type Clock, monthOf } from '../../../shared/contract/dates.js';
import { callIdGenerator, newId } from '../../../shared/contract/identifiers.js';
import { Quota } from '../../../shared/quota/quota.js';
import type { UsageCounter } from '../../../shared/redis/keys.js';
import { callsCollection } from '../../../shared/store/calls/prediction-segment.js';
import { CallIsFinal, UsageLedger } from '../../../shared/store/calls/usage-ledger.js';
import { UsageRollups } from '../../../shared/store/calls/usage-rollups.js';
import { connectMongo, type Mongo } from '../../../shared/store/connection/connect.js';
import { prepareDatabase } from '../../../shared/store/connection/prepare-database.js';
import { documentsOfCall } from '../../support/service/prediction-rows.js';
import { type FreshDatabases, freshDatabases } from '../../support/service/servers.js';

const hourMs = 60 * 60 * 1000;
const dayMs = 24 * hourMs;
const month = '2026-02';
const monthStart = Date.UTC(2026, 1, 1);
const monthEnd = Date.UTC(2026, 2, 1);

interface Day {
  readonly org: string;
  readonly day: string;
  readonly records: number;
}

describe('UsageRollups', () => {
  let databases: FreshDatabases;
  let mongo: Mongo;
  let counter: UsageCounter;
  let nowMs: number;
  let ledger: UsageLedger;
  const clock: Clock = { now: () => nowMs };
  const newCallId = callIdGenerator();

  before(async () => {
    databases = await freshDatabases();
    mongo = await connectMongo(databases.mongoUrl, { name: 'test' });
    await prepareDatabase(mongo.database);
    ledger = new UsageLedger(mongo.database, clock);
  });
  after(() => mongo.client.close());
  beforeEach(() => {
    counter = { organisationId: newId('org'), bucket: 'live', month };
    nowMs = monthStart;
  });

  const calls = () => mongo.database.collection<{ _id: string; org: string }>(callsCollection);
  const dailyUsage = () => mongo.database.collection<Day>('usage_daily');

  /** Records a call that is dated `atMs`, whenever it is committed. */
  async function record(records: number, atMs = nowMs, on: Partial<UsageCounter> = {}): Promise<string> {
    const { organisationId: org, bucket, month: ofMonth } = { ...counter, ...on };
    const _id = newCallId(atMs, org);
    const call = { _id, org, bucket, month: ofMonth, records, at: new Date(atMs) };
    await calls().insertMany(documentsOfCall(call) as { _id: string; org: string }[]);
    return _id;
  }
  const voidCall = (callId: string) =>
    mongo.client.withSession((session) =>
      session.withTransaction(() => ledger.voidCall(callId, { session, signal: AbortSignal.timeout(5_000) })),
    );

  const advance = (on = counter) => ledger.advanceRollup(on);
  const snapshot = async (on = counter, from = ledger) =>
    (await from.snapshot(on, { recentMs: 60_000, nowMs })).records;
  const expectExact = async (step = '') => expect(await snapshot(), step).to.equal(await ledger.sum(counter));

  /** The days that are rolled up, each with its records. */
  const days = async (): Promise<Record<string, number>> => {
    const found = dailyUsage().find({ org: counter.organisationId }, { sort: { _id: 1 } });
    return Object.fromEntries((await found.toArray()).map(({ day, records }) => [day, records]));
  };

  /** The database, with something done around calls of one method of `usage_daily`. */
  const databaseWith = (method: 'find' | 'insertOne', wrapped: (run: () => unknown) => unknown): Db => {
    const wrap = <Target extends object>(target: Target, name: string, replace: (...args: unknown[]) => unknown) =>
      new Proxy(target, {
        get: (owner, property) => {
          const value = Reflect.get(owner, property);
          if (property === name) return replace;
          return typeof value === 'function' ? value.bind(owner) : value;
        },
      });
    return wrap(mongo.database, 'collection', (name) => {
      const collection = mongo.database.collection(String(name));
      if (name !== 'usage_daily') return collection;
      const call = collection[method].bind(collection) as (...args: unknown[]) => unknown;
      return wrap(collection, method, (...args) => wrapped(() => call(...args)));
    });
  };

  it('rolls up a UTC day once all its calls are 26 h old, and its calls are not read again', async () => {
    await record(5, monthStart);
    await record(3, monthStart + dayMs - 1);
    await record(4, monthStart + dayMs);
    nowMs = monthStart + dayMs + 26 * hourMs - 1;
    await advance();
    expect(await days()).to.deep.equal({});
    nowMs += 1;
    await advance();
    const { organisationId: org, bucket } = counter;
    expect(await dailyUsage().findOne({ org })).to.deep.equal({
      _id: `${org}:${bucket}:2026-02-01`,
      ...{ org, bucket, month, day: '2026-02-01', records: 8 },
    });
    expect(await snapshot()).to.equal(12);
    await calls().deleteMany({ org, at: { $lt: new Date(monthStart + dayMs) } });
    expect(await snapshot(), 'after the rows of the rolled-up day were deleted').to.equal(12);
  });

  it('includes a call that is committed just before its day is rolled up', async () => {
    await record(1);
    nowMs = monthStart + dayMs + 26 * hourMs - 1;
    await advance();
    await record(2, monthStart + dayMs - 1);
    nowMs += 1;
    await advance();
    expect(await days()).to.deep.equal({ '2026-02-01': 3 });
    expect(await snapshot()).to.equal(3);
  });

  it('keeps months, buckets and organisations apart, and rolls up no day of the next month', async () => {
    const others: UsageCounter[] = [
      { ...counter, month: '2026-01' },
      { ...counter, month: '2026-03' },
      { ...counter, bucket: 'test' },
      { ...counter, organisationId: newId('org') },
    ];
    const instants = [monthStart - 1, monthStart, monthEnd - 1, monthEnd];
    for (const [index, on] of [counter, ...others].entries())
      for (const [digit, atMs] of instants.entries()) await record(10 ** index * (digit + 1), atMs, on);
    nowMs = monthEnd + 26 * hourMs;
    for (const on of [counter, ...others]) await advance(on);
    expect(await days()).to.have.property('2026-02-28');
    // Calls that began before the month do count in its first day, those dated after the month in none.
    const rolledUp = await dailyUsage().find({ org: counter.organisationId, bucket: 'live', month }).toArray();
    expect(rolledUp.map(({ records }) => records)).to.deep.equal([3, ...Array(26).fill(0), 3]);
    for (const [index, on] of [counter, ...others].entries())
      expect(await snapshot(on), `counter ${index}`).to.equal(10 ** index * 10);
  });

  it('writes each day once when it runs twice, or in several pools at once', async () => {
    for (let day = 0; day < 6; day += 1) await record(day + 1, monthStart + day * dayMs);
    nowMs = monthStart + 5 * dayMs;
    await Promise.all([0, 1, 2].map(() => new UsageRollups(mongo.database).advance(counter, nowMs)));
    const once = await days();
    expect(once).to.deep.equal({ '2026-02-01': 1, '2026-02-02': 2, '2026-02-03': 3 });
    await advance();
    expect(await days()).to.deep.equal(once);
    await expectExact();
  });

  it('is exact after an interrupted run, which the next one completes', async () => {
    for (let day = 0; day < 6; day += 1) await record(day + 1, monthStart + day * dayMs);
    nowMs = monthStart + 8 * dayMs;
    let inserts = 0;
    const failing = databaseWith('insertOne', (insert) => {
      inserts += 1;
      return inserts === 3 ? Promise.reject(new Error('the pool was killed')) : insert();
    });
    const failure = await new UsageRollups(failing).advance(counter, nowMs).catch((error: Error) => error);
    expect(failure).to.have.property('message', 'the pool was killed');
    expect(await days()).to.deep.equal({ '2026-02-01': 1, '2026-02-02': 2 });
    await expectExact();
    await advance();
    expect(Object.values(await days())).to.deep.equal([1, 2, 3, 4, 5, 6]);
    await expectExact();
  });

  it('counts each call once when a day is rolled up between the two reads of a snapshot', async () => {
    for (let day = 0; day < 6; day += 1) await record(10 ** day, monthStart + day * dayMs);
    nowMs = monthStart + 4 * dayMs;
    await advance();
    nowMs += 2 * dayMs;
    const slow = databaseWith('find', (find) => {
      const cursor = find() as { readonly toArray: () => Promise<unknown> };
      return {
        toArray: async () => {
          const rows = await cursor.toArray();
          await advance();
          return rows;
        },
      };
    });
    expect(await snapshot(counter, new UsageLedger(slow, clock))).to.equal(111_111);
    expect(await days()).to.have.property('2026-02-04', 1_000);
    expect(await snapshot()).to.equal(111_111);
  });

  it('makes deleted days again, and is exact meanwhile', async () => {
    for (let day = 0; day < 6; day += 1) await record(day + 1, monthStart + day * dayMs);
    nowMs = monthStart + 8 * dayMs;
    await advance();
    const all = await days();
    await dailyUsage().deleteOne({ org: counter.organisationId, day: '2026-02-03' });
    await expectExact();
    await advance();
    expect(await days()).to.deep.equal(all);
  });

  it('lets a call be voided until it is 13 h old, long before it is rolled up', async () => {
    const callId = await record(5, monthStart + dayMs - 1);
    const stays = await record(7, monthStart + dayMs - 2);
    nowMs = monthStart + dayMs - 1 + 13 * hourMs;
    await voidCall(callId);
    expect(await snapshot()).to.equal(7);
    const before = await calls().findOne({ _id: stays });
    const failure = await voidCall(stays).catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(CallIsFinal);
    expect(await calls().findOne({ _id: stays }), 'unchanged').to.deep.equal(before);
    nowMs += 13 * hourMs + 1;
    await advance();
    expect(await days()).to.deep.equal({ '2026-02-01': 7 });
    await expectExact();
  });

  it('rebuilds a lost counter from roll-ups and later calls', async () => {
    const redis = new Redis(databases.redisUrl);
    try {
      for (let day = 0; day < 6; day += 1) await record(10 ** day, monthStart + day * dayMs);
      nowMs = monthStart + 5 * dayMs + hourMs;
      await advance();
      expect(Object.keys(await days())).to.have.length(3);
      const quota = new Quota({ redis, ledger, leaseMs: 60_000, clock });
      expect(await quota.usage(counter)).to.include({ used: 111_111 });
    } finally {
      redis.disconnect();
    }
  });

  it('equals the full sum after any sequence of calls, voids and roll-ups, across months', async () => {
    const random = seededRandom(31);
    const recorded: { readonly id: string; readonly atMs: number }[] = [];
    const upTo = (max: number) => Math.floor(random.uniform() * max);
    nowMs = monthStart - 3 * dayMs;
    for (let step = 0; step < 300; step += 1) {
      const action = random.uniform();
      const boundMs = Math.round(nowMs / dayMs) * dayMs;
      counter = { ...counter, month: monthOf(nowMs) };
      if (action < 0.5) {
        // Calls are committed up to a minute late, many of them around midnight.
        const atMs = random.uniform() < 0.3 ? Math.min(boundMs, nowMs) - upTo(2) : nowMs - upTo(60_000);
        if (nowMs - atMs < dayMs) recorded.push({ id: await record(1 + upTo(9), atMs), atMs });
      } else if (action < 0.7) nowMs += upTo(20 * hourMs);
      else if (action < 0.9) await Promise.all(Array.from({ length: 1 + upTo(2) }, () => advance()));
      else {
        const [call] = recorded.splice(upTo(recorded.length), 1);
        if (call !== undefined)
          await voidCall(call.id).catch((error: unknown) => {
            expect(error).to.be.instanceOf(CallIsFinal);
            expect(nowMs - call.atMs).to.be.above(13 * hourMs);
          });
      }
      if (step % 5 === 0) await expectExact(`step ${step}`);
    }
    expect(Object.keys(await days())).to.have.length.above(20);
  });
});
