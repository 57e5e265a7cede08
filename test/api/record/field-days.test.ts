import { expect } from 'chai';
import type { ScoringCall } from '../../../api/call/scoring-call.js';
import { FieldDays, type FieldDaysOptions } from '../../../api/record/field-days.js';
import { dayMs } from '../../../shared/contract/dates.js';
import { type FieldReadings, readingKinds } from '../../../shared/messages/score-job.js';
import { connectMongo, type Mongo } from '../../../shared/store/connection/connect.js';
import { prepareDatabase } from '../../../shared/store/connection/prepare-database.js';
import { type FieldDay, FieldDayStore } from '../../../shared/store/models/field-days.js';
import { emptyModel, keyOf, scoredPart, scoredRows, scoringCall } from '../../support/scoring/scoring-call.js';
import { freshDatabases } from '../../support/service/servers.js';

const [missing, unread, unseen, filled, ambiguous] = readingKinds.map((_, index) => index) as [
  ...[number, number, number, number],
  number,
];
const noon = Date.UTC(2026, 10, 25, 12);

/** A recorded call of a model in parts of one record each. @param call members that differ from a live call at noon */
function callOf(model: string, readings: readonly Partial<FieldReadings>[], call: Partial<ScoringCall> = {}) {
  const parts = readings.map((each) => scoredPart([50], { readings: { counts: [], values: [], ...each } }));
  const records = parts.map(() => ({ crmId: null, fields: {} }));
  return {
    call: scoringCall({ apiKey: keyOf('org_fields'), records, atMs: noon, ...call }),
    model: { ...emptyModel, id: model, version: '1.0' },
    rows: scoredRows(parts),
  };
}

/** The readings of a record whose slot 0 has an unseen value. */
const unseenValue = (value: string, records = 1): Partial<FieldReadings> => ({
  counts: [0, unseen, records],
  values: [[0, unseen, value, records]],
});

