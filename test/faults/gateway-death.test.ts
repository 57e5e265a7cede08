import { expect } from 'chai';
import type { FaultProxy, RequestFate } from '../../scripts/servers/fault-proxy.js';
import type { ServiceSlot } from '../../scripts/servers/slots/service-slot.js';
import { eventually } from '../support/eventually.js';
import { expectExact, expectNoOtherDeath } from '../support/faults/fault-checks.js';
import { printFigures } from '../support/faults/fault-figures.js';
import { statuses, timed } from '../support/faults/fault-load.js';
import { type FaultService, sharedFaultService, sharedLeaseMs } from '../support/faults/fault-service.js';
import { scriptDigest } from '../support/faults/script-digest.js';
import { scored } from '../support/http/score-reply.js';
import { startTimeoutMs } from '../support/service/service.js';
import { type TestWorkspace, workspace } from '../support/service/workspace.js';
import { itInFull } from '../support/tier.js';

const leads = (count: number) => Array.from({ length: count }, () => ({ company_size: 120 }));
const proxied = 0;
/** An abandoned call ends with its lease and a sweep, which production runs every four seconds. */
const sweptWithinMs = sharedLeaseMs + 5_000;

interface Moment {
  readonly title: string;
  readonly server: 'redis' | 'mongo';
  /** Text of the request at which the gateway is killed. */
  readonly request: string;
  /** Whether the server executes the request. */
  readonly fate: Extract<RequestFate, 'held' | 'reply-lost'>;
  readonly isCounted: boolean;
  /** Whether `npm test` covers it: one moment with, and one without a counted call. */
  readonly isInFirstTier?: true;
}

/** A member that only documents of calls have. */
const recording = 'request_id';
const settling = scriptDigest('shared/quota/lua/settle.lua');
const moments: readonly Moment[] = [
  {
    title: 'after it reserved a call',
    server: 'redis',
    request: '}:payload:',
    fate: 'held',
    isCounted: false,
    isInFirstTier: true,
  },
  {
    title: 'before its write of a call arrived',
    server: 'mongo',
    request: recording,
    fate: 'held',
    isCounted: false,
  },
  {
    title: 'after its write of a call, before the confirmation',
    server: 'mongo',
    request: recording,
    fate: 'reply-lost',
    isCounted: true,
    isInFirstTier: true,
  },
  {
    title: 'before its settle arrived',
    server: 'redis',
    request: settling,
    fate: 'held',
    isCounted: true,
  },
  {
    title: 'after its settle, before the answer',
    server: 'redis',
    request: settling,
    fate: 'reply-lost',
    isCounted: true,
  },
];

describe('a gateway that is killed during calls', () => {
  let service: FaultService;
  let slot: ServiceSlot;
  let proxies: { readonly redis: FaultProxy; readonly mongo: FaultProxy };

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await sharedFaultService();
    const [first] = service.cluster.gateways;
    if (first?.proxies === undefined) throw new Error('the service has no proxied gateway');
    slot = first;
    proxies = first.proxies;
  });
  afterEach(async function () {
    this.timeout(startTimeoutMs);
    for (const proxy of Object.values(proxies)) {
      proxy.forget();
      proxy.cutAll();
    }
    if (slot.service === undefined) await slot.start();
    await expectNoOtherDeath(service);
  });

  /**
   * Kills the gateway when it sends a request for a call, and starts another.
   * @returns a promise of exact usage; the test awaits it after the other kills
   */
  async function killAt(moment: Moment, own: TestWorkspace): Promise<{ readonly exact: Promise<void> }> {
    const sent = proxies[moment.server].next(moment.request, moment.fate);
    const call = timed(() => own.score(leads(7), { gateway: proxied }));
    await sent;
    await slot.kill();
    const exact = exactAfter(moment, own);
    exact.catch(() => undefined); // the test awaits it later
    expect((await call).reply, 'an answer').to.equal(undefined);
    await slot.start();
    return { exact };
  }

  async function exactAfter({ title, isCounted }: Moment, own: TestWorkspace): Promise<void> {
    const sinceMs = performance.now();
    const records = isCounted ? 9 : 2;
    await eventually(
      async () => {
        expect(await own.ledgerSum(), title).to.equal(records);
        expect(await own.redisUsage(), title).to.deep.equal({ used: records, leased: 0 });
      },
      sweptWithinMs,
      50,
    );
    printFigures({
      fault: `a gateway killed ${title}`,
      counted: records - 2,
      exact_ms: performance.now() - sinceMs,
      within_ms: sweptWithinMs,
    });
  }

  async function killAtEach(killed: readonly Moment[]): Promise<void> {
    const killings: { readonly own: TestWorkspace; readonly exact: Promise<void> }[] = [];
    for (const moment of killed) {
      const own = await workspace(service);
      scored(await own.score(leads(2), { gateway: proxied }));
      killings.push({ own, ...(await killAt(moment, own)) });
    }
    for (const { own, exact } of killings) {
      await exact;
      const counted = await expectExact(own);
      scored(await own.score(leads(1)));
      expect(await expectExact(own)).to.equal(counted + 1);
    }
  }

  it('before and after the record of a call, its lease expires and usage equals the ledger', async function () {
    this.timeout(startTimeoutMs);
    await killAtEach(moments.filter(({ isInFirstTier }) => isInFirstTier));
  });

  itInFull('at each other step of a call, its lease expires and usage equals the ledger', async function () {
    this.timeout(startTimeoutMs);
    await killAtEach(moments.filter(({ isInFirstTier }) => !isInFirstTier));
  });

  itInFull('under load, each call through the other gateway gets 200, and each 200 is counted', async function () {
    this.timeout(startTimeoutMs);
    const own = await workspace(service);
    scored(await own.score(leads(1)));
    const calls = Array.from({ length: 40 }, (_, index) => timed(() => own.score(leads(5), { gateway: index % 2 })));
    await Promise.race(calls);
    await slot.kill();
    const killedMs = performance.now();
    const outcomes = await Promise.all(calls);
    const answered = outcomes.filter(({ reply }) => reply?.status === 200).length;
    const lost = outcomes.filter(({ reply }) => reply === undefined).length;
    const answers = statuses(outcomes);
    expect(answered + lost, JSON.stringify(answers)).to.equal(outcomes.length);
    expect(outcomes.filter(({ reply }, index) => index % 2 === 1 && reply === undefined)).to.deep.equal([]);
    const used = await expectExact(own, sweptWithinMs);
    printFigures({
      fault: 'a gateway killed under load, one of two',
      answers,
      counted: (used - 1) / 5,
      exact_ms: performance.now() - killedMs,
      within_ms: sweptWithinMs,
    });
    expect(used).to.be.within(1 + 5 * answered, 1 + 5 * (answered + lost));
  });
});
