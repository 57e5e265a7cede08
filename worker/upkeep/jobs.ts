import { Queue, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { errorLog } from '../../shared/process/error-log.js';
import type { Stoppable } from '../../shared/process/lifecycle.js';
import type { Logger } from '../../shared/process/logger.js';
import { queuePrefix, queueStreams, upkeepQueueName } from '../../shared/redis/keys.js';
import { backOffOnOom, closeWorker } from '../lanes/lane-worker.js';
import { ensureSchedules, type Schedule } from '../lanes/schedules.js';
import { leaveToOthers } from '../lanes/unknown-jobs.js';

/** A repeated job of upkeep. It runs once per interval, however many pools there are. */
export interface UpkeepJob extends Schedule {
  readonly run: () => Promise<void>;
}

export interface UpkeepOptions {
  /** A connection that waits for Redis to come back. */
  readonly redis: Redis;
  readonly jobs: readonly UpkeepJob[];
  readonly scheduleCheckMs: number;
  readonly logger: Logger;
}

/** Runs the jobs of upkeep on a BullMQ queue of their own, and keeps their schedules. */
export async function startUpkeep(options: UpkeepOptions): Promise<Stoppable> {
  const { redis, jobs, scheduleCheckMs, logger } = options;
  const queue = new Queue(upkeepQueueName, { connection: redis, prefix: queuePrefix, streams: queueStreams });
  queue.on('error', errorLog(logger, 'upkeep queue error'));
  const endSchedules = await ensureSchedules(queue, jobs, { redis, logger, checkEveryMs: scheduleCheckMs });
  const worker = new Worker(
    upkeepQueueName,
    async (job, token) => {
      const found = jobs.find(({ name }) => name === job.name);
      await (found === undefined ? leaveToOthers(job, token) : found.run());
    },
    // No job waits for another one.
    { connection: redis, prefix: queuePrefix, concurrency: jobs.length, lockDuration: 30_000, runRetryDelay: 250 },
  );
  worker.on('error', errorLog(logger, 'upkeep error'));
  backOffOnOom(worker);
  worker.on('failed', (job, error) => logger.warn({ job: job?.name, error }, 'upkeep job failed'));
  return {
    name: 'upkeep',
    stop: async () => {
      endSchedules();
      await closeWorker(worker, redis);
      await queue.close();
    },
  };
}
