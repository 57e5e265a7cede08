import { expect } from 'chai';
import { bestMs, durationMs } from '../support/beats.js';
import { eventually } from '../support/eventually.js';
import { expectExact, expectNoOtherDeath } from '../support/faults/fault-checks.js';
import { printFigures } from '../support/faults/fault-figures.js';
import { statuses, timed } from '../support/faults/fault-load.js';
import { slowBundle } from '../support/faults/fault-models.js';
import { type FaultService, faultService, sharedFaultService } from '../support/faults/fault-service.js';
import { httpCall } from '../support/http/http-call.js';
import { RawConnection } from '../support/http/raw-connection.js';
import { scored } from '../support/http/score-reply.js';
import { startTimeoutMs } from '../support/service/service.js';
import { type TestWorkspace, workspace } from '../support/service/workspace.js';
import { itInFull } from '../support/tier.js';

const leads = (count: number) => Array.from({ length: count }, () => ({ company_size: 120 }));

describe('SIGTERM', () => {
  let service: FaultService;
  let own: TestWorkspace;
  let countedBefore: number;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await faultService({ gateways: ['direct'], settings: { WORKERS: '1' } });
  });
  beforeEach(async () => {
    own = await workspace(service);
    await eventually(async () => scored(await own.score(leads(1))), 10_000);
    countedBefore = await expectExact(own);
  });
  afterEach(async () => {
    await expectNoOtherDeath(service);
  });
  after(async function () {
    this.timeout(startTimeoutMs);
    await service?.stop();
  });

  it('makes a gateway answer 503 on /readyz, still answer calls, and exit with 0', async function () {
    this.timeout(startTimeoutMs);
    let counted = countedBefore;
    const score = async (url: string | undefined) => {
      const reply = await own.score(leads(2), { url });
      scored(reply);
      counted += 2;
      return reply;
    };
    // A busy machine may delay a call until the grace time of two seconds is over: the next gateway has its own.
    await eventually(async () => {
      const slot = await service.cluster.addGateway('direct', {});
      const { url } = slot;
      await score(url);
      const ended = slot.terminate();
      await eventually(async () => {
        const { status } = await httpCall(`${url}/readyz`, { method: 'GET' });
        expect(status).to.equal(503);
      }, 1_500);
      const late = await score(url);
      expect(late.headers.get('connection')).to.equal('close');
      expect(await ended).to.equal('exit code 0');
    }, 30_000);
    expect(await expectExact(own)).to.equal(counted);
  });

  itInFull('lets a gateway answer the slow calls in flight before it exits', async function () {
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
    printFigures({ fault: 'a gateway stopped with SIGTERM, calls in flight', answers: statuses(outcomes) });
    expect(statuses(outcomes)).to.deep.equal({ 200: calls.length });
    expect(await expectExact(slow, 5_000)).to.equal(1 + 2 * calls.length);
  });

  it('lets a gateway cut off callers that neither send on nor read, and exit within 10 s', async function () {
    this.timeout(2 * startTimeoutMs);
    const withShortDeadlines = await sharedFaultService();
    const { live } = await workspace(withShortDeadlines);
    const slot = await withShortDeadlines.cluster.addGateway('direct', {});
    const { url = '' } = slot;
    const sending = await RawConnection.open(url);
    sending.send(
      `POST /v1/score HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${live.secret}\r\nContent-Length: 100\r\n\r\n{`,
    );
    const reading = await RawConnection.open(url);
    reading.socket.pause();
    for (let call = 0; call < 200; call += 1) reading.send('GET /openapi.json HTTP/1.1\r\nHost: gateway\r\n\r\n');
    const beganMs = performance.now();
    const how = await slot.terminate();
    const tookMs = performance.now() - beganMs;
    for (const connection of [sending, reading]) connection.destroy();
    printFigures({
      fault: 'a gateway stopped with SIGTERM, callers that neither send on nor read',
      ended_ms: tookMs,
    });
    expect(how).to.equal('exit code 0');
    expect(tookMs).to.be.below(10_000);
  });

  /**
   * Ends a process with exit code 0 while Redis is away, and starts Redis again. Returns the time until the exit, ms.
   */
  async function endWithoutRedis(end: () => Promise<string | undefined>): Promise<number> {
    await service.cluster.kill('redis');
    try {
      return await durationMs(async () => expect(await end()).to.equal('exit code 0'));
    } finally {
      await service.cluster.revive('redis');
    }
  }

  itInFull('lets a gateway exit with 0 while Redis is away', async function () {
    this.timeout(3 * startTimeoutMs);
    const tookMs = await bestMs(10_000, async () => {
      const slot = await service.cluster.addGateway('direct', {});
      await eventually(async () => scored(await own.score(leads(2), { url: slot.url })), 10_000);
      return endWithoutRedis(() => slot.terminate());
    });
    printFigures({ fault: 'a gateway stopped with SIGTERM while Redis is away', ended_ms: tookMs });
    expect(tookMs).to.be.below(10_000);
    await eventually(async () => scored(await own.score(leads(1))), 10_000);
  });

  itInFull('lets a pool exit with 0 while Redis is away', async function () {
    this.timeout(3 * startTimeoutMs);
    const { cluster } = service;
    const tookMs = await bestMs(10_000, async () => {
      const pool = await cluster.startPool();
      return endWithoutRedis(() => cluster.stopPool(pool));
    });
    printFigures({ fault: 'a pool stopped with SIGTERM while Redis is away', ended_ms: tookMs });
    expect(tookMs).to.be.below(10_000);
    await eventually(async () => scored(await own.score(leads(1))), 10_000);
  });
});
