import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { expectExact, expectNobodyElseDied } from '../support/fault-checks.js';
import { tellFigures } from '../support/fault-figures.js';
import { AnswerClock, type CallOutcome, statuses, timed, underLoad } from '../support/fault-load.js';
import { slowBundle } from '../support/fault-models.js';
import { type FaultService, faultService } from '../support/fault-service.js';
import { httpCall } from '../support/http-call.js';
import { scored } from '../support/score-reply.js';
import { startTimeoutMs } from '../support/service.js';
import { type TestWorkspace, workspace } from '../support/workspace.js';

const leads = (count: number) => Array.from({ length: count }, () => ({ company_size: 120 }));
const deadlineMs = 10_000;

describe('SIGTERM under load', () => {
  let service: FaultService;
  let own: TestWorkspace;
  let countedBefore: number;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await faultService();
  });
  beforeEach(async () => {
    own = await workspace(service);
    await eventually(async () => scored(await own.score(leads(1))), 10_000);
    countedBefore = await expectExact(own);
  });
  afterEach(async () => {
    await expectNobodyElseDied(service);
  });
  after(async function () {
    this.timeout(startTimeoutMs);
    await service?.stop();
  });

  /** Every call was answered with 200, in time, and is counted. */
  async function expectNoneFailed(
    fault: string,
    { outcomes, clock }: { readonly outcomes: readonly CallOutcome[]; readonly clock: AnswerClock },
  ): Promise<void> {
    tellFigures({
      fault,
      answers: statuses(outcomes),
      slowest_ms: Math.max(...outcomes.map(({ tookMs }) => tookMs)),
    });
    expect(statuses(outcomes)).to.have.all.keys('200');
    clock.expectInTime(outcomes);
    expect(await expectExact(own, 5_000)).to.equal(countedBefore + 2 * outcomes.length);
  }

  it('to each gateway in turn: it says that it is not ready, finishes what it has, and no call fails', async function () {
    this.timeout(startTimeoutMs);
    const clock = new AnswerClock(deadlineMs, service);
    const outcomes = await underLoad(
      () => own.score(leads(2)),
      async () => {
        for (const slot of service.cluster.gateways) {
          const url = slot.url;
          await pause(300);
          const ended = slot.terminate();
          await eventually(async () => {
            const { status } = await httpCall(`${url}/readyz`, { method: 'GET' });
            expect(status).to.equal(503);
          }, 1_500);
          const late = await own.score(leads(2), { url });
          scored(late);
          expect(late.headers.get('connection'), 'a caller who comes all the same').to.equal('close');
          countedBefore += 2;
          expect(await ended).to.equal('exit code 0');
          await slot.start();
        }
        await pause(300);
      },
      { everyMs: 20 },
    );
    await expectNoneFailed('gateways stopped with SIGTERM and replaced, one by one', { outcomes, clock });
  });

  it('to the pool, another one beside it: no call fails', async function () {
    this.timeout(startTimeoutMs);
    const clock = new AnswerClock(deadlineMs, service);
    const outcomes = await underLoad(
      () => own.score(leads(2)),
      async () => {
        const old = service.cluster.pool;
        await service.cluster.startPool();
        expect(await service.cluster.stopPool(old)).to.equal('exit code 0');
        await pause(300);
      },
      { everyMs: 20 },
    );
    await expectNoneFailed('a pool started, the old one stopped with SIGTERM', { outcomes, clock });
  });

  it('to a gateway with slow calls in hand: it answers them before it ends', async function () {
    this.timeout(startTimeoutMs);
    const slow = await workspace(service, { bundle: slowBundle() });
    scored(await slow.score(leads(1)));
    const slot = await service.cluster.addGateway('direct', {});
    const calls = Array.from({ length: 30 }, (_, index) =>
      timed(() => slow.score(leads(2), { url: slot.url, headers: { 'x-request-id': `slow-${index}` } })),
    );
    await Promise.race(calls);
    expect(await slot.terminate()).to.equal('exit code 0');
    const outcomes = await Promise.all(calls);
    tellFigures({ fault: 'a gateway stopped with SIGTERM, calls in hand', answers: statuses(outcomes) });
    expect(statuses(outcomes)).to.deep.equal({ 200: calls.length });
    expect(await expectExact(slow, 5_000)).to.equal(1 + 2 * calls.length);
  });

  it('to a gateway while Redis is away: it ends in good order all the same', async function () {
    this.timeout(startTimeoutMs);
    const slot = await service.cluster.addGateway('direct', {});
    scored(await own.score(leads(2), { url: slot.url }));
    await service.cluster.kill('redis');
    const beganMs = performance.now();
    const how = await slot.terminate();
    const tookMs = performance.now() - beganMs;
    await service.cluster.revive('redis');
    tellFigures({ fault: 'a gateway stopped with SIGTERM while Redis is away', ended_ms: tookMs });
    expect(how).to.equal('exit code 0');
    expect(tookMs).to.be.below(10_000);
    await eventually(async () => scored(await own.score(leads(1))), 10_000);
  });
});
