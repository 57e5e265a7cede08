import { Queue, type RepeatOptions, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { messageOf } from '../../shared/contract/errors.js';
import { errorLog } from '../../shared/process/error-log.js';
import type { Stoppable } from '../../shared/process/lifecycle.js';
import type { Logger } from '../../shared/process/logger.js';
import { queuePrefix, queueStreams, upkeepQueueName } from '../../shared/redis/keys.js';
import { backOffOnOom, closeWorker } from '../lanes/lane-worker.js';

/** A schedule of BullMQ: a job that runs repeatedly. */
export interface Schedule {
  readonly name: string;
  readonly when: { readonly every: number }; // ms
}

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
    async (job) => {
      await jobs.find(({ name }) => name === job.name)?.run();
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

const jobOptions = { removeOnComplete: true, removeOnFail: true };

/** Whether a known schedule has the interval of this release; a schedule with a cron pattern has no `every`. */
const isSame = (known: Pick<RepeatOptions, 'every'>, { every }: Schedule['when']): boolean =>
  Number(known.every ?? 0) === every;

/**
 * Puts schedules into a queue, now and whenever Redis has lost them or holds those of another release. When Redis
 * refuses them, as it does when it is out of memory, they are put there at a later check.
 * @param deps `redis` is the queue's connection; `checkEveryMs` is the interval in which an emptied Redis is noticed
 * @returns ends the checks
 */
export async function ensureSchedules(
  queue: Queue,
  schedules: readonly Schedule[],
  deps: { readonly redis: Redis; readonly logger: Logger; readonly checkEveryMs?: number },
): Promise<() => void> {
  const { redis, logger, checkEveryMs = 5_000 } = deps;
  const schedule = async () => {
    try {
      for (const { name, when } of schedules) {
        const known: Pick<RepeatOptions, 'every'> = (await queue.getJobScheduler(name)) ?? {};
        if (!isSame(known, when)) await queue.upsertJobScheduler(name, when, { name, data: {}, opts: jobOptions });
      }
    } catch (error) {
      logger.warn({ queue: queue.name, error: messageOf(error) }, 'schedules not stored; retrying');
    }
  };
  await schedule();
  const timer = setInterval(() => {
    if (redis.status === 'ready') void schedule();
  }, checkEveryMs);
  return () => clearInterval(timer);
}
