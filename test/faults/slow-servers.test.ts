import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import type { ServiceSlot } from '../../scripts/servers/slots/service-slot.js';
import { expectExact, expectNoOtherDeath } from '../support/faults/fault-checks.js';
import { printFigures } from '../support/faults/fault-figures.js';
import { AnswerClock, recordsAnswered, statuses, timed } from '../support/faults/fault-load.js';
import { type FaultService, sharedDeadlineMs, sharedFaultService } from '../support/faults/fault-service.js';
import { scriptDigest } from '../support/faults/script-digest.js';
import { refused, scored } from '../support/http/score-reply.js';
import { startTimeoutMs } from '../support/service/service.js';
import { workspace } from '../support/service/workspace.js';

const leads = (count: number) => Array.from({ length: count }, () => ({ company_size: 120 }));
const proxied = 0;
const silentMs = sharedDeadlineMs / 2;
const exactWithinMs = 5_000;
const badRecord = { company_size: {} };
const releasing = scriptDigest('shared/quota/lua/release.lua');

describe('a gateway whose server is silent for half a deadline', () => {
  let service: FaultService;
  let slot: ServiceSlot;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await sharedFaultService();
    const [first] = service.cluster.gateways;
    if (first?.proxies === undefined) throw new Error('the service has no proxied gateway');
    slot = first;
  });
  afterEach(async () => {
    await expectNoOtherDeath(service);
  });

  for (const server of ['redis', 'mongo'] as const) {
    it(`answers calls in flight and new calls with 200: ${server}`, async function () {
      this.timeout(startTimeoutMs);
      const own = await workspace(service);
      scored(await own.score(leads(1), { gateway: proxied }));
      const call = () => timed(() => own.score(leads(2), { gateway: proxied }));
      const [clock, outcomes] = await AnswerClock.during(service, sharedDeadlineMs, async () => {
        const calls = Array.from({ length: 10 }, call);
        await Promise.race([...calls, pause(20)]);
        slot.proxies?.[server].hold();
        calls.push(...Array.from({ length: 10 }, call));
        await pause(silentMs);
        slot.proxies?.[server].release();
        return Promise.all(calls);
      });
      printFigures({
        fault: `${server === 'redis' ? 'Redis' : 'MongoDB'} silent for half a deadline`,
        answers: statuses(outcomes),
        slowest_ms: Math.max(...outcomes.map(({ tookMs }) => tookMs)),
      });
      clock.expectInTime(outcomes);
      expect(statuses(outcomes)).to.deep.equal({ 200: 20 });
      expect(await expectExact(own, exactWithinMs)).to.equal(1 + recordsAnswered(outcomes, 2));
    });
  }

  it('answers a refused call after Redis has released its records', async function () {
    this.timeout(startTimeoutMs);
    const own = await workspace(service);
    scored(await own.score(leads(1), { gateway: proxied }));
    const held = slot.proxies?.redis.next(releasing, 'held');
    const answered = own
      .score([badRecord], { gateway: proxied })
      .then(async (reply) => ({ reply, usage: await own.redisUsage() }));
    await held;
    await pause(50);
    slot.proxies?.redis.release();
    const { reply, usage } = await answered;
    refused(reply, '400 bad_request');
    expect(usage).to.deep.equal({ used: 1, leased: 0 });
  });

  it('answers a refused call within 1.5 s when Redis does not confirm the release', async function () {
    this.timeout(startTimeoutMs);
    const own = await workspace(service);
    scored(await own.score(leads(1), { gateway: proxied }));
    const held = slot.proxies?.redis.next(releasing, 'held');
    const [clock, outcome] = await AnswerClock.during(service, sharedDeadlineMs / 2, () =>
      timed(() => own.score([badRecord], { gateway: proxied })),
    );
    await held;
    slot.proxies?.redis.release();
    refused(outcome.reply ?? expect.fail('no answer'), '400 bad_request');
    clock.expectInTime([outcome]);
    expect(await expectExact(own, exactWithinMs)).to.equal(1);
  });
});
