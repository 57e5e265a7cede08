import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import type { FaultProxy, RequestFate } from '../../scripts/servers/fault-proxy.js';
import type { ServiceSlot } from '../../scripts/servers/slots/service-slot.js';
import { callIdGenerator } from '../../shared/contract/identifiers.js';
import { laneQueueName } from '../../shared/messages/score-job.js';
import { eventually } from '../support/eventually.js';
import { expectExact, expectNoOtherDeath } from '../support/faults/fault-checks.js';
import { AnswerClock, timed } from '../support/faults/fault-load.js';
import { type FaultService, faultService } from '../support/faults/fault-service.js';
import { scriptDigest } from '../support/faults/script-digest.js';
import { scored } from '../support/http/score-reply.js';
import { startTimeoutMs } from '../support/service/service.js';
import { type TestWorkspace, workspace } from '../support/service/workspace.js';

const leads = (count: number) => Array.from({ length: count }, () => ({ company_size: 120 }));
const newCallId = callIdGenerator();
/**
 * Default deadline of the service: with a retry, a call on a busy machine exceeds the deadline of the shared service.
 */
const deadlineMs = 10_000;

const redisRequests = {
  'rate limit': scriptDigest('api/request/sliding-window.lua'),
  reservation: scriptDigest('shared/quota/lua/reserve.lua'),
  payload: '}:payload:',
  job: `}:${laneQueueName('batches')}:`,
  settle: scriptDigest('shared/quota/lua/settle.lua'),
};
const mongoRequests = { call: 'request_id' };
/** A call with an Idempotency-Key is recorded in a transaction. */
const transactionRequests = {
  'idempotency record': 'body_hash',
  'call in a transaction': 'request_id',
  commit: 'commitTransaction',
};

describe('a gateway whose connection breaks during a call', () => {
  let service: FaultService;
  let own: TestWorkspace;
  let slot: ServiceSlot;
  let proxies: { readonly redis: FaultProxy; readonly mongo: FaultProxy };

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await faultService({ gateways: ['proxied'], deadlineMs });
    own = await workspace(service);
    const [first] = service.cluster.gateways;
    if (first?.proxies === undefined) throw new Error('the service has no proxied gateway');
    slot = first;
    proxies = first.proxies;
  });
  after(async function () {
    this.timeout(startTimeoutMs);
    await service?.stop();
  });
  afterEach(async () => {
    await expectNoOtherDeath(service);
  });

  const call = () => own.score(leads(3), { url: slot.url });
  const callWithKey = () =>
    own.score(leads(3), { url: slot.url, headers: { 'Idempotency-Key': newCallId(Date.now(), own.id) } });

  /** Breaks the connection at one request of a call of three records. Asserts a timely answer and an exact count. */
  async function breakAt(
    proxy: FaultProxy,
    { request, fate, make }: { request: string; fate: RequestFate; make: typeof call },
  ): Promise<number | undefined> {
    // The connections have recovered from the previous test.
    await eventually(async () => {
      for (const { isWhole } of Object.values(proxies)) expect(isWhole, 'the proxy forwards').to.equal(true);
      scored(await make());
    }, deadlineMs);
    const before = await expectExact(own);
    const broken = proxy.next(request, fate);
    const [clock, outcome] = await AnswerClock.during(service, deadlineMs, () => timed(make));
    const status = outcome.reply?.status;
    await Promise.race([broken, neverCame(`${request} in a call that was answered with ${status}`)]);
    clock.expectInTime([outcome]);
    expect(await expectExact(own)).to.equal(before + (status === 200 ? 3 : 0));
    return status;
  }

  for (const { server, requests, make } of [
    { server: 'redis', requests: redisRequests, make: call },
    { server: 'mongo', requests: mongoRequests, make: call },
    { server: 'mongo', requests: transactionRequests, make: callWithKey },
  ] as const) {
    for (const [what, request] of Object.entries(requests)) {
      for (const [fate, how] of [
        ['lost', 'request is lost'],
        ['reply-lost', 'reply is lost'],
      ] as const) {
        it(`answers with 200 and counts once when the ${what} ${how} (${server})`, async function () {
          this.timeout(startTimeoutMs);
          const proxy = server === 'redis' ? proxies.redis : proxies.mongo;
          const status = await breakAt(proxy, { request, fate, make });
          expect(status, await lastErrors(service)).to.equal(200);
        });
      }
    }
  }
});

/** The last two errors in the log of the service. */
async function lastErrors(service: FaultService): Promise<string> {
  const lines = (await service.log()).split('\n').filter((line) => line.startsWith('{"level":"error"'));
  return lines.slice(-2).join('\n');
}

/** Fails soon: the request must precede the answer of its call. */
async function neverCame(what: string): Promise<never> {
  await pause(100);
  throw new Error(`no request contained ${what}`);
}
