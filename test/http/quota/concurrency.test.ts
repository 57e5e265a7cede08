import { expect } from 'chai';
import fc from 'fast-check';
import { eventually } from '../../support/eventually.js';
import type { HttpReply } from '../../support/http/http-call.js';
import { refused, scored } from '../../support/http/score-reply.js';
import { type RunningService, runningService, startTimeoutMs } from '../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../support/service/workspace.js';

const leads = (count: number) => Array.from({ length: count }, () => ({ company_size: 120 }));

describe('monthly quota under concurrent calls to two gateways', () => {
  let service: RunningService;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService();
  });

  it('returns 200 to exactly nine of a hundred concurrent batches of 100 when 900 records are left', async () => {
    const own = await workspace(service, { limit: 500 });
    scored(await own.score(leads(100)));
    const replies = await Promise.all(Array.from({ length: 100 }, () => own.score(leads(100))));
    const granted = replies.filter((reply) => reply.status === 200);
    for (const reply of replies) if (reply.status !== 200) refused(reply, '429 quota_exceeded');
    expect(granted).to.have.length(9);
    const currents = granted.map((reply) => scored(reply).usage.current).sort((a, b) => a - b);
    expect(currents, 'each includes every call recorded before it').to.deep.equal([
      200, 300, 400, 500, 600, 700, 800, 900, 1000,
    ]);
    await expectAtRest(own, 1_000);
  });

  it('never passes the backstop with batches of random sizes, and refuses none that would have fitted', async () => {
    const size = fc.integer({ min: 1, max: 60 });
    const property = fc.asyncProperty(fc.array(size, { minLength: 30, maxLength: 80 }), async (sizes) => {
      const limit = Math.ceil(sum(sizes) / 4); // the backstop is about half of the requested records
      const own = await workspace(service, { limit });
      const replies = await Promise.all(sizes.map((records) => own.score(leads(records))));
      const used = sum(sizes.filter((_, call) => replies[call]?.status === 200));
      expect(used).to.be.at.most(2 * limit);
      for (const [call, reply] of replies.entries()) {
        if (reply.status === 200) continue;
        refused(reply, '429 quota_exceeded');
        expect(used + (sizes[call] ?? 0), `with the refused call of ${sizes[call]}`).to.be.above(2 * limit);
      }
      await expectAtRest(own, used);
    });
    await fc.assert(property, { numRuns: 5, endOnFailure: true });
  });

  it('never passes the cap of a test key', async () => {
    const own = await workspace(service);
    const replies = await Promise.all(Array.from({ length: 30 }, () => own.score(leads(90), { key: own.test })));
    expect(statuses(replies)).to.deep.equal({ 200: 11, 429: 19 });
    expect(await own.ledgerSum('test')).to.equal(990);
    expect(await own.ledgerSum('live')).to.equal(0);
  });

  it('releases the reservations of failed calls, so that the backstop can be used up exactly', async () => {
    const own = await workspace(service, { limit: 100 });
    const bad = [...leads(9), { company_size: {} }];
    const calls = Array.from({ length: 60 }, (_, call) => own.score(call % 3 === 0 ? bad : leads(10)));
    const replies = await Promise.all(calls);
    const used = 10 * (statuses(replies)[200] ?? 0);
    await expectAtRest(own, used);
    for (let left = 200 - used; left > 0; left -= 10) scored(await own.score(leads(10)));
    refused(await own.score(leads(1)), '429 quota_exceeded');
    await expectAtRest(own, 200);
  });

  it('counts two concurrent organisations apart', async () => {
    const [small, large] = await Promise.all([workspace(service, { limit: 50 }), workspace(service, { limit: 1_000 })]);
    const callsOf = (own: TestWorkspace) => Promise.all(Array.from({ length: 30 }, () => own.score(leads(10))));
    const [ofSmall, ofLarge] = await Promise.all([callsOf(small), callsOf(large)]);
    expect(statuses(ofSmall)).to.deep.equal({ 200: 10, 429: 20 });
    expect(statuses(ofLarge)).to.deep.equal({ 200: 30 });
    await expectAtRest(small, 100);
    await expectAtRest(large, 300);
  });
});

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

function statuses(replies: readonly HttpReply[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of replies) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** Asserts that ledger and Redis agree on the used live records, and that no lease is left. */
async function expectAtRest(own: TestWorkspace, used: number): Promise<void> {
  expect(await own.ledgerSum(), 'records in the ledger').to.equal(used);
  await eventually(async () => expect(await own.redisUsage()).to.deep.equal({ used, leased: 0 }));
}
