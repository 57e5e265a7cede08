import { expect } from 'chai';
import type { Document } from 'mongodb';
import { dayMs } from '../../../shared/contract/dates.js';
import { connectMongo, type Mongo } from '../../../shared/store/connection/connect.js';
import { prepareDatabase } from '../../../shared/store/connection/prepare-database.js';
import { type CallDay, CallDayStore, sumOf } from '../../../shared/store/console/call-days.js';
import { moveCallHours } from '../../../shared/store/console/move-call-hours.js';
import { freshDatabases } from '../../support/service/servers.js';

const fromMs = Date.UTC(2026, 10, 1);
const hourMs = 3_600_000;
const never = new AbortController().signal;

describe('moveCallHours', () => {
  let mongo: Mongo;

  beforeEach(async () => {
    mongo = await connectMongo((await freshDatabases()).mongoUrl, { name: 'test' });
    await prepareDatabase(mongo.database);
  });
  afterEach(() => mongo.client.close());

  const hours = () => mongo.database.collection<Document & { _id: string }>('call_hours');
  const days = () => mongo.database.collection<CallDay>('call_days').find().sort({ _id: 1 }).toArray();

  /** Some calls of an hour as a gateway of an earlier version adds them. */
  async function addHour(index: number, org = 'org_a', model = 'mdl_a'): Promise<void> {
    const hour = new Date(fromMs + index * hourMs);
    const filter = { _id: `${org}:key_a:${model}:${hour.getTime() / hourMs}`, org, hour };
    const added = { calls: 2, records: 5, 'errors.bad_request': 1, [`latency.${index % 3}`]: 2 };
    const set = { key: 'key_a', bucket: 'live', model };
    const update = { $setOnInsert: set, $inc: added, $max: { last_at: new Date(hour.getTime() + 1) } };
    await hours().updateOne(filter, update, { upsert: true });
  }

  it('adds the hours of each key, model and day to what is stored, and leaves none', async () => {
    for (const [index, org] of [[0], [1], [23], [24], [0, 'org_b']] as const) await addHour(index, org);
    const stored = { org: 'org_a', key: 'key_a', bucket: 'live' as const, model: 'mdl_a', day: new Date(fromMs) };
    const noon = new Date(fromMs + 12 * hourMs);
    await new CallDayStore(mongo.database).add([
      { ...stored, calls: 1, records: 1, latency: { 2: 1, 7: 1 }, last_at: noon },
    ]);
    expect(await moveCallHours(mongo, never)).to.equal(5);
    expect(await hours().countDocuments()).to.equal(0);
    const all = { errors: { bad_request: 1 }, key: 'key_a', bucket: 'live', model: 'mdl_a', calls: 2, records: 5 };
    expect(await days()).to.deep.equal([
      {
        ...{ ...all, ...stored, _id: 'org_a:key_a:mdl_a:2026-11-01', calls: 7, records: 16 },
        ...{ errors: { bad_request: 3 }, latency: { 0: 2, 1: 2, 2: 3, 7: 1 } },
        last_at: new Date(fromMs + 23 * hourMs + 1),
      },
      {
        ...{ ...all, ...stored, _id: 'org_a:key_a:mdl_a:2026-11-02', day: new Date(fromMs + dayMs) },
        ...{ latency: { 0: 2 }, last_at: new Date(fromMs + dayMs + 1) },
      },
      {
        ...{ ...all, ...stored, _id: 'org_b:key_a:mdl_a:2026-11-01', org: 'org_b' },
        ...{ latency: { 0: 2 }, last_at: new Date(fromMs + 1) },
      },
    ]);
    expect(await moveCallHours(mongo, never)).to.equal(0);
  });

  it('counts each call once, while gateways add to hours and days, and others move too', async () => {
    const until = 120;
    for (let index = 0; index < until; index += 1) await addHour(index);
    const moves = [0, 1].map(() => moveCallHours(mongo, never));
    for (let index = until - 40; index < until; index += 1) {
      await addHour(index);
      await addHour(0, 'org_b');
    }
    await Promise.all(moves);
    await moveCallHours(mongo, never);
    const { calls, records } = sumOf(await days());
    expect([calls, records]).to.deep.equal([2 * (until + 80), 5 * (until + 80)]);
  });

  it('ends after a step when it is to stop', async () => {
    for (const org of ['org_a', 'org_b']) await addHour(0, org);
    const stopping = new AbortController();
    const moved = moveCallHours(mongo, stopping.signal);
    stopping.abort();
    expect(await moved).to.equal(1);
    expect(await hours().countDocuments()).to.equal(1);
  });
});
