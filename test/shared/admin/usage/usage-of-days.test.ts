import { expect } from 'chai';
import type { Document } from 'mongodb';
import { setModel } from '../../../../shared/admin/models/change-models.js';
import { createOrganisation } from '../../../../shared/admin/organisations/change-organisations.js';
import { showUsageDays } from '../../../../shared/admin/usage/usage-of-days.js';
import { checkBundle } from '../../../../shared/bundle/check-bundle.js';
import { dayMs, dayNumber, dayText, monthOf } from '../../../../shared/contract/dates.js';
import { CallDayStore, dayOf } from '../../../../shared/store/console/call-days.js';
import { createModel } from '../../../../shared/store/models/store-version.js';
import { type AdminDesk, adminDesk } from '../../../support/admin/admin-desk.js';
import { failureOf } from '../../../support/failure-of.js';
import { sampleBundle } from '../../../support/models/sample-bundle.js';

/** Noon of 23 November 2026. */
const startMs = Date.UTC(2026, 10, 23, 12);
/** Roll-ups end two days before. */
const rolledUpDays = 120;

describe('the usage of chosen days', () => {
  let desk: AdminDesk;
  let nowMs = startMs;
  let organisationId: string;

  before(async () => {
    desk = await adminDesk({ clock: { now: () => nowMs } });
  });
  beforeEach(async () => {
    nowMs = startMs - 200 * dayMs;
    organisationId = (await desk.act(createOrganisation, { name: 'Acme', plan: 'pro' })).org_id;
    nowMs = startMs;
  });
  after(() => desk.leave());

  /** Each day has as many records as its number in the month. */
  async function addRollups(): Promise<void> {
    const daily = desk.database.collection<Document & { _id: string }>('usage_daily');
    const first = dayNumber(Date.UTC(2026, 6, 1));
    const days = Array.from({ length: rolledUpDays }, (_, index) => first + index);
    const documents = days
      .filter((day) => day < dayNumber(startMs) - 2)
      .map((day) => {
        const text = dayText(day);
        const month = monthOf(day * dayMs);
        const base = { org: organisationId, bucket: 'live', month, day: text, records: Number(text.slice(8)) };
        return { _id: `${organisationId}:live:${text}`, ...base };
      });
    await daily.insertMany(documents);
  }

  it('spans months, and stands beside the same number of days before', async () => {
    await addRollups();
    const usage = await desk.act(showUsageDays, { org_id: organisationId, from: '2026-09-29', to: '2026-10-02' });
    const [live, test] = usage.buckets;
    expect(usage.before).to.deep.equal({ from: '2026-09-25', to: '2026-09-28' });
    expect(live?.days.map(({ day, records }) => [day, records])).to.deep.equal([
      ['2026-09-29', 29],
      ['2026-09-30', 30],
      ['2026-10-01', 1],
      ['2026-10-02', 2],
    ]);
    expect(live?.days_before.map(({ day, records }) => [day.slice(8), records])).to.deep.equal([
      ['25', 25],
      ['26', 26],
      ['27', 27],
      ['28', 28],
    ]);
    expect([live?.sums.records, live?.sums_before.records, test?.sums.records]).to.deep.equal([62, 106, 0]);
  });

  it('has no open days in an ended month without calls, also when another month has too many to read', async () => {
    const today = dayOf(startMs);
    const of = { org: organisationId, key: 'key_a', bucket: 'live' as const, model: 'mdl_a' };
    await new CallDayStore(desk.database).add([{ ...of, day: today, last_at: today, calls: 20_000, records: 20_000 }]);
    const { buckets } = await desk.act(showUsageDays, { org_id: organisationId, from: '2026-10-31', to: '2026-11-01' });
    expect(buckets[0]?.days.map(({ day, is_open: isOpen }) => [day, isOpen])).to.deep.equal([
      ['2026-10-31', false],
      ['2026-11-01', true],
    ]);
  });

  it('has refused calls of all codes by day, and of the days before', async () => {
    const base = { org: organisationId, key: 'key_a', bucket: 'live' as const, model: '', records: 0 };
    const refused = (backDays: number, errors: Record<string, number>) => {
      const day = dayOf(startMs - backDays * dayMs);
      return { ...base, day, last_at: day, calls: 9, errors };
    };
    await new CallDayStore(desk.database).add([
      refused(0, { rate_limited: 2, bad_request: 5 }),
      refused(1, { rate_limited: 1 }),
      refused(2, { rate_limited: 7 }),
      refused(4, { rate_limited: 100 }),
    ]);
    const usage = await desk.act(showUsageDays, { org_id: organisationId, from: '2026-11-22', to: '2026-11-30' });
    expect([usage.from, usage.to], 'days to come are left out').to.deep.equal(['2026-11-22', '2026-11-23']);
    expect(usage.buckets[0]?.days.map((day) => day.refused)).to.deep.equal([1, 7]);
    expect(usage.buckets[0]?.sums_before.refused).to.equal(7);
  });

  it('names what may have changed the figures, and no other change', async () => {
    const bundle = checkBundle(sampleBundle({ name: 'Expansion' }));
    const { _id: model } = await createModel(desk.database, { organisationId, bundle, now: new Date(nowMs) });
    nowMs = startMs - 40 * dayMs;
    await desk.act(setModel, { org_id: organisationId, model_id: model, live_api: false });
    nowMs = startMs - 3 * dayMs;
    await desk.act(setModel, { org_id: organisationId, model_id: model, live_api: true });
    await desk.act(setModel, { org_id: organisationId, model_id: model, name: 'Growth' });
    nowMs = startMs - 2 * dayMs;
    await desk.act(setModel, { org_id: organisationId, model_id: model, live_api: false });
    nowMs = startMs;
    const { events, has_more_events: hasMore } = await desk.act(showUsageDays, { org_id: organisationId });
    expect(events.map(({ day, text }) => [day, text])).to.deep.equal([
      ['2026-11-20', 'Live API of Growth switched on'],
      ['2026-11-21', 'Live API of Growth switched off'],
    ]);
    expect(hasMore).to.equal(false);
  });

  it('has no days before of a younger organisation', async () => {
    nowMs = startMs - 3 * dayMs;
    const { org_id: young } = await desk.act(createOrganisation, { name: 'Young', plan: 'pro' });
    nowMs = startMs;
    const usage = await desk.act(showUsageDays, { org_id: young, from: '2026-11-18', to: '2026-11-23' });
    expect([usage.before, usage.buckets[0]?.days.length, usage.buckets[0]?.days_before]).to.deep.equal([null, 6, []]);
  });

  it('refuses days of another calendar, in a wrong order, too many, or to come', async () => {
    for (const [from, to, member] of [
      ['2026-02-30', '2026-03-01', 'from'],
      ['2026-11-02', '2026-11-01', 'to'],
      ['2026-08-01', '2026-11-01', 'to'],
      ['2026-12-01', '2026-12-02', 'from'],
    ] as const) {
      const failure = await failureOf(desk.act(showUsageDays, { org_id: organisationId, from, to }));
      expect(failure.message, from).to.include(member);
    }
    const widest = { org_id: organisationId, from: '2026-08-02', to: '2026-11-01' };
    expect((await desk.act(showUsageDays, widest)).buckets[0]?.days).to.have.length(92);
  });
});
