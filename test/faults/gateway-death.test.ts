import { expect } from 'chai';
import type { GatewaySlot } from '../../scripts/chaos/gateway-slot.js';
import { expectExact, expectNobodyElseDied } from '../support/fault-checks.js';
import { timed } from '../support/fault-load.js';
import { type FaultService, sharedFaultService, sharedLeaseMs } from '../support/fault-service.js';
import { scored } from '../support/score-reply.js';
import { scriptDigest } from '../support/script-digest.js';
import { startTimeoutMs } from '../support/service.js';
import { type TestWorkspace, workspace } from '../support/workspace.js';

const leads = (count: number) => Array.from({ length: count }, () => ({ company_size: 120 }));
const proxied = 0;
/** What nobody ended is ended when its lease has run out, by a sweep every five seconds. */
const sweptWithinMs = sharedLeaseMs + 5_000;

describe('a gateway that is killed in the middle of calls', () => {
  let service: FaultService;
  let slot: GatewaySlot;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await sharedFaultService();
    const [first] = service.cluster.gateways;
    if (first === undefined) throw new Error('the service has no gateway');
    slot = first;
  });
  afterEach(async function () {
    this.timeout(startTimeoutMs);
    slot.proxies?.redis.forget();
    slot.proxies?.redis.cutAll();
    if (slot.gateway === undefined) await slot.start();
    await expectNobodyElseDied(service);
  });

  /** Kills the gateway when it is about to send something to Redis for a call, which then never arrives. */
  async function killAt(request: string, own: TestWorkspace): Promise<void> {
    const about = slot.proxies?.redis.next(request, 'held');
    const call = timed(() => own.score(leads(7), { gateway: proxied }));
    await about;
    await slot.kill();
    expect((await call).reply, 'an answer').to.equal(undefined);
  }

  it('after its call was reserved or recorded: leases end with lease and sweep, usage is what the ledger says', async function () {
    this.timeout(startTimeoutMs);
    const [reserved, recorded] = await Promise.all([workspace(service), workspace(service)]);
    for (const own of [reserved, recorded]) scored(await own.score(leads(2), { gateway: proxied }));

    await killAt('}:payload:', reserved);
    expect(await reserved.redisUsage()).to.deep.equal({ used: 2, leased: 7 });
    expect(await reserved.ledgerSum()).to.equal(2);
    const reservedMs = performance.now();
    await slot.start();
    scored(await recorded.score(leads(1), { gateway: proxied }));

    await killAt(scriptDigest('shared/quota/settle.lua'), recorded);
    expect(await recorded.redisUsage()).to.deep.equal({ used: 3, leased: 7 });
    expect(await recorded.ledgerSum()).to.equal(10);

    expect(await expectExact(reserved, sweptWithinMs - (performance.now() - reservedMs))).to.equal(2);
    expect(await expectExact(recorded, sweptWithinMs)).to.equal(10);
    scored(await recorded.score(leads(1)));
    expect(await expectExact(recorded)).to.equal(11);
  });

  it('under load: each call through the other is answered with 200, and each 200 is counted', async function () {
    this.timeout(startTimeoutMs);
    const own = await workspace(service);
    scored(await own.score(leads(1)));
    const calls = Array.from({ length: 40 }, (_, index) =>
      timed(() => own.score(leads(5), { gateway: index % 2 })),
    );
    await Promise.race(calls);
    await slot.kill();
    const outcomes = await Promise.all(calls);
    const answered = outcomes.filter(({ reply }) => reply?.status === 200).length;
    const lost = outcomes.filter(({ reply }) => reply === undefined).length;
    expect(answered + lost).to.equal(outcomes.length);
    expect(outcomes.filter(({ reply }, index) => index % 2 === 1 && reply === undefined)).to.deep.equal([]);
    const used = await expectExact(own, sweptWithinMs);
    expect(used).to.be.within(1 + 5 * answered, 1 + 5 * (answered + lost));
  });
});
