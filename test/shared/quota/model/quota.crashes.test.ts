import { expect } from 'chai';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { QuotaError } from '../../../../shared/quota/commands.js';
import type { UsageCounter } from '../../../../shared/redis/keys.js';
import { freshDatabases } from '../../../support/service/servers.js';
import { runsOfTier } from '../../../support/tier.js';
import { freshCounter, QuotaRig } from '../rig/quota-rig.js';

/** The course of one call, and a fault meanwhile. `pauses`: round trips of the gateway before each step. */
interface CallPlan {
  readonly records: number;
  readonly gateway: number;
  readonly end: 'answer' | 'die after reserve' | 'die after record' | 'fail before record';
  readonly fault: 'none' | 'flush scripts' | 'cut connection' | 'sweep' | 'reserve twice' | 'settle twice';
  readonly pauses: readonly number[];
}

const plan = fc.record<CallPlan>({
  records: fc.integer({ min: 1, max: 300 }),
  gateway: fc.nat({ max: 1 }),
  end: fc.oneof(
    { weight: 6, arbitrary: fc.constant<CallPlan['end']>('answer') },
    fc.constantFrom<CallPlan['end']>('die after reserve', 'die after record', 'fail before record'),
  ),
  fault: fc.oneof(
    { weight: 6, arbitrary: fc.constant<CallPlan['fault']>('none') },
    fc.constantFrom<CallPlan['fault']>('flush scripts', 'cut connection', 'sweep', 'reserve twice', 'settle twice'),
  ),
  pauses: fc.tuple(fc.nat({ max: 5 }), fc.nat({ max: 5 }), fc.nat({ max: 5 })),
});

const stop = 3_000;
const gatewayNames = ['quota-gateway-0', 'quota-gateway-1'];

describe('Quota under crashes', () => {
  let gateways: QuotaRig[];
  let rig: QuotaRig;

  before(async () => {
    const { redisUrl } = await freshDatabases();
    rig = new QuotaRig(redisUrl);
    gateways = gatewayNames.map((connectionName) => {
      // One of the two pipelines automatically, as the product's gateways do.
      const enableAutoPipelining = connectionName === gatewayNames[0];
      const redis = new Redis(redisUrl, { connectionName, enableAutoPipelining, retryStrategy: () => 1 });
      redis.on('error', () => undefined); // the cut connections
      return new QuotaRig(redisUrl, { redis, ledger: rig.ledger });
    });
  });
  after(() => {
    for (const one of [...gateways, rig]) one.close();
  });

  const pings = async (count: number) => {
    for (let ping = 0; ping < count; ping += 1) await rig.redis.ping();
  };

  async function cause(fault: CallPlan['fault'], gateway: QuotaRig): Promise<void> {
    if (fault === 'flush scripts') await rig.redis.script('FLUSH');
    if (fault === 'sweep') await gateway.sweep();
    if (fault === 'cut connection') {
      const clients = String(await rig.redis.client('LIST'));
      const name = gatewayNames[gateways.indexOf(gateway)];
      const [, id] = new RegExp(`id=(\\d+) .*name=${name} `).exec(clients) ?? [];
      if (id) await rig.redis.client('KILL', 'ID', id);
    }
  }

  async function makeCall(counter: UsageCounter, callId: string, call: CallPlan): Promise<number> {
    const gateway = gateways[call.gateway] ?? rig;
    const { records, end, fault, pauses } = call;
    await pings(pauses[0] ?? 0);
    const [reserved] = await Promise.all([
      gateway.reserve(counter, callId, records, stop).catch((error) => error),
      fault === 'reserve twice'
        ? rig.reserve(counter, callId, records, stop).catch(() => undefined)
        : cause(fault, gateway),
    ]);
    if (reserved instanceof QuotaError) {
      await rig.quota.release(counter, callId); // the second of two commands may have been granted later
      return 0;
    }
    await pings(pauses[1] ?? 0);
    if (end === 'die after reserve') return 0;
    if (end === 'fail before record') {
      await gateway.quota.release(counter, callId);
      return 0;
    }
    await pings(pauses[2] ?? 0);
    if (end === 'die after record') {
      rig.ledger.record(counter, callId, records);
      return 0;
    }
    const [outcome] = await Promise.all([
      gateway.finish(counter, callId, records),
      fault === 'settle twice' ? rig.quota.settle(counter, callId).catch(() => undefined) : undefined,
    ]);
    return outcome === 'answered' ? records : 0;
  }

  it('uses what the ledger says and never exceeds the stop, with dead gateways and repeated commands', async function () {
    this.timeout(60_000);
    await fc.assert(
      fc.asyncProperty(fc.array(plan, { minLength: 20, maxLength: 60 }), async (plans) => {
        const counter = freshCounter();
        rig.ledger.clear();
        const calls = plans.map((call, index) => makeCall(counter, `${counter.organisationId} ${index}`, call));
        let isWatching = true;
        const watch = async () => {
          while (isWatching) {
            const { used, leased } = await rig.quota.usage(counter);
            expect(used + leased).to.be.at.most(stop);
            expect(rig.ledger.sum(counter)).to.be.at.most(stop);
          }
        };
        const watched = watch();
        const answered = (await Promise.all(calls)).reduce((sum, records) => sum + records, 0);
        isWatching = false;
        await watched;
        await rig.settleDown(counter);
        expect(await rig.quota.usage(counter)).to.deep.equal({ used: rig.ledger.sum(counter), leased: 0 });
        expect(answered).to.be.at.most(rig.ledger.sum(counter));
      }),
      { numRuns: runsOfTier(20, 40) },
    );
  });

  it('uses what the ledger says after Redis was emptied several times under load', async function () {
    this.timeout(60_000);
    const flushes = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(fc.array(plan, { minLength: 20, maxLength: 60 }), flushes, async (plans, gaps) => {
        const counter = freshCounter();
        rig.ledger.clear();
        const flush = async () => {
          for (const gap of gaps) {
            await pings(gap);
            await rig.redis.flushdb();
          }
          return 0;
        };
        const calls = plans.map((call, index) => makeCall(counter, `${counter.organisationId} ${index}`, call));
        await Promise.all([...calls, flush()]);
        await rig.settleDown(counter);
        expect(await rig.quota.usage(counter)).to.deep.equal({ used: rig.ledger.sum(counter), leased: 0 });
      }),
      { numRuns: runsOfTier(20, 40) },
    );
  });
});
