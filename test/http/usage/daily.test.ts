import { expect } from 'chai';
import { callIdGenerator } from '../../../shared/contract/identifiers.js';
import { UsageRollups } from '../../../shared/store/calls/usage-rollups.js';
import { refused, scored } from '../../support/http/score-reply.js';
import type { RunningService } from '../../support/service/service.js';
import { onOwnWorkspace, type TestWorkspace } from '../../support/service/workspace.js';
import type { UsableKey } from '../../support/service/workspace-parts.js';
import { read } from '../scores/history.js';

interface DailyUsage {
  readonly month: string;
  readonly records: number;
  readonly days: readonly { readonly day: string; readonly records: number; readonly is_open: boolean }[];
}

const newCallId = callIdGenerator();
const lead = { company_size: 120, lead_source: 'Referral' };
const month = '2026-03';

describe('GET /v1/usage/daily', () => {
  let service: RunningService;
  let own: TestWorkspace;

  onOwnWorkspace((fresh, running) => {
    [own, service] = [fresh, running];
  });

  const daily = async (query = '', key: UsableKey = own.live): Promise<DailyUsage> =>
    read<DailyUsage>(await own.call(`/v1/usage/daily${query}`, { key }));
  const used = ({ days }: DailyUsage) => days.filter(({ records }) => records > 0);

  it('returns the days of this month up to today, of the bucket of the key alone', async () => {
    const sizes = [2, 3];
    for (const size of sizes) scored(await own.score(Array.from({ length: size }, () => lead)));
    scored(await own.score([lead], { key: own.test }));
    const [live, test] = [await daily(), await daily('', await own.addKey('test', { scopes: ['erase'] }))];
    const today = new Date(service.clock.now()).toISOString().slice(0, 10);
    expect(live.month).to.equal(today.slice(0, 7));
    expect(live.days.map(({ day }) => Number(day.slice(8)))).to.deep.equal(live.days.map((_, index) => index + 1));
    expect(live.days.at(-1)).to.deep.equal({ day: today, records: 5, is_open: true });
    expect([live.records, test.records]).to.deep.equal([5, 1]);
    expect(live.records).to.equal(await own.ledgerSum());
    expect(read(await own.call('/v1/usage'))).to.include({ current: live.records });
  });

  it('equals the ledger on each day, before and after the days are rolled up', async () => {
    const of = { org: own.id, key: own.live.key._id, month, model: own.model._id, version: '1' };
    const calls = [
      ['2026-03-01T00:00:00Z', 'live', 7],
      ['2026-03-02T23:59:59.999Z', 'live', 40],
      ['2026-03-02T12:00:00Z', 'live', 2],
      ['2026-03-02T12:00:00Z', 'test', 500],
      ['2026-03-31T23:59:59.999Z', 'live', 9],
      // It waited for the beginning of its month.
      ['2026-02-28T23:59:59.999Z', 'live', 1],
    ] as const;
    await service.stores.ledgerRows.insertMany(
      calls.map(([at, bucket, records]) => {
        const id = newCallId(Date.parse(at), own.id);
        return { _id: id, request_id: id, ...of, bucket, records, at: new Date(at) };
      }),
    );
    const expected = [
      ...[8, 42].map((records, index) => ({ day: `${month}-0${index + 1}`, records })),
      { day: `${month}-31`, records: 9 },
    ];
    const open = await daily(`?month=${month}`);
    expect(open.days).to.have.length(31);
    expect(used(open)).to.deep.equal(expected.map((day) => ({ ...day, is_open: true })));
    const counter = { organisationId: own.id, bucket: 'live', month } as const;
    expect(open.records).to.equal(await service.stores.ledger.sum(counter));
    await new UsageRollups(service.stores.database).advance(counter, service.clock.now());
    const closed = await daily(`?month=${month}`);
    expect(used(closed)).to.deep.equal(expected.map((day) => ({ ...day, is_open: false })));
    expect((await daily(`?month=${month}`, own.test)).records).to.equal(500);
  });

  it('closes the days of a past month without calls, and has none of a month that has not begun', async () => {
    const { days, records } = await daily('?month=2026-02');
    expect(days).to.have.length(28);
    expect(records).to.equal(0);
    expect(days.filter(({ is_open }) => is_open)).to.deep.equal([]);
    expect(await daily('?month=2099-01')).to.deep.equal({ month: '2099-01', records: 0, days: [] });
  });

  it('returns 422 for a text that is no month, and for two months', async () => {
    for (const query of ['month=2026-13', 'month=2026-1', 'month=now', 'month=', 'month=2026-01&month=2026-02'])
      refused(await own.call(`/v1/usage/daily?${query}`), '422 bad_request');
  });
});
