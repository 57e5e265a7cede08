import { setImmediate as nextIteration } from 'node:timers/promises';
import { expect } from 'chai';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { type QuotaCommands, quotaCommands } from '../../../shared/quota/commands.js';
import { redisNowMs } from '../../../shared/redis/connect.js';
import { callKey, leasesKey, type UsageCounter, usageKey } from '../../../shared/redis/keys.js';
import { scriptDigest } from '../../support/faults/script-digest.js';
import { busyScript } from '../../support/faults/stall.js';
import { freshDatabases } from '../../support/service/servers.js';
import { runsOfTier } from '../../support/tier.js';
import { freshCounter, leaseMs, QuotaRig } from './rig/quota-rig.js';
import { sentCommands } from './rig/sent-commands.js';

const stop = 1_000;

/** One command of a call on one of three counters. `late`: its deadline has passed. */
interface Sent {
  readonly counter: 0 | 1 | 2;
  readonly callId: string;
  readonly records: number;
  readonly late: boolean;
}

const sent = fc.record<Sent>({
  counter: fc.constantFrom(0, 1, 2),
  callId: fc.nat({ max: 12 }).map((number) => `call-${number}`),
  records: fc.integer({ min: 1, max: 400 }),
  late: fc.nat({ max: 5 }).map((dice) => dice === 0),
});
/** The commands of one iteration. `forget`: Redis loses the first counter before them. */
const iteration = fc.record({
  what: fc.constantFrom<'reserve' | 'settle' | 'release'>('reserve', 'reserve', 'settle', 'release'),
  calls: fc.array(sent, { minLength: 1, maxLength: 25 }),
  forget: fc.nat({ max: 19 }).map((dice) => dice === 0),
});

