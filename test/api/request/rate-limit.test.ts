import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { type RateDecision, RateLimit, type RateRequest } from '../../../api/request/rate-limit.js';
import { TimedOut } from '../../../shared/async/timeouts.js';
import { redisNowMs } from '../../../shared/redis/connect.js';
import { rateWindowKey } from '../../../shared/redis/keys.js';
import { integersReply, luaCommand } from '../../../shared/redis/lua-command.js';
import { failureOf } from '../../support/failure-of.js';
import { freshDatabases } from '../../support/service/servers.js';

const secondUs = 1_000_000;
let keys = 0;

/** No slot expires while a test runs. */
const longWindowUs = 3_600_000_000;

/** Calls that are sent in one iteration, and by how much the earlier slots are aged before it. */
const iteration = fc.record({
  rate: fc.integer({ min: 1, max: 12 }),
  slotIds: fc.array(
    fc.nat({ max: 30 }).map((number) => `call ${number}`),
    { minLength: 1, maxLength: 15 },
  ),
  ageUs: fc.constantFrom(0, 1_000_000_000, 2_000_000_000),
});

describe('RateLimit', () => {
  let redis: Redis;
  let otherRedis: Redis;
  let limits: RateLimit[];
  let keyId: string;

  before(async () => {
    const { redisUrl } = await freshDatabases();
    redis = new Redis(redisUrl);
    otherRedis = new Redis(redisUrl);
    limits = [new RateLimit(redis), new RateLimit(otherRedis)];
  });
  after(() => {
    redis.disconnect();
    otherRedis.disconnect();
  });
  beforeEach(() => {
    keys += 1;
    keyId = `key ${keys}`;
  });

  const windowKey = () => rateWindowKey('org', keyId, 'scoring');
  const take = (slotId: string, rate = 3, connection = 0): Promise<RateDecision> => {
    const limit = limits[connection] ?? new RateLimit(redis);
    return limit.take({ organisationId: 'org', keyId, window: 'scoring', rate, slotId });
  };
  /** Makes all accepted calls older. */
  const age = async (byUs: number) => {
    for (const slotId of await redis.zrange(windowKey(), 0, '-1')) await redis.zincrby(windowKey(), -byUs, slotId);
  };

  /** Asserts that `refused` must wait until the slot of another call is free. Redis's time is in whole ms. */
  const expectWaitFor = (slot: RateDecision | undefined, refused: RateDecision | undefined) => {
    const freeAtMs = ((slot?.acceptedAtRedisUs ?? 0) + secondUs + 1) / 1_000;
    const maxMs = Math.ceil(freeAtMs - (refused?.redisNowMs ?? 0));
    expect(refused?.retryAfterMs).to.be.within(maxMs - 1, maxMs);
  };

  it('accepts as many calls as the rate, then refuses with the time until a slot is free', async () => {
    const taken = [await take('a'), await take('b'), await take('c'), await take('d')];
    expect(taken.map(({ accepted }) => accepted)).to.deep.equal([true, true, true, false]);
    expect(taken.map(({ remaining }) => remaining)).to.deep.equal([2, 1, 0, 0]);
    expect(taken.map(({ retryAfterMs }) => retryAfterMs > 0)).to.deep.equal([false, false, false, true]);
    expect(taken[0]?.resetMs).to.equal(1_001); // the first microsecond after the window, rounded up
    expectWaitFor(taken[0], taken[3]);
    expect(taken[3]?.resetMs).to.be.at.least(taken[3]?.retryAfterMs ?? 0);
    expect(taken[3]?.acceptedAtRedisUs).to.equal(0);
  });

  it('accepts a call after retryAfterMs', async () => {
    for (const slotId of ['a', 'b', 'c']) await take(slotId);
    const { retryAfterMs } = await take('refused');
    await age(retryAfterMs * 1_000);
    expect(await take('d')).to.include({ accepted: true });
  });

  it('frees a slot in the first microsecond in which its call is older than a second', async () => {
    const slots = otherWindow({ rate: 1, windowUs: secondUs });
    const { acceptedAtUs } = await slots.take('a');
    const { retryAfterUs, nowUs } = await slots.take('refused');
    expect(retryAfterUs).to.equal(acceptedAtUs + secondUs + 1 - nowUs);
    await age(retryAfterUs - 100_000);
    expect(await slots.take('refused again')).to.include({ accepted: false });
    await age(100_000);
    expect(await slots.take('b')).to.include({ accepted: true });
  });

  it('gives the same slot to the same call id, also over another connection', async () => {
    expect(await take('a')).to.include({ accepted: true, remaining: 2 });
    expect(await take('a', 3, 1)).to.include({ accepted: true, remaining: 2 });
    await take('b');
    await take('c');
    expect(await take('a')).to.include({ accepted: true, remaining: 0 });
    expect(await take('d')).to.include({ accepted: false });
    expect(await redis.zcard(windowKey())).to.equal(3);
  });

  it('takes no slot for a refused call', async () => {
    for (const slotId of ['a', 'b', 'c', 'd', 'e']) await take(slotId);
    expect(await redis.zrange(windowKey(), 0, '-1')).to.deep.equal(['a', 'b', 'c']);
  });

  it('keeps a window for each key, and one for its reading calls', async () => {
    for (const slotId of ['a', 'b', 'c']) await take(slotId);
    const reading = { organisationId: 'org', keyId, window: 'reading', rate: 3, slotId: 'd' } as const;
    expect(await limits[0]?.take(reading)).to.include({ accepted: true, remaining: 2 });
    expect(await limits[0]?.take({ ...reading, window: 'scoring', keyId: 'another key' })).to.include({
      accepted: true,
    });
  });

  it('applies a rate that was lowered or raised at once', async () => {
    for (const slotId of ['a', 'b', 'c']) await take(slotId);
    await age(400_000);
    await take('d', 5);
    const last = await take('e', 5);
    const refused = await take('f', 1);
    expect(refused).to.include({ accepted: false, remaining: 0 });
    expectWaitFor(last, refused); // all five slots must be free
    expect(await take('f', 6)).to.include({ accepted: true, remaining: 0 });
  });

  it('stays exact after the clock was set back a little, and starts an empty window after more', async () => {
    await take('a', 2);
    await redis.zadd(windowKey(), Number(await redis.zscore(windowKey(), 'a')) + 500_000, 'a');
    const second = await take('b', 2);
    expect(second.acceptedAtRedisUs).to.equal(Number(await redis.zscore(windowKey(), 'a')));
    expect(await take('c', 2)).to.include({ accepted: false });
    await age(-3_600 * secondUs);
    expect(await take('d', 2)).to.include({ accepted: true, remaining: 1 });
  });

  it('gives the time of Redis, and expires the window of an idle key within two seconds', async () => {
    const beforeMs = await redisNowMs(redis);
    const { redisNowMs: nowMs, acceptedAtRedisUs } = await take('a');
    expect(nowMs).to.be.within(beforeMs, await redisNowMs(redis));
    expect(Math.floor(acceptedAtRedisUs / 1_000)).to.equal(nowMs);
    expect(await redis.pttl(windowKey())).to.be.within(1_500, 2_000);
  });

  it('waits no longer than the time that the call has left', async function () {
    const unanswering = Object.assign(redis.duplicate({ lazyConnect: true }), {
      sendCommand: () => new Promise(() => undefined),
    });
    const limit = new RateLimit(unanswering, 10 * this.timeout());
    const call = { organisationId: 'org', keyId, window: 'scoring', rate: 3, slotId: 'a' } as const;
    expect(await failureOf(limit.take(call, 60))).to.be.instanceOf(TimedOut);
  });

  it('works after SCRIPT FLUSH', async () => {
    await take('a');
    await redis.script('FLUSH');
    expect(await take('b')).to.include({ accepted: true, remaining: 1 });
  });

  it('accepts neither more nor less than the rate in any second, over two connections', async () => {
    const rate = 10;
    const taken: RateDecision[] = [];
    const traffic = async (connection: number) => {
      const endAt = performance.now() + 2_500;
      for (let call = 0; performance.now() < endAt; call += 1) {
        taken.push(await take(`${connection} ${call}`, rate, connection));
        await pause(Math.random() * 8);
      }
    };
    await Promise.all([traffic(0), traffic(1)]);
    const acceptedUs = taken.flatMap(({ accepted, acceptedAtRedisUs }) => (accepted ? [acceptedAtRedisUs] : []));
    checkEveryWindow(acceptedUs, { rate, windowUs: secondUs });
    for (const { redisNowMs: nowMs } of taken.filter(({ accepted }) => !accepted)) {
      const inWindow = acceptedUs.filter((atUs) => atUs >= nowMs * 1_000 - secondUs && atUs < (nowMs + 1) * 1_000);
      expect(inWindow).to.have.length.at.least(rate);
    }
    expect(acceptedUs).to.have.length.within(20, 30);
  });

  it('never accepts more than the rate in a window, for any rate, window and traffic', async () => {
    const gaps = fc.array(fc.nat({ max: 3 }), { minLength: 30, maxLength: 120 });
    const settings = fc.record({
      rate: fc.integer({ min: 1, max: 9 }),
      windowUs: fc.integer({ min: 500, max: 9_000 }),
    });
    await fc.assert(
      fc.asyncProperty(settings, gaps, gaps, async ({ rate, windowUs }, ...traffics) => {
        keys += 1;
        keyId = `key ${keys}`;
        const slots = otherWindow({ rate, windowUs });
        const acceptedUs: number[] = [];
        const traffic = async (gapsOfOne: readonly number[], connection: number) => {
          for (const [call, gap] of gapsOfOne.entries()) {
            const { accepted, acceptedAtUs } = await slots.take(`${connection} ${call}`, connection);
            if (accepted) acceptedUs.push(acceptedAtUs);
            for (let ping = 0; ping < gap; ping += 1) await redis.ping();
          }
        };
        await Promise.all(traffics.map(traffic));
        checkEveryWindow(acceptedUs, { rate, windowUs });
      }),
      { numRuns: 30 },
    );
  });

  /** Runs the script with a window of any length. */
  function otherWindow({ rate, windowUs }: { rate: number; windowUs: number }) {
    const key = windowKey();
    const scripts = [redis, otherRedis].map((connection) =>
      luaCommand(connection, { file: 'api/request/sliding-window.lua', reply: integersReply }),
    );
    return {
      take: async (slotId: string, connection = 0) => {
        const reply = await scripts[connection]?.({ keys: [key], args: [rate, windowUs, slotId] });
        const [, accepted, , retryAfterUs = 0, resetUs = 0, acceptedAtUs = 0] = reply ?? [];
        const newestUs = Number((await redis.zrange(key, -1, '-1', 'WITHSCORES'))[1]);
        return {
          accepted: accepted === 1,
          retryAfterUs,
          acceptedAtUs,
          nowUs: newestUs + windowUs + 1 - resetUs,
        };
      },
    };
  }
});

