import { expect } from 'chai';
import type { ServiceSlot } from '../../scripts/servers/slots/service-slot.js';
import { sweepTurnKey } from '../../shared/redis/keys.js';
import { eventually } from '../support/eventually.js';
import { expectExact, expectNoOtherDeath } from '../support/faults/fault-checks.js';
import { type FaultService, sharedFaultService, sharedLeaseMs } from '../support/faults/fault-service.js';
import { scriptDigest } from '../support/faults/script-digest.js';
import { type HttpReply, httpCall } from '../support/http/http-call.js';
import { refused, scored } from '../support/http/score-reply.js';
import { startTimeoutMs } from '../support/service/service.js';
import { type TestWorkspace, workspace } from '../support/service/workspace.js';
import { itInFull } from '../support/tier.js';

const deadlineMs = 1_000;
const direct = 1; // index of the gateway without proxies
const records = Array.from({ length: 3 }, () => ({ company_size: 120 }));
const settling = scriptDigest('shared/quota/lua/settle.lua');
/** A sweep, which production runs every four seconds, and a recount at most one lease later. */
const sweptWithinMs = sharedLeaseMs + 6_000;

describe('a call whose record or settle is not confirmed by the deadline', () => {
  let service: FaultService;
  let own: TestWorkspace;
  let slot: ServiceSlot;
  let counted: number;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await sharedFaultService();
  });
  beforeEach(async function () {
    this.timeout(startTimeoutMs);
    own = await workspace(service);
    slot = await service.cluster.addGateway('proxied', { REQUEST_TIMEOUT_MS: String(deadlineMs) });
    await eventually(async () => scored(await call()), 30_000);
    counted = await expectExact(own);
  });
  afterEach(async function () {
    this.timeout(startTimeoutMs);
    await slot.close();
    await expectNoOtherDeath(service);
  });

  const call = (headers?: Readonly<Record<string, string>>): Promise<HttpReply> =>
    httpCall(`${slot.url}/v1/score`, {
      secret: own.live.secret,
      body: { model_id: own.model._id, records },
      headers,
    });

  /** Makes a call that MongoDB records while the gateway gets no more replies from MongoDB. */
  async function recordUnconfirmed(headers?: Readonly<Record<string, string>>): Promise<void> {
    const { mongo } = proxiesOf(slot);
    // A call with an Idempotency-Key is recorded in a transaction, others by one insert.
    const recording = headers === undefined ? 'request_id' : 'commitTransaction';
    let recorded: Promise<unknown> | undefined;
    // On a busy machine a call may reach its deadline before its write. It is then voided, and the next try waits for
    // that.
    for (;;) {
      mongo.next(recording, 'reply-lost').then(
        () => {
          mongo.hold();
          recorded = eventually(async () => expect(await own.ledgerSum()).to.equal(counted + records.length));
          recorded.catch(() => undefined);
        },
        () => undefined,
      );
      refused(await call(headers), '500 internal_error');
      if (recorded !== undefined) break;
      mongo.forget();
      expect(await expectExact(own, sweptWithinMs)).to.equal(counted);
    }
    await recorded;
  }

  /** Runs `work` while no pool begins a sweep. */
  async function withoutSweep(work: () => Promise<void>): Promise<void> {
    await service.redis.set(sweepTurnKey, 'the test');
    await work().finally(() => service.redis.del(sweepTurnKey));
  }

  it('is voided by the sweep while MongoDB does not answer its gateway', async function () {
    this.timeout(startTimeoutMs);
    await recordUnconfirmed();
    await expectExact(own, sweptWithinMs, counted);
    const stopped = slot.terminate();
    proxiesOf(slot).mongo.release();
    expect(await stopped).to.equal('exit code 0');
    await expectExact(own, sweptWithinMs, counted);
  });

  it('is voided by its gateway before it stops, without the sweep', async function () {
    this.timeout(startTimeoutMs);
    await withoutSweep(async () => {
      await recordUnconfirmed();
      const stopped = slot.terminate();
      proxiesOf(slot).mongo.release();
      expect(await stopped).to.equal('exit code 0');
      expect(await own.ledgerSum()).to.equal(counted);
    });
    await expectExact(own, sweptWithinMs, counted);
  });

  itInFull('is voided by the sweep if its gateway is killed after the answer', async function () {
    this.timeout(startTimeoutMs);
    await recordUnconfirmed();
    await slot.kill();
    await expectExact(own, sweptWithinMs, counted);
  });

  it('stays counted if a retry under the same Idempotency-Key got its reply', async function () {
    this.timeout(startTimeoutMs);
    const headers = { 'idempotency-key': 'the same' };
    let retry: HttpReply | undefined;
    await withoutSweep(async () => {
      await recordUnconfirmed(headers);
      retry = await own.score(records, { headers, gateway: direct });
    });
    expect(retry?.headers.get('idempotent-replayed')).to.equal('true');
    proxiesOf(slot).mongo.release();
    await slot.terminate();
    expect(await expectExact(own, sweptWithinMs)).to.equal(counted + records.length);
    expect((await own.score(records, { headers, gateway: direct })).text).to.equal(retry?.text);
  });

  itInFull('is answered with 200 by its deadline when only Redis does not confirm', async function () {
    this.timeout(startTimeoutMs);
    const { redis } = proxiesOf(slot);
    const answered = async (): Promise<HttpReply> => {
      const held = redis.next(settling, 'held');
      const reply = await call();
      if (reply.status === 200) await held;
      return reply;
    };
    let answer = await answered();
    // On a busy machine a call may reach its deadline before its settle.
    for (; answer.status !== 200; answer = await answered()) {
      redis.forget();
      expect(await expectExact(own, sweptWithinMs)).to.equal(counted);
    }
    const reply = scored(answer);
    expect(reply.usage.current).to.equal(counted + records.length);
    expect(await own.redisUsage()).to.deep.equal({ used: counted, leased: records.length });
    redis.cutAll();
    expect(await expectExact(own, sweptWithinMs)).to.equal(counted + records.length);
  });
});

function proxiesOf({ proxies }: ServiceSlot) {
  if (proxies === undefined) throw new Error('the gateway has no proxies');
  return proxies;
}
