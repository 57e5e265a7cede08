import { expect } from 'chai';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { RateLimit, type RateRequest } from '../../../api/request/rate-limit.js';
import { rateWindowKey } from '../../../shared/redis/keys.js';
import { integersReply, luaCommand } from '../../../shared/redis/lua-command.js';
import { freshDatabases } from '../../support/service/servers.js';

/** So long that nothing leaves the window while a test runs. */
const windowUs = 3_600_000_000;

/** Calls that are sent in one turn, and how long the slots that were taken before have been taken then. */
const turn = fc.record({
  rate: fc.integer({ min: 1, max: 12 }),
  slotIds: fc.array(
    fc.nat({ max: 30 }).map((number) => `call ${number}`),
    { minLength: 1, maxLength: 15 },
  ),
  ageUs: fc.constantFrom(0, 1_000_000_000, 2_000_000_000),
});

describe('rate limit of calls of one turn', () => {
  let redis: Redis;
  let keys = 0;

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

  it('decides calls in order, with one script call for each key, window and rate', async () => {
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

  it('fails every call of a failed command, and no call of another key', async () => {
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

  it('decides as if the calls came one after the other', async () => {
    const script = luaCommand(redis, { file: 'api/request/sliding-window.lua', reply: integersReply });
    /** Accepted and remaining of each call; for a refused call, also when the call in its way leaves the window. */
    const take = async (key: string, rate: number, slotIds: readonly string[]) => {
      const [, ...numbers] = await script({ keys: [key], args: [rate, windowUs, ...slotIds] });
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
      fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 8 }), async (turns) => {
        const together = freshKey();
        const alone = freshKey();
        for (const { rate, slotIds, ageUs } of turns) {
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
