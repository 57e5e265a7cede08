import { expect } from 'chai';
import { Redis } from 'ioredis';
import { isBulkDemanded, markBulkDemand, markDemandEveryMs } from '../../../shared/redis/bulk-demand.js';
import { bulkDemandKey } from '../../../shared/redis/keys.js';
import { freshDatabases } from '../../support/service/servers.js';

describe('the demand of bulk jobs', () => {
  let redis: Redis;

  before(async () => {
    redis = new Redis((await freshDatabases()).redisUrl, { replyMapping: 'legacy' });
  });
  after(() => redis.disconnect());

  it('lasts for 15 s after a mark, which is three times as long as until the next one', async () => {
    expect(await isBulkDemanded(redis)).to.equal(false);
    await markBulkDemand(redis);
    expect(await isBulkDemanded(redis)).to.equal(true);
    expect(await redis.pttl(bulkDemandKey)).to.be.within(10_000, 3 * markDemandEveryMs);
    await redis.pexpire(bulkDemandKey, 0);
    expect(await isBulkDemanded(redis)).to.equal(false);
  });
});
