import { expect } from 'chai';
import { dayMs, dayNumber } from '../../../shared/contract/dates.js';
import { type CallDay, CallDayStore, refusedOf, sumOf } from '../../../shared/store/console/call-days.js';
import { type AdminDesk, adminDesk } from '../../support/admin/admin-desk.js';

const range = {
  organisationId: 'org_a',
  from: new Date(Date.UTC(2026, 10, 1)),
  before: new Date(Date.UTC(2026, 11, 1)),
};

describe('the sums of calls by day', () => {
  let desk: AdminDesk;
  let store: CallDayStore;
  let shown: readonly Omit<CallDay, '_id'>[];

  before(async () => {
    desk = await adminDesk();
    store = new CallDayStore(desk.database);
    // The first and the last one lie outside of the month.
    const stored = [-1, 0, 1, 29, 30].flatMap((index) =>
      (['live', 'test'] as const).flatMap((bucket) => ['mdl_a', 'mdl_b', ''].map((model) => of(index, bucket, model))),
    );
    await store.add(stored);
    // Another gateway adds to the same days.
    await store.add(stored);
    await store.add(stored.map((each) => ({ ...each, org: 'org_b' })));
    const inMonth = stored.filter(({ day }) => day >= range.from && day < range.before);
    shown = [...inMonth, ...inMonth];
  });
  after(() => desk.leave());

  function of(index: number, bucket: 'live' | 'test', model: string): Omit<CallDay, '_id'> {
    const day = new Date(range.from.getTime() + index * dayMs);
    const calls = 5 + index + model.length + bucket.length;
    const errors = { rate_limited: calls - 1, bad_request: 1 };
    return {
      ...{ org: 'org_a', key: `key_${bucket}`, bucket, model, day, calls, last_at: day },
      ...(model === '' ? { records: 0, errors } : { records: 10 * calls }),
      latency: { [(index + 1) % 39]: calls - 1, 39: 1 },
    };
  }

  const numberOf = ({ day }: Pick<CallDay, 'day'>) => dayNumber(day.getTime());
  const days = () => [...new Set(shown.map(numberOf))];
  const scoredOf = (some: typeof shown) => sumOf(some.filter(({ model }) => model !== '')).calls;

  it('take the calls of gateways that begin the same days at once', async () => {
    const begun = Array.from({ length: 100 }, (_, index) => ({ ...of(1, 'live', `mdl_${index}`), org: 'org_c' }));
    const refused = await Promise.all(Array.from({ length: 4 }, () => store.add(begun)));
    expect(refused).to.deep.equal([[], [], [], []]);
    const stored = await store.byDay({ ...range, organisationId: 'org_c' });
    expect(stored.map(({ calls }) => calls)).to.deep.equal([4 * sumOf(begun).calls]);
  });

  it('have the calls, refused and scored calls, and records of each day and bucket', async () => {
    const wanted = days().flatMap((day) =>
      (['live', 'test'] as const).map((bucket) => {
        const own = shown.filter((each) => numberOf(each) === day && each.bucket === bucket);
        const { calls, records, errors } = sumOf(own);
        return { bucket, day, calls, records, refused: refusedOf(errors), scored: scoredOf(own) };
      }),
    );
    expect(wanted).to.have.length(6);
    expect(await store.byDay(range)).to.have.deep.members(wanted);
  });

  it('have the errors and latencies of each day, in the order of the days', async () => {
    const wanted = days().map((day) => {
      const own = shown.filter((each) => numberOf(each) === day && each.bucket === 'live');
      const sum = sumOf(own);
      return { bucket: 'live', day, ...sum, refused: refusedOf(sum.errors), scored: scoredOf(own) };
    });
    expect(wanted[0]?.refused).to.be.above(0);
    expect(wanted[0]?.errors).to.have.keys('rate_limited', 'bad_request');
    expect(await store.countsByDay(range, 'live')).to.deep.equal(wanted);
  });

  it('have the live records of each model or of one, and the calls of each key', async () => {
    const live = shown.filter(({ bucket }) => bucket === 'live');
    const recordsOf = (model: string) => sumOf(live.filter((each) => each.model === model)).records;
    const byModel = await store.recordsByModel(range);
    expect([...byModel]).to.have.deep.members(['mdl_a', 'mdl_b', ''].map((model) => [model, recordsOf(model)]));
    expect([...(await store.recordsByModel(range, 'mdl_b'))]).to.deep.equal([['mdl_b', recordsOf('mdl_b')]]);
    const byKey = await store.callsByKey(range);
    expect([...byKey.keys()]).to.have.members(['key_live', 'key_test']);
    expect(byKey.get('key_live')).to.equal(sumOf(live).calls);
  });
});
