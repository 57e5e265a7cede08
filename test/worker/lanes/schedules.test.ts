import { Queue } from 'bullmq';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { createLogger } from '../../../shared/process/logger.js';
import { ownLevel } from '../../../shared/process/release.js';
import { queuePrefix } from '../../../shared/redis/keys.js';
import { ensureSchedules } from '../../../worker/lanes/schedules.js';
import { eventually } from '../../support/eventually.js';
import { freshDatabases } from '../../support/service/servers.js';

const minuteMs = 60_000;
const checkEveryMs = 200;
const logger = createLogger('silent', 'test');

describe('the schedules of a queue', () => {
  let redis: Redis;
  let queue: Queue;
  let end: (() => void) | undefined;

  beforeEach(async () => {
    const { redisUrl } = await freshDatabases();
    redis = new Redis(redisUrl, { maxRetriesPerRequest: null, replyMapping: 'legacy' });
    queue = new Queue('kept-schedules', { connection: redis, prefix: queuePrefix });
  });
  afterEach(async () => {
    end?.();
    await queue.close();
    redis.disconnect();
  });

  const keep = async (name: string, every: number) => {
    end = await ensureSchedules(queue, [{ name, when: { every } }], { redis, logger, checkEveryMs });
  };
  const everyOf = async (name: string) => (await queue.getJobScheduler(name))?.every;

  it('have the interval of this release, also after an earlier one or a cron pattern', async () => {
    await queue.upsertJobScheduler('often', { every: 2 * minuteMs });
    await keep('often', minuteMs);
    expect(await everyOf('often')).to.equal(minuteMs);
    end?.();
    await queue.upsertJobScheduler('nightly', { pattern: '0 3 * * *' });
    await keep('nightly', minuteMs);
    expect(await everyOf('nightly')).to.equal(minuteMs);
  });

  it('keep the interval of a later release, while both run', async () => {
    const later = { name: 'often', data: { level: ownLevel + 1 } };
    await queue.upsertJobScheduler('often', { every: 2 * minuteMs }, later);
    await keep('often', minuteMs);
    expect(await everyOf('often')).to.equal(2 * minuteMs);
    await queue.upsertJobScheduler('often', { every: 2 * minuteMs }, { ...later, data: { level: ownLevel } });
    await eventually(async () => expect(await everyOf('often')).to.equal(minuteMs), 5_000);
  });

  it('are stored again after Redis has lost them', async () => {
    await keep('often', minuteMs);
    await redis.flushdb();
    await eventually(async () => expect(await everyOf('often')).to.equal(minuteMs), 5_000);
  });
});