describe('quotaCommands in batches', () => {
  let redis: Redis;
  let rig: QuotaRig;
  let commands: QuotaCommands;

  before(async () => {
    const { redisUrl } = await freshDatabases();
    redis = new Redis(redisUrl, { enableAutoPipelining: true });
    rig = new QuotaRig(redisUrl, { redis });
    commands = quotaCommands(redis);
  });
  after(() => rig.close());

  /** The number of calls in each batch of a script that `work` sends. */
  async function batchesOf(script: 'reserve' | 'settle', work: () => Promise<unknown>): Promise<number[]> {
    const digest = scriptDigest(`shared/quota/lua/${script}.lua`);
    const ofScript = (await sentCommands(redis, work)).filter(([, sent]) => sent === digest);
    const keysOfCounter = { reserve: 2, settle: 3 }[script];
    return ofScript.map(([, , keys]) => Number(keys) - keysOfCounter);
  }

  /** All of a counter's state in Redis, without the times of leases and recounts. */
  async function stateOf(counter: UsageCounter) {
    const { organisationId } = counter;
    const callIds = Array.from({ length: 13 }, (_, number) => `call-${number}`);
    return {
      usage: await redis.hmget(usageKey(counter), 'used', 'leased'),
      hasRecount: await redis.hexists(usageKey(counter), 'recount_at'),
      leases: (await redis.zrange(leasesKey(counter), 0, '-1')).sort(),
      states: await redis.mget(callIds.map((callId) => callKey(organisationId, callId))),
      expires: await Promise.all(
        callIds.map(async (callId) => (await redis.pttl(callKey(organisationId, callId))) > leaseMs),
      ),
    };
  }

  it('sends one script call for each counter in an iteration', async () => {
    const counters = [freshCounter(), freshCounter()];
    for (const counter of counters) await rig.reserve(counter, 'earlier', 1);
    const deadlineRedisMs = await rig.deadline();
    const callIds = Array.from({ length: 10 }, (_, index) => `call ${index}`);
    const ofAll = (work: (counter: UsageCounter, callId: string) => Promise<unknown>) => () =>
      Promise.all(callIds.flatMap((callId) => counters.map((counter) => work(counter, callId))));
    const reserve = ofAll((counter, callId) =>
      rig.quota.reserve({ counter, callId, records: 1, stop, deadlineRedisMs }),
    );
    expect(await batchesOf('reserve', reserve)).to.deep.equal([10, 10]);
    const settle = ofAll((counter, callId) => rig.quota.settle(counter, callId));
    expect(await batchesOf('settle', settle)).to.deep.equal([10, 10]);
    for (const counter of counters) expect(await rig.quota.usage(counter)).to.deep.equal({ used: 10, leased: 1 });
  });

  it('sends reserves after the mark of their counter, also while auto-pipelining holds commands back', async () => {
    const counter = freshCounter();
    await rig.reserve(counter, 'earlier', 1); // the script is loaded
    const call = { counter, callId: 'call', records: 1, stop, deadlineRedisMs: await rig.deadline() };
    const { quota } = new QuotaRig(rig.redisUrl, { redis }); // has marked no counter yet
    const names = await sentCommands(redis, async () => {
      const slow = redis.eval(busyScript, 0);
      await nextIteration(); // now it is in flight, and the next automatic pipeline waits for its reply
      await Promise.all([slow, quota.reserve(call)]);
    });
    expect(names.map(([name]) => name)).to.deep.equal(['eval', 'zadd', 'evalsha']);
  });

  it('cuts batches at 128 calls', async () => {
    const counter = freshCounter();
    await rig.reserve(counter, 'earlier', 1);
    const deadlineRedisMs = await rig.deadline();
    const reserve = () =>
      Promise.all(
        Array.from({ length: 300 }, (_, index) =>
          rig.quota.reserve({ counter, callId: `call ${index}`, records: 2, stop, deadlineRedisMs }),
        ),
      );
    expect(await batchesOf('reserve', reserve)).to.deep.equal([128, 128, 44]);
    expect(await rig.quota.usage(counter)).to.deep.equal({ used: 0, leased: 601 });
  });

  for (const script of ['reserve', 'settle'] as const)
    it(`rebuilds an unknown counter once, and sends the batch again (${script})`, async () => {
      const counter = freshCounter();
      rig.ledger.clear();
      const { snapshots } = rig.ledger;
      const callIds = Array.from({ length: 5 }, (_, index) => `call ${index}`);
      for (const callId of callIds) if (script === 'settle') rig.ledger.record(counter, callId, 2);
      const deadlineRedisMs = await rig.deadline();
      const work = () =>
        Promise.all(
          callIds.map((callId) =>
            script === 'settle'
              ? rig.quota.settle(counter, callId)
              : rig.quota.reserve({ counter, callId, records: 2, stop, deadlineRedisMs }),
          ),
        );
      expect(await batchesOf(script, work)).to.deep.equal([5, 5]);
      expect(rig.ledger.snapshots).to.equal(snapshots + 1);
      const used = script === 'settle' ? 10 : 0;
      expect(await rig.quota.usage(counter)).to.deep.equal({ used, leased: 10 - used });
    });

  it('rejects all calls of a batch whose script fails, and accepts each call again', async () => {
    const counter = freshCounter();
    await rig.reserve(counter, 'earlier', 1);
    const deadlineRedisMs = await rig.deadline();
    const callIds = ['a', 'b', 'c'];
    const reserveAll = () =>
      Promise.allSettled(
        callIds.map((callId) => commands.reserve({ counter, callId, records: 1, stop, leaseMs, deadlineRedisMs })),
      );
    await redis.set(`${usageKey(counter)}:kept`, '1');
    await redis.rename(usageKey(counter), `${usageKey(counter)}:hash`);
    await redis.rename(`${usageKey(counter)}:kept`, usageKey(counter));
    for (const outcome of await reserveAll())
      expect(outcome)
        .to.have.nested.property('reason.message')
        .that.matches(/WRONGTYPE/);
    await redis.rename(`${usageKey(counter)}:hash`, usageKey(counter));
    expect((await reserveAll()).map(({ status }) => status)).to.deep.equal(callIds.map(() => 'fulfilled'));
    expect(await rig.quota.usage(counter)).to.deep.equal({ used: 0, leased: 4 });
  });

  it('replies and changes Redis as single commands would, and never exceeds the stop', async function () {
    this.timeout(60_000);
    await fc.assert(
      fc.asyncProperty(fc.array(iteration, { minLength: 2, maxLength: 12 }), async (iterations) => {
        const together = [freshCounter(), freshCounter(), freshCounter()] as const;
        const alone = [freshCounter(), freshCounter(), freshCounter()] as const;
        const nowMs = await redisNowMs(redis);
        for (const counter of [...together, ...alone]) await rig.quota.usage(counter);
        const send = (what: 'reserve' | 'settle' | 'release', counter: UsageCounter, call: Sent) => {
          const { callId, records, late } = call;
          const deadlineRedisMs = late ? nowMs - 1 : nowMs + 60_000;
          if (what === 'release') return commands.release({ counter, callId, leaseMs });
          if (what === 'settle') return commands.settle({ counter, callId, leaseMs });
          return commands.reserve({ counter, callId, records, stop, leaseMs, deadlineRedisMs });
        };
        const of = (counters: typeof together, { counter }: Sent) => counters[counter];
        for (const { what, calls, forget } of iterations) {
          if (forget) await redis.del([together, alone].map(([first]) => usageKey(first)));
          const replies = await Promise.all(calls.map((call) => send(what, of(together, call), call)));
          for (const [index, call] of calls.entries())
            expect(replies[index]).to.deep.equal(await send(what, of(alone, call), call));
          for (const { used, leased } of replies) expect(used + leased).to.be.at.most(stop);
          for (const [index, counter] of together.entries())
            expect(await stateOf(counter)).to.deep.equal(await stateOf(alone[index] ?? together[0]));
        }
      }),
      { numRuns: runsOfTier(20, 40) },
    );
  });
});
