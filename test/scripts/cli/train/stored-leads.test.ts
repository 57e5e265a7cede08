import { expect } from 'chai';
import {
  readStoredLeads,
  type StoredLead,
  type StoredLeadsQuery,
  type StoredLeadsRead,
} from '../../../../scripts/cli/train/stored/stored-leads.js';
import { inSnapshot } from '../../../../worker/grading/cohort/snapshot.js';
import { failureOf } from '../../../support/failure-of.js';
import { gradingDatabase } from '../../../worker/grading/grade-at.js';
import { StoredWorld } from './stored-world.js';

/** The newest outcome arrives then. With 90 days of horizon, first scores from 2025-07-03 to 2026-07-03 count. */
const reported = '2026-10-01T00:00:00Z';

describe('readStoredLeads', () => {
  const mongo = gradingDatabase();

  const world = () => StoredWorld.create(mongo.database);

  async function read(
    { ids }: StoredWorld,
    query: Partial<StoredLeadsQuery> = {},
  ): Promise<StoredLeadsRead & { readonly leads: readonly StoredLead[] }> {
    const leads: StoredLead[] = [];
    const take = async (some: readonly StoredLead[]) => {
      leads.push(...some);
    };
    const { signal } = new AbortController();
    const full = { ...ids, skipped: [], ...query };
    const found = await inSnapshot(mongo.database, (session) =>
      readStoredLeads({ database: mongo.database, session }, full, { take, signal }),
    );
    return { ...found, leads };
  }

  it('gives a lead once, with the cells, the time and the score of its first call, and without its id', async () => {
    const own = await world();
    await own.call('2026-05-01T08:00:00Z', [{ crmId: 'won', cells: [10, true, 'Webinar'], score: 40 }]);
    await own.call('2026-05-20', [{ crmId: 'won', cells: [9_999, false, 'Referral'], score: 90 }]);
    await own.outcome('won', { converted: true, at: '2026-06-01T20:00:00Z' }, reported);
    const { leads, counts, fields } = await read(own);
    expect(fields.columns).to.deep.equal(['company_size', 'demo_requested', 'lead_source']);
    expect(leads).to.deep.equal([
      {
        at: new Date('2026-05-01T08:00:00Z'),
        converted: true,
        days: 31.5,
        score: 40,
        likelihood: 0.4,
        version: '2.0.0',
        cells: [10, true, 'Webinar'],
      },
    ]);
    expect(counts).to.deep.include({ leads: 1, conversions: 1 });
  });

  it('counts a conversion within the horizon alone, and leaves out leads that had converted or have no outcome', async () => {
    const own = await world();
    const names = ['soon', 'late', 'lost', 'before', 'unnamed'];
    await own.call('2026-05-01', [...names.map((crmId) => ({ crmId })), { crmId: null }]);
    await own.outcome('soon', { converted: true, at: '2026-07-29' }, reported);
    await own.outcome('late', { converted: true, at: '2026-08-01' }, reported);
    await own.outcome('lost', { converted: false, at: '2026-06-01' }, reported);
    await own.outcome('before', { converted: true, at: '2026-04-30' }, reported);
    const { leads, counts } = await read(own);
    expect(leads.map(({ converted, days }) => [converted, days])).to.deep.equal([
      [true, 89],
      [false, null],
      [false, null],
    ]);
    expect(counts).to.deep.include({ leads: 3, conversions: 1 });
    expect(counts.leftOut).to.deep.include({ unnamed: 1, convertedBefore: 1 });
  });

  it('leaves out leads whose first score is before the window, or whose horizon is not over', async () => {
    const own = await world();
    await own.call('2025-07-02T23:00:00Z', [{ crmId: 'old' }]);
    await own.call('2025-07-03T00:00:00Z', [{ crmId: 'first day' }, { crmId: 'old' }]);
    await own.call('2026-07-03T00:00:00Z', [{ crmId: 'last day' }]);
    await own.call('2026-07-03T00:00:01Z', [{ crmId: 'young' }, { crmId: 'first day' }]);
    for (const crmId of ['old', 'first day', 'last day', 'young'])
      await own.outcome(crmId, { converted: false, at: '2026-09-01' }, reported);
    const { leads, counts } = await read(own);
    expect(leads.map(({ at }) => at.toISOString())).to.deep.equal([
      '2025-07-03T00:00:00.000Z',
      '2026-07-03T00:00:00.000Z',
    ]);
    expect(counts.leftOut).to.deep.include({ tooOld: 1, tooYoung: 1 });
    const narrow = await read(own, { since: new Date('2025-08-01'), until: new Date('2026-09-30') });
    expect(narrow.leads).to.deep.equal([]);
    expect(narrow.counts.leftOut).to.deep.include({ tooOld: 2, tooYoung: 2 });
  });

  it('gives no lead that is erased, or of a call that is voided or scored stored leads again', async () => {
    const own = await world();
    await own.call('2026-05-01', [
      { crmId: 'erased', cells: [1] },
      { crmId: 'kept', cells: [2] },
    ]);
    await own.void(await own.call('2026-05-02', [{ crmId: 'voided', cells: [3] }]));
    await own.call('2026-05-03', [{ crmId: 'again', cells: [4] }], '2.0.0', 'stored');
    for (const crmId of ['erased', 'kept', 'voided', 'again'])
      await own.outcome(crmId, { converted: false, at: '2026-06-01' }, reported);
    await own.erase('erased');
    const { leads } = await read(own);
    expect(leads.map(({ cells }) => cells[0])).to.deep.equal([2]);
  });

  it('leaves out rows of versions that lack a field, until the field is skipped', async () => {
    const own = await world();
    await own.call('2026-05-01', [{ crmId: 'a', cells: [true, 7] }], '1.0.0');
    await own.call('2026-05-02', [{ crmId: 'b', cells: [8, false, 'Referral'] }]);
    for (const crmId of ['a', 'b']) await own.outcome(crmId, { converted: false, at: '2026-06-01' }, reported);
    const { leads, counts } = await read(own);
    expect(leads.map(({ cells }) => cells)).to.deep.equal([[8, false, 'Referral']]);
    expect(counts.leftOut.lacking).to.deep.equal([{ version: '1.0.0', fields: ['lead_source'], leads: 1 }]);

    const skipping = await read(own, { skipped: ['lead_source'] });
    expect(skipping.fields.columns).to.deep.equal(['company_size', 'demo_requested']);
    expect(skipping.leads.map(({ cells }) => cells)).to.deep.equal([
      [7, true],
      [8, false],
    ]);
    expect(skipping.counts.leftOut.lacking).to.deep.equal([]);
  });

  it('gives values that no feature can read as null, and lists as they were sent', async () => {
    const own = await world();
    await own.call('2026-05-01', [
      { crmId: 'a', cells: [{}, [], ['Webinar', 'Referral']] },
      { crmId: 'b', cells: [{ overflow: true }, null, [[]]] },
    ]);
    for (const crmId of ['a', 'b']) await own.outcome(crmId, { converted: false, at: '2026-06-01' }, reported);
    const { leads } = await read(own);
    expect(leads.map(({ cells }) => cells)).to.deep.equal([
      [null, null, ['Webinar', 'Referral']],
      [null, null, null],
    ]);
  });

  it('refuses an organisation without outcomes, and an unknown field', async () => {
    const own = await world();
    await own.call('2026-05-01', [{ crmId: 'a' }]);
    expect(await failureOf(read(own))).to.include({ code: 'no_outcomes' });
    const unknown = await failureOf(read(own, { skipped: ['size'] }));
    expect(unknown).to.include({ code: 'unknown_column' });
    expect(String(unknown)).to.include('company_size, demo_requested, lead_source');
    expect(await failureOf(read(own, { skipped: ['company_size', 'demo_requested', 'lead_source'] }))).to.include({
      code: 'no_fields',
    });
  });

  it('reads many calls page by page, each lead once', async () => {
    const own = await world();
    for (let day = 1; day <= 28; day += 1) {
      const rows = Array.from({ length: 120 }, (_, row) => ({ crmId: `lead ${(day * 37 + row) % 900}` }));
      await own.call(`2026-05-${String(day).padStart(2, '0')}`, rows);
    }
    for (let lead = 0; lead < 900; lead += 1)
      await own.outcome(`lead ${lead}`, { converted: lead % 9 === 0, at: '2026-06-01' }, reported);
    const { leads, counts } = await read(own);
    expect([leads.length, counts.leads, counts.conversions]).to.deep.equal([900, 900, 100]);
    expect(leads.map(({ at }) => at.getTime())).to.deep.equal(leads.map(({ at }) => at.getTime()).sort());
  });
});
