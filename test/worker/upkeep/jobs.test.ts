import { expect } from 'chai';
import { Redis } from 'ioredis';
import { createLogger } from '../../../shared/process/logger.js';
import { queuePrefix } from '../../../shared/redis/keys.js';
import { startUpkeep } from '../../../worker/upkeep/jobs.js';
import { eventually } from '../../support/eventually.js';
import { freshDatabases } from '../../support/service/servers.js';

const minuteMs = 60_000;
const logger = createLogger('silent', 'test');

describe('the jobs of upkeep', () => {
  it('run while another one is slow', async () => {
    const redis = new Redis((await freshDatabases()).redisUrl, { maxRetriesPerRequest: null, replyMapping: 'legacy' });
    let end: () => void = () => undefined;
    const slow = {
      name: 'slow',
      when: { every: minuteMs },
      run: () => new Promise<void>((resolve) => (end = resolve)),
    };
    let runs = 0;
    const quick = async () => {
      runs += 1;
    };
    const jobs = [slow, { name: 'quick', when: { every: 200 }, run: quick }];
    const upkeep = await startUpkeep({ redis, jobs, scheduleCheckMs: 5_000, logger });
    try {
      await eventually(async () => expect(runs).to.be.at.least(2), 10_000);
      expect(await redis.hget(`${queuePrefix}:upkeep:meta`, 'opts.maxLenEvents'), 'events of no reader').to.equal(
        '100',
      );
    } finally {
      end();
      await upkeep.stop();
      redis.disconnect();
    }
  });
});