describe('the sums of how fields were read', () => {
  let mongo: Mongo;
  let store: FieldDayStore;
  const warnings: string[] = [];
  const logger = { warn: (_details: unknown, message?: string) => void warnings.push(String(message)) };

  before(async () => {
    mongo = await connectMongo((await freshDatabases()).mongoUrl, { name: 'test' });
    await prepareDatabase(mongo.database);
    store = new FieldDayStore(mongo.database);
  });
  after(() => mongo.client.close());

  /** The sums of a process that writes only when it is asked to. */
  const process = (options: Partial<FieldDaysOptions> = {}) =>
    new FieldDays({ store, writeEveryMs: 1e8, retentionDays: 760, logger, ...options });

  const stored = (model: string): Promise<FieldDay[]> =>
    mongo.database.collection<FieldDay>('field_days').find({ model }).sort({ day: 1 }).toArray();

  it('add up over several processes, whatever characters the values have', async () => {
    const processes = [process(), process()];
    const odd = ['a.b', '$value', '$$ROOT', '__proto__', '', '“é”\u0000'];
    for (const [index, each] of processes.entries()) {
      each.add(
        callOf('mdl_two', [{ counts: [0, missing, 1, 0, unread, 2, 7, filled, 3, 7, ambiguous, 1, 8, ambiguous, 1] }]),
      );
      each.add(
        callOf(
          'mdl_two',
          odd.map((value) => unseenValue(value, index + 1)),
        ),
      );
    }
    await Promise.all(processes.map((each) => each.stop()));
    const [day, ...others] = await stored('mdl_two');
    expect(others).to.deep.equal([]);
    const { values, ...counts } = day?.fields?.[0] ?? {};
    expect(counts).to.deep.equal({ missing: 2, unread: 4, unseen: 18 });
    expect(day?.fields?.[7]).to.deep.equal({ filled: 6 });
    expect(day?.fields).to.have.all.keys('0', '7');
    expect(values).to.have.deep.members(odd.map((value) => ({ value, records: 3 })));
    const { _id, org, version, records, day: text } = day ?? {};
    expect({ _id, org, version, records, day: text }).to.deep.equal({
      _id: 'org_fields:mdl_two:1.0:2026-11-25',
      ...{ org: 'org_fields', version: '1.0', records: 14, day: '2026-11-25' },
    });
  });

  it('keep the 20 commonest of 25 values of a field, from one process or several', async () => {
    const valueAt = (index: number) => `value ${String(index).padStart(2, '0')}`;
    const add = async (indexes: readonly number[]) => {
      const each = process();
      for (const index of indexes) each.add(callOf('mdl_many', [unseenValue(valueAt(index), index + 1)]));
      await each.stop();
      const [day] = await stored('mdl_many');
      return day?.fields?.[0];
    };
    const all = Array.from({ length: 25 }, (_, index) => index);
    expect((await add(all))?.values).to.have.length(20);
    const { values = [], unseen: count } = (await add(all.slice(20))) ?? {};
    expect(count).to.equal((25 * 26) / 2 + 21 + 22 + 23 + 24 + 25);
    expect(values.map(({ value }) => value)).to.deep.equal(all.slice(5).reverse().map(valueAt));
  });

  it('have a document for each UTC day, which is removed after 90 days, or after the retention if that is less', async () => {
    for (const [model, retentionDays] of [
      ['mdl_long', 760],
      ['mdl_short', 30],
    ] as const) {
      const each = process({ retentionDays });
      const midnight = Date.UTC(2026, 10, 26);
      each.add(callOf(model, [{}], { atMs: midnight - 1 }));
      each.add(callOf(model, [{}, {}], { atMs: midnight }));
      await each.stop();
      const days = await stored(model);
      expect(days.map(({ day, records }) => [day, records])).to.deep.equal([
        ['2026-11-25', 1],
        ['2026-11-26', 2],
      ]);
      const kept = days.map(({ day, expires_at: at }) => (at.getTime() - Date.parse(day)) / dayMs);
      expect(kept).to.deep.equal([Math.min(90, retentionDays), Math.min(90, retentionDays)]);
    }
    const indexes = await mongo.database.collection('field_days').indexes();
    expect(indexes.find(({ key }) => key.expires_at === 1)?.expireAfterSeconds).to.equal(0);
  });

  it('leave out calls of test keys', async () => {
    const each = process();
    each.add(callOf('mdl_test', [unseenValue('x')], { bucket: 'test' }));
    await each.stop();
    expect(await stored('mdl_test')).to.deep.equal([]);
  });

  it('keep sums that were not stored, and add them to later ones', async () => {
    let isAway = true;
    const add: FieldDayStore['add'] = async (sums, days) => {
      if (!isAway) return await store.add(sums, days);
      // Another call is recorded while the sums are written.
      each.add(callOf('mdl_away', [unseenValue('second')]));
      throw new Error('MongoDB is away');
    };
    const each = process({ store: { add } });
    each.add(callOf('mdl_away', [unseenValue('first')]));
    await each.write();
    expect(warnings.join()).to.include('not stored');
    isAway = false;
    await each.stop();
    const [day] = await stored('mdl_away');
    expect([day?.records, day?.fields?.[0]?.unseen]).to.deep.equal([2, 2]);
    expect(day?.fields?.[0]?.values).to.have.deep.members([
      { value: 'first', records: 1 },
      { value: 'second', records: 1 },
    ]);
  });

  it('are stored but for one that MongoDB refuses, which is kept', async () => {
    await mongo.database.collection<{ _id: string }>('field_days').insertOne({
      _id: 'org_fields:mdl_refused:1.0:2026-11-25',
      records: 'no number',
    } as never);
    const each = process();
    for (const model of ['mdl_refused', 'mdl_beside']) each.add(callOf(model, [unseenValue('x')]));
    await each.write();
    await mongo.database.collection<{ _id: string }>('field_days').deleteOne({
      _id: 'org_fields:mdl_refused:1.0:2026-11-25',
    });
    await each.stop();
    for (const model of ['mdl_refused', 'mdl_beside']) {
      const [day] = await stored(model);
      expect([day?.records, day?.fields?.[0]?.unseen], model).to.deep.equal([1, 1]);
    }
  });

  it('are written in groups, and no other group is tried after one that MongoDB did not take', async () => {
    const groups: number[] = [];
    let isAway = true;
    const add: FieldDayStore['add'] = async (sums) => {
      groups.push(sums.length);
      if (isAway) throw new Error('MongoDB is away');
      return [];
    };
    const each = process({ store: { add } });
    for (let model = 0; model < 25; model += 1) each.add(callOf(`mdl_group_${model}`, [{}]));
    await each.write();
    expect(groups).to.deep.equal([10]);
    isAway = false;
    await each.stop();
    expect(groups).to.deep.equal([10, 10, 10, 5]);
  });

  it('are written before the next minute when they are many, and are bounded while MongoDB takes none', async () => {
    const slots = Array.from({ length: 10_000 }, (_, slot) => slot);
    const wide = { counts: slots.flatMap((slot) => [slot, missing, 1]) };
    let held = 0;
    const writes: number[] = [];
    const add: FieldDayStore['add'] = async (sums) => {
      writes.push(sums.length);
      held = sums.reduce((sum, { counts }) => sum + counts.size, 0);
      throw new Error('MongoDB is away');
    };
    const each = process({ store: { add } });
    for (let model = 0; model < 50; model += 1) {
      each.add(callOf(`mdl_wide_${model}`, [wide]));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(writes).to.deep.equal([5]);
    warnings.length = 0;
    await each.write();
    expect(held).to.be.at.most(110_000);
    expect(warnings.join()).to.include('lacks records');
    await each.stop();
  });
});