describe('RateLimit, for calls of one iteration of the event loop', () => {
  let redis: Redis;

  before(async () => {
    redis = new Redis((await freshDatabases()).redisUrl, { enableAutoPipelining: true });
  });
  after(() => redis.disconnect());

  const freshKey = () => {
    keys += 1;
    return rateWindowKey('org', `key ${keys}`, 'scoring');
  };
  const age = async (key: string, byUs: number) => {
    for (const slotId of await redis.zrange(key, 0, '-1')) await redis.zincrby(key, -byUs, slotId);
  };

  it('decides them in order, with one script call for each key, window and rate', async () => {
    const rateLimit = new RateLimit(redis);
    const call = { organisationId: 'org', keyId: 'one', window: 'scoring', rate: 3 } as const;
    await rateLimit.take({ ...call, keyId: 'none', slotId: 'the script is loaded' });
    await redis.config('RESETSTAT');
    const requests: RateRequest[] = [
      ...['a', 'b', 'a', 'c', 'd', 'b', 'e'].map((slotId) => ({ ...call, slotId })),
      { ...call, keyId: 'other', slotId: 'a' },
      { ...call, window: 'reading', slotId: 'a' },
      { ...call, rate: 5, slotId: 'f' },
    ];
    const decisions = await Promise.all(requests.map((request) => rateLimit.take(request)));
    expect(decisions.map(({ accepted, remaining }) => (accepted ? remaining : 'refused'))).to.deep.equal([
      ...[2, 1, 1, 0, 'refused', 0, 'refused'],
      ...[2, 2, 1],
    ]);
    for (const { accepted, retryAfterMs, acceptedAtRedisUs, redisNowMs } of decisions) {
      if (accepted) expect(retryAfterMs).to.equal(0);
      else expect(retryAfterMs, 'nothing is refused for longer than a second').to.be.within(1, 1_000);
      expect(acceptedAtRedisUs > 0).to.equal(accepted);
      expect(redisNowMs).to.be.above(0);
    }
    expect(await redis.info('commandstats')).to.match(/cmdstat_evalsha:calls=4,/);
  });

  it('rejects them if their command fails, but no call of another key', async () => {
    const rateLimit = new RateLimit(redis);
    const call = { organisationId: 'org', keyId: 'broken', window: 'scoring', rate: 3 } as const;
    await redis.set(rateWindowKey('org', 'broken', 'scoring'), 'not a sorted set');
    const outcomes = await Promise.allSettled([
      rateLimit.take({ ...call, slotId: 'a' }),
      rateLimit.take({ ...call, slotId: 'b' }),
      rateLimit.take({ ...call, keyId: 'whole', slotId: 'c' }),
    ]);
    expect(outcomes.map(({ status }) => status)).to.deep.equal(['rejected', 'rejected', 'fulfilled']);
  });

  it('decides as if they were sent one after the other, for any earlier slots', async () => {
    const script = luaCommand(redis, { file: 'api/request/sliding-window.lua', reply: integersReply });
    /** Takes slots. Asserts that a refused call must wait until the slot that blocks it is free. */
    const take = async (key: string, rate: number, slotIds: readonly string[]) => {
      const [, ...numbers] = await script({ keys: [key], args: [rate, longWindowUs, ...slotIds] });
      const scoresUs = (await redis.zrange(key, 0, '-1', 'WITHSCORES')).filter((_, at) => at % 2).map(Number);
      return slotIds.map((_, index) => {
        const [accepted, remaining, retryAfterUs = 0, resetUs = 0, acceptedAtUs = 0] = numbers.slice(5 * index);
        expect(acceptedAtUs > 0).to.equal(accepted === 1);
        if (accepted === 1) expect(retryAfterUs).to.equal(0);
        else {
          const blockingUs = scoresUs[scoresUs.length - rate] ?? Number.NaN;
          expect(resetUs - retryAfterUs).to.equal((scoresUs.at(-1) ?? Number.NaN) - blockingUs);
        }
        return { accepted, remaining };
      });
    };
    await fc.assert(
      fc.asyncProperty(fc.array(iteration, { minLength: 1, maxLength: 8 }), async (iterations) => {
        const together = freshKey();
        const alone = freshKey();
        for (const { rate, slotIds, ageUs } of iterations) {
          await Promise.all([age(together, ageUs), age(alone, ageUs)]);
          const oneByOne = [];
          for (const slotId of slotIds) oneByOne.push(...(await take(alone, rate, [slotId])));
          expect(await take(together, rate, slotIds)).to.deep.equal(oneByOne);
          const taken = (key: string) => redis.zrange(key, 0, '-1').then((ids) => ids.sort());
          expect(await taken(together)).to.deep.equal(await taken(alone));
        }
      }),
      { numRuns: 50 },
    );
  });
});

/** Checks that no closed window of that length holds more accepted calls than the rate. */
function checkEveryWindow(acceptedUs: readonly number[], options: { rate: number; windowUs: number }): void {
  const { rate, windowUs } = options;
  const sorted = [...acceptedUs].sort((first, second) => first - second);
  for (const [index, firstUs] of sorted.entries()) {
    const nextUs = sorted[index + rate];
    if (nextUs !== undefined) expect(nextUs - firstUs).to.be.above(windowUs);
  }
}
