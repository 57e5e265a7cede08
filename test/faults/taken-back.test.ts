import { expect } from 'chai';
import type { GatewaySlot } from '../../scripts/servers/gateway-slot.js';
import { eventually } from '../support/eventually.js';
import { expectExact, expectNoOtherDeath } from '../support/faults/fault-checks.js';
import { type FaultService, sharedFaultService, sharedLeaseMs } from '../support/faults/fault-service.js';
import { scriptDigest } from '../support/faults/script-digest.js';
import { type HttpReply, httpCall } from '../support/http/http-call.js';
import { refused, scored } from '../support/http/score-reply.js';
import { startTimeoutMs } from '../support/service/service.js';
import { type TestWorkspace, workspace } from '../support/service/workspace.js';

const deadlineMs = 1_000;
const direct = 1; // index of the gateway without proxies
const records = Array.from({ length: 3 }, () => ({ company_size: 120 }));
const settling = scriptDigest('shared/quota/lua/settle.lua');
/** A sweep, which production runs every four seconds, and a recount at most one lease later. */
const sweptWithinMs = sharedLeaseMs + 6_000;

describe('a call whose record or settle is not confirmed by the deadline', () => {
  let service: FaultService;
  let own: TestWorkspace;
  let slot: GatewaySlot;
  let counted: number;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await sharedFaultService();
  });
  beforeEach(async function () {
    this.timeout(startTimeoutMs);
    const timeout = String(deadlineMs);
    own = await workspace(service);
    slot = await service.cluster.addGateway('proxied', {
      REQUEST_TIMEOUT_MS: timeout,
      WEBHOOK_TIMEOUT_MS: timeout,
    });
    await eventually(async () => scored(await call()), 10_000);
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
    let isHeld = false;
    // On a busy machine a call may reach its deadline before its write. It is then voided, and the next try waits for
    // that.
    for (;;) {
      mongo.next(recording, 'reply-lost').then(
        () => {
          mongo.hold();
          isHeld = true;
        },
        () => undefined,
      );
      refused(await call(headers), '500 internal_error');
      if (isHeld) break;
      mongo.forget();
      expect(await expectExact(own, sweptWithinMs)).to.equal(counted);
    }
    expect(await own.ledgerSum(), 'recorded although answered with 500').to.equal(counted + records.length);
  }

  it('is voided before its gateway stops, even if the sweep has settled it', async function () {
    this.timeout(startTimeoutMs);
    await recordUnconfirmed();
    await eventually(
      async () => expect((await own.redisUsage()).used).to.equal(counted + records.length),
      sweptWithinMs,
    );
    const stopped = slot.terminate();
    proxiesOf(slot).mongo.release();
    expect(await stopped).to.equal('exit code 0');
    expect(await own.ledgerSum()).to.equal(counted);
    expect(await expectExact(own, sweptWithinMs)).to.equal(counted);
  });

  it('stays counted if a retry under the same Idempotency-Key got its reply', async function () {
    this.timeout(startTimeoutMs);
    const headers = { 'idempotency-key': 'the same' };
    await recordUnconfirmed(headers);
    const retry = await own.score(records, { headers, gateway: direct });
    expect(retry.headers.get('idempotent-replayed')).to.equal('true');
    expect(scored(retry).scores).to.have.length(records.length);
    proxiesOf(slot).mongo.release();
    await slot.terminate();
    expect(await expectExact(own, sweptWithinMs)).to.equal(counted + records.length);
    expect(scored(await own.score(records, { headers, gateway: direct }))).to.deep.equal(scored(retry));
  });

  it('is answered with 200 by its deadline when only Redis does not confirm', async function () {
    this.timeout(startTimeoutMs);
    const held = proxiesOf(slot).redis.next(settling, 'held');
    const reply = scored(await call());
    await held;
    expect(reply.usage.current).to.equal(counted + records.length);
    expect(await own.redisUsage()).to.deep.equal({ used: counted, leased: records.length });
    proxiesOf(slot).redis.cutAll();
    expect(await expectExact(own, sweptWithinMs)).to.equal(counted + records.length);
  });
});

function proxiesOf({ proxies }: GatewaySlot) {
  if (proxies === undefined) throw new Error('the gateway has no proxies');
  return proxies;
}
