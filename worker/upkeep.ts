import { Queue, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { errorLog } from '../shared/error-log.js';
import type { Stoppable } from '../shared/lifecycle.js';
import type { Logger } from '../shared/logger.js';
import { queuePrefix } from '../shared/redis-keys.js';
import { closeWorker } from './close-worker.js';
import { keepSchedules, type Schedule } from './kept-schedules.js';
import { restWhileRefused } from './rest-while-refused.js';

/** A job of upkeep: done again and again, once however many pools there are. */
export interface UpkeepJob extends Schedule {
  readonly run: () => Promise<void>;
}

export interface UpkeepOptions {
  /** A connection that waits for Redis to come back. */
  readonly redis: Redis;
  readonly jobs: readonly UpkeepJob[];
  readonly logger: Logger;
}

const queueName = 'upkeep';

/** Runs the jobs of upkeep on a BullMQ lane of their own, and puts their schedules back when Redis has lost them. */
export async function startUpkeep({ redis, jobs, logger }: UpkeepOptions): Promise<Stoppable> {
  const queue = new Queue(queueName, { connection: redis, prefix: queuePrefix });
  queue.on('error', errorLog(logger, 'upkeep queue error'));
  const endSchedules = await keepSchedules(queue, jobs, { redis, logger });
  const worker = new Worker(
    queueName,
    async (job) => {
      await jobs.find(({ name }) => name === job.name)?.run();
    },
    { connection: redis, prefix: queuePrefix, lockDuration: 30_000, runRetryDelay: 250 },
  );
  worker.on('error', errorLog(logger, 'upkeep error'));
  restWhileRefused(worker);
  worker.on('failed', (job, error) => logger.warn({ job: job?.name, error }, 'upkeep failed'));
  return {
    name: 'upkeep',
    stop: async () => {
      endSchedules();
      await closeWorker(worker, redis);
      await queue.close();
    },
  };
}
