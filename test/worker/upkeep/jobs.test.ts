import { Queue } from 'bullmq';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { createLogger } from '../../../shared/process/logger.js';
import { ownLevel } from '../../../shared/process/release.js';
import { queuePrefix, upkeepQueueName } from '../../../shared/redis/keys.js';
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

  it('are left to the pool of a later release that has added them, also when an older pool takes them first', async () => {
    const redis = new Redis((await freshDatabases()).redisUrl, { maxRetriesPerRequest: null, replyMapping: 'legacy' });
    const queue = new Queue(upkeepQueueName, { connection: redis, prefix: queuePrefix });
    const known = { name: 'known', when: { every: minuteMs }, run: async () => undefined };
    const older = await startUpkeep({ redis, jobs: [known], scheduleCheckMs: 5_000, logger });
    const stops: (() => unknown)[] = [() => redis.disconnect(), () => queue.close(), () => older.stop()];
    try {
      await queue.upsertJobScheduler('added', { every: minuteMs }, { name: 'added', data: { level: ownLevel + 1 } });
      await eventually(async () => {
        const delayed = await queue.getDelayed();
        expect(delayed.filter(({ name, processedOn }) => name === 'added' && processedOn !== undefined)).to.have.length(
          1,
        );
      }, 5_000);
      let runs = 0;
      const run = async () => {
        runs += 1;
      };
      const added = { name: 'added', when: { every: minuteMs }, run };
      const later = await startUpkeep({ redis, jobs: [known, added], scheduleCheckMs: 5_000, logger });
      stops.push(() => later.stop());
      await eventually(async () => expect(runs).to.equal(1), 30_000);
    } finally {
      for (const stop of stops.reverse()) await stop();
    }
  });

  it('end a minute after they were due when no release knows them any more', async () => {
    const redis = new Redis((await freshDatabases()).redisUrl, { maxRetriesPerRequest: null, replyMapping: 'legacy' });
    const queue = new Queue(upkeepQueueName, { connection: redis, prefix: queuePrefix });
    const options = { removeOnComplete: true, timestamp: Date.now() - 2 * minuteMs };
    await queue.add('removed', {}, options);
    const upkeep = await startUpkeep({
      redis,
      jobs: [{ name: 'a', when: { every: minuteMs }, run: async () => undefined }],
      scheduleCheckMs: 5_000,
      logger,
    });
    try {
      await eventually(async () => {
        const counts = await queue.getJobs(['waiting', 'delayed', 'active', 'completed', 'failed']);
        expect(counts.filter(({ name }) => name === 'removed')).to.have.length(0);
      }, 5_000);
    } finally {
      await upkeep.stop();
      await queue.close();
      redis.disconnect();
    }
  });
});
