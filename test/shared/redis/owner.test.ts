import { expect } from 'chai';
import { Redis } from 'ioredis';
import { UnusableServer } from '../../../shared/async/retry.js';
import { leaseLengthKey } from '../../../shared/redis/keys.js';
import { claimLease } from '../../../shared/redis/owner.js';
import { failureOf } from '../../support/failure-of.js';
import { freshDatabases } from '../../support/service/servers.js';

describe('claimLease', () => {
  let redis: Redis;

  before(async () => {
    redis = new Redis((await freshDatabases()).redisUrl);
  });
  after(() => redis.disconnect());

  it('keeps the claim for two leases after the last renewal, and then lets another length in', async () => {
    await claimLease(redis, 30_000);
    await redis.pexpire(leaseLengthKey, 1_000);
    await claimLease(redis, 30_000);
    expect(await redis.pttl(leaseLengthKey)).to.be.within(30_000, 60_000);
    expect(await failureOf(claimLease(redis, 10_000))).to.be.instanceOf(UnusableServer);
    await redis.pexpire(leaseLengthKey, 1);
    while ((await redis.exists(leaseLengthKey)) === 1);
    await claimLease(redis, 10_000);
    expect(await redis.get(leaseLengthKey)).to.equal('10000');
  });

  it('does not renew the claim of another length', async () => {
    await redis.set(leaseLengthKey, 30_000, 'PX', 5_000);
    await failureOf(claimLease(redis, 10_000));
    expect(await redis.pttl(leaseLengthKey)).to.be.at.most(5_000);
  });

  it('lets one of two lengths in that are claimed at once', async () => {
    await redis.del(leaseLengthKey);
    const claims = await Promise.allSettled([30_000, 10_000].map((leaseMs) => claimLease(redis, leaseMs)));
    expect(claims.map(({ status }) => status)).to.have.members(['fulfilled', 'rejected']);
  });

  it('refuses a length when another one was claimed after its first read', async () => {
    await redis.del(leaseLengthKey);
    const late: Redis = Object.create(redis);
    let reads = 0;
    late.get = async (key: string) => {
      const known = await redis.get(key);
      reads += 1;
      if (reads === 1) await claimLease(redis, 30_000);
      return known;
    };
    expect(await failureOf(claimLease(late, 10_000))).to.be.instanceOf(UnusableServer);
    expect(await redis.get(leaseLengthKey)).to.equal('30000');
  });
});
