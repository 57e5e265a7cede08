import { expect } from 'chai';
import { monthEndMs } from '../../../shared/contract/dates.js';
import { refused, scored } from '../../support/http/score-reply.js';
import { type RunningService, runningService, startTimeoutMs } from '../../support/service/service.js';
import { workspace } from '../../support/service/workspace.js';

const leads = (count: number) => Array.from({ length: count }, () => ({ company_size: 120 }));

describe('monthly quota', () => {
  let service: RunningService;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService();
  });

  it('counts records instead of calls, and includes the call itself in usage.current', async () => {
    const own = await workspace(service);
    const currents: number[] = [];
    for (const records of [leads(3), [{ company_size: 1, crm_id: 'L-1' }], [{ crm_id: 'L-1' }], leads(10)])
      currents.push(scored(await own.score(records)).usage.current);
    expect(currents).to.deep.equal([3, 4, 5, 15]);
    expect((await own.ledgerRows()).map((row) => row.records)).to.deep.equal([3, 1, 1, 10]);
  });

  it('returns 200 up to the backstop exactly, with in_grace above the limit, and 429 beyond', async () => {
    const own = await workspace(service, { limit: 10 });
    const usageAfter = async (records: number) => scored(await own.score(leads(records))).usage;
    const fixed = { limit: 10, backstop: 20 };
    expect(await usageAfter(10), 'at the limit').to.deep.equal({
      ...fixed,
      current: 10,
      remaining: 0,
      in_grace: false,
    });
    expect(await usageAfter(1), 'one past it').to.deep.equal({
      ...fixed,
      current: 11,
      remaining: -1,
      in_grace: true,
    });
    expect(await usageAfter(9), 'at the backstop').to.deep.equal({
      ...fixed,
      current: 20,
      remaining: -10,
      in_grace: true,
    });
    refused(await own.score(leads(1)), '429 quota_exceeded');
    expect(await own.ledgerSum()).to.equal(20);
    expect(await own.redisUsage()).to.deep.equal({ used: 20, leased: 0 });
  });

  it('returns 429 with Retry-After until the month’s end for a batch past the backstop, and counts none of it', async () => {
    const own = await workspace(service, { limit: 10 });
    scored(await own.score(leads(15)));
    const reply = await own.score([...leads(5), { company_size: 1, crm_id: 'L-6' }]);
    const { message } = refused(reply, '429 quota_exceeded').error;
    expect(message).to.include('6 more records').and.include('backstop of 20').and.include('15 are used');
    const nowMs = service.clock.now();
    const secondsToMonthEnd = (monthEndMs(nowMs) - nowMs) / 1000;
    expect(Number(reply.headers.get('retry-after'))).to.be.closeTo(secondsToMonthEnd, 5);
    expect(await own.ledgerSum()).to.equal(15);
    expect(await own.redisUsage()).to.deep.equal({ used: 15, leased: 0 });
    expect(await own.predictions()).to.have.length(15);
    expect(scored(await own.score(leads(5))).usage.current, 'a smaller batch still fits').to.equal(20);
  });

  it('returns 429 to a test key beyond exactly 1000 records', async () => {
    const own = await workspace(service);
    const options = { key: own.test };
    expect(scored(await own.score(leads(999), options)).usage).to.deep.equal({
      current: 999,
      limit: 1_000,
      remaining: 1,
      in_grace: false,
      backstop: null,
    });
    const { message } = refused(await own.score(leads(2), options), '429 quota_exceeded').error;
    expect(message).to.include('cap of test keys of 1000');
    expect(scored(await own.score(leads(1), options)).usage).to.include({ current: 1_000, remaining: 0 });
    refused(await own.score(leads(1), options), '429 quota_exceeded');
    expect(await own.ledgerSum('test')).to.equal(1_000);
  });

  it('counts live keys and test keys in two buckets that all keys of a kind share', async () => {
    const own = await workspace(service, { limit: 5 });
    scored(await own.score(leads(10)));
    refused(await own.score(leads(1)), '429 quota_exceeded');
    refused(await own.score(leads(1), { key: await own.addKey('live') }), '429 quota_exceeded');
    expect(scored(await own.score(leads(7), { key: own.test })).usage.current).to.equal(7);
    expect(scored(await own.score(leads(1), { key: await own.addKey('test') })).usage.current).to.equal(8);
    expect([await own.ledgerSum('live'), await own.ledgerSum('test')]).to.deep.equal([10, 8]);
  });

  it('rebuilds counters that Redis lost from the ledger, in both buckets', async () => {
    const own = await workspace(service, { limit: 10 });
    scored(await own.score(leads(12)));
    scored(await own.score(leads(30), { key: own.test }));
    const found = await Promise.all(service.redisNodes.map((node) => node.keys(`{${own.id}}:*`)));
    const keys = found.flat();
    expect(keys).to.not.deep.equal([]);
    await service.redis.del(keys);
    expect(scored(await own.score(leads(1))).usage).to.include({ current: 13, in_grace: true });
    refused(await own.score(leads(8)), '429 quota_exceeded');
    expect(scored(await own.score(leads(1), { key: own.test })).usage.current).to.equal(31);
  });

  it('counts from zero on a gateway whose clock is in the next month', async () => {
    const own = await workspace(service, { limit: 1 });
    scored(await own.score(leads(2)));
    refused(await own.score(leads(1)), '429 quota_exceeded');
    const nowMs = service.clock.now();
    const offsetMs = monthEndMs(nowMs) + 1_000 - Date.now();
    const gateway = await service.startGateway({ CLOCK_OFFSET_MS: String(Math.ceil(offsetMs)) });
    try {
      const { usage } = scored(await own.score(leads(1), { url: gateway.url }));
      expect(usage).to.deep.equal({ current: 1, limit: 1, remaining: 0, in_grace: false, backstop: 2 });
      const rows = await own.ledgerRows();
      expect(rows.map((row) => row.month)).to.deep.equal([
        new Date(nowMs).toISOString().slice(0, 7),
        new Date(monthEndMs(nowMs)).toISOString().slice(0, 7),
      ]);
    } finally {
      await gateway.stop();
    }
    refused(await own.score(leads(1)), '429 quota_exceeded');
  });
});
