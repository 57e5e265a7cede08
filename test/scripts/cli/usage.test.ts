import { expect } from 'chai';
import { dayMs } from '../../../shared/contract/dates.js';
import { callIdPrefix } from '../../../shared/contract/identifiers.js';
import { addRefusedCalls } from '../../../shared/messages/refused-calls.js';
import { leaseLengthKey, usageKey } from '../../../shared/redis/keys.js';
import { claimLease } from '../../../shared/redis/owner.js';
import { callCli } from './cli-call.js';
import { type OperatorDesk, operatorDesk } from './operator-desk.js';

describe('leadscore usage', () => {
  let desk: OperatorDesk;

  before(async () => {
    desk = await operatorDesk();
  });

  after(() => desk.leave());

  const month = '2026-03';

  const ledgerRow = (organisation: string, id: string, records: number) => ({
    _id: id,
    request_id: id,
    org: organisation,
    key: 'key_1',
    bucket: 'live' as const,
    month,
    records,
    model: 'mdl_1',
    version: '1',
    at: new Date('2026-03-02T00:00:00Z'),
  });

  it('usage refused lists calls that were refused with the name of their key, latest first', async () => {
    const organisation = await desk.newOrganisation();
    const none = await desk.run('usage', 'refused', organisation);
    expect(none.stdout).to.equal('No calls of its keys were refused in the last seven days.\n');
    const { key_id: key } = await desk.document('key', 'create', organisation, '--name', 'HubSpot');
    const call = { keyId: String(key), code: 'bad_request', route: 'POST /v1/score' };
    const [earlierMs, laterMs] = [2, 1].map((days) => Date.now() - days * dayMs) as [number, number];
    await addRefusedCalls(desk.redis, organisation, [
      { ...call, atMs: earlierMs, status: 400, requestId: 'r1' },
      { ...call, atMs: laterMs, status: 422, requestId: 'r2', keyId: 'key_gone' },
    ]);
    const { stdout } = await desk.run('usage', 'refused', organisation);
    const lines = stdout.split('\n').map((line) => line.replaceAll(/\s+/g, ' ').trim());
    const secondsOf = (atMs: number) => new Date(atMs).toISOString().slice(0, 19).replace('T', ' ');
    expect(lines.filter((line) => line.startsWith('20'))).to.deep.equal([
      `${secondsOf(laterMs)} key_gone 422 bad_request POST /v1/score r2`,
      `${secondsOf(earlierMs)} HubSpot 400 bad_request POST /v1/score r1`,
    ]);
    const { calls } = await desk.document('usage', 'refused', organisation);
    expect((calls as { remedy: string }[])[1]?.remedy)
      .to.be.a('string')
      .and.not.equal('');
  });

  it('usage show returns the counter of Redis if there is one, and always the sum of the ledger', async () => {
    const organisation = await desk.newOrganisation();
    const { stores } = desk;
    await stores.ledgerRows.insertMany([
      ledgerRow(organisation, `${callIdPrefix(organisation)}1`, 600),
      ledgerRow(organisation, `${callIdPrefix(organisation)}2`, 400),
    ]);
    const before = await desk.document('usage', 'show', organisation, '--month', month);
    expect(before.buckets).to.deep.equal([
      {
        bucket: 'live',
        current: 1_000,
        limit: 10_000,
        remaining: 9_000,
        in_grace: false,
        backstop: 20_000,
        leased: 0,
        ledger: 1_000,
        source: 'ledger',
      },
      {
        bucket: 'test',
        current: 0,
        limit: 1_000,
        remaining: 1_000,
        in_grace: false,
        backstop: null,
        leased: 0,
        ledger: 0,
        source: 'ledger',
      },
    ]);
    await desk.redis.hset(usageKey({ organisationId: organisation, bucket: 'live', month }), {
      used: 12_000,
      leased: 5,
    });
    const after = await desk.document('usage', 'show', organisation, '--month', month);
    expect(after.buckets).to.deep.include({
      bucket: 'live',
      current: 12_000,
      limit: 10_000,
      remaining: -2_000,
      in_grace: true,
      backstop: 20_000,
      leased: 5,
      ledger: 1_000,
      source: 'redis',
    });
    expect((await desk.run('usage', 'show', organisation, '--month', month)).stdout).to.match(
      /live .* -2,000 +█{12} grace/,
    );
    await desk.redis.hset(usageKey({ organisationId: organisation, bucket: 'live', month }), 'used', 20_000);
    expect((await desk.run('usage', 'show', organisation, '--month', month)).stdout).to.match(
      /live .* -10,000 +█{12} stopped/,
    );
  });

  it('usage show without Redis uses the ledger and prints why', async () => {
    const organisation = await desk.newOrganisation();
    const show = (REDIS_URL: string) => callCli(['usage', 'show', organisation], { ...desk.settings, REDIS_URL });
    expect((await show('')).stdout).to.include('\nREDIS_URL is not set: "Used" is the sum of the ledger.');
    expect((await show('redis://127.0.0.1:1')).stdout).to.include('\nRedis did not answer: "Used" is');
  });

  it('usage reconcile refuses other deadlines than those of the running processes, and claims none', async () => {
    const organisation = await desk.newOrganisation();
    const reconcile = () =>
      callCli(['usage', 'reconcile', organisation], { ...desk.settings, REQUEST_TIMEOUT_MS: '20000' });
    expect((await reconcile()).exitCode).to.equal(0);
    await claimLease(desk.redis, 30_000);
    const refusal = await reconcile();
    expect(refusal.exitCode).to.equal(1);
    expect(refusal.stderr).to.include('REQUEST_TIMEOUT_MS and WEBHOOK_TIMEOUT_MS give leases of 60000 ms');
    await desk.redis.del(leaseLengthKey);
  });

  it('usage show --daily prints the days of both buckets as a table, as CSV and as JSON', async () => {
    const organisation = await desk.newOrganisation();
    const rows = [1, 2, 3].map((call) => ledgerRow(organisation, `${callIdPrefix(organisation)}${call}`, 500 * call));
    await desk.stores.ledgerRows.insertMany(rows.map((row, index) => (index < 2 ? row : { ...row, bucket: 'test' })));
    const show = async (...words: string[]) => {
      const { exitCode, stdout, stderr } = await desk.run('usage', 'show', organisation, '--month', month, ...words);
      expect(exitCode, stderr).to.equal(0);
      return stdout;
    };
    const lines = (await show('--daily')).split('\n');
    expect(lines[0]).to.equal('Usage of 2026-03 (UTC) by day: 1,500 live, 1,500 test records');
    expect(lines.filter((line) => line.startsWith('2026-03'))).to.have.length(31);
    expect(lines.find((line) => line.startsWith('2026-03-02'))?.replaceAll(/ +/g, ' ')).to.equal(
      '2026-03-02 1,500 - 1,500 - open',
    );
    const csv = (await show('--daily', '--csv')).split('\n');
    expect(csv[0]).to.equal('day,keys,records,calls');
    expect(csv)
      .to.have.length(1 + 2 * 31 + 1)
      .and.include.members(['2026-03-02,live,1500,', '2026-03-02,test,1500,']);
    const { buckets } = JSON.parse(await show('--daily', '--json'));
    expect(buckets[1].days[1]).to.deep.equal({ day: '2026-03-02', records: 1_500, calls: null, is_open: true });
    expect((await show('--daily', '--month', '2099-01')).trimEnd()).to.include('2099-01 has not begun.');
  });

  it('usage reconcile restores a missing counter and corrects a wrong one', async () => {
    const organisation = await desk.newOrganisation();
    const { stores } = desk;
    await stores.ledgerRows.insertOne(ledgerRow(organisation, `${callIdPrefix(organisation)}1`, 700));
    const key = usageKey({ organisationId: organisation, bucket: 'live', month });
    const reconcile = async () => (await desk.document('usage', 'reconcile', organisation, '--month', month)).buckets;
    expect(await reconcile()).to.deep.include({
      bucket: 'live',
      used_before: null,
      used: 700,
      ledger: 700,
      leased: 0,
      outcome: 'restored',
    });
    expect(await desk.redis.hget(key, 'used')).to.equal('700');
    await desk.redis.hset(key, 'used', 650);
    expect(await reconcile()).to.deep.include({
      bucket: 'live',
      used_before: 650,
      used: 700,
      ledger: 700,
      leased: 0,
      outcome: 'corrected',
    });
    expect(await reconcile()).to.deep.include({
      bucket: 'live',
      used_before: 700,
      used: 700,
      ledger: 700,
      leased: 0,
      outcome: 'agreed',
    });
  });
});
