import { Queue, type RepeatOptions, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { messageOf } from '../../shared/contract/errors.js';
import { errorLog } from '../../shared/process/error-log.js';
import type { Stoppable } from '../../shared/process/lifecycle.js';
import type { Logger } from '../../shared/process/logger.js';
import { queuePrefix } from '../../shared/redis/keys.js';
import { backOffOnOom, closeWorker } from '../lanes/lane-worker.js';

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
  const endSchedules = await ensureSchedules(queue, jobs, { redis, logger });
  const worker = new Worker(
    queueName,
    async (job) => {
      await jobs.find(({ name }) => name === job.name)?.run();
    },
    { connection: redis, prefix: queuePrefix, lockDuration: 30_000, runRetryDelay: 250 },
  );
  worker.on('error', errorLog(logger, 'upkeep error'));
  backOffOnOom(worker);
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

/** A job that is to be done again and again. */
export interface Schedule {
  readonly name: string;
  /** Every so many ms. */
  readonly when: { readonly every: number };
}

/** An emptied Redis has lost the schedules: each pool looks for them this often. */
const checkEveryMs = 5_000;
const kept = { removeOnComplete: true, removeOnFail: true };

/** A release may have changed when a job is done; one with a cron pattern has no `every`. */
const isSame = (known: Pick<RepeatOptions, 'every'>, { every }: Schedule['when']): boolean =>
  Number(known.every ?? 0) === every;

/**
 * Puts schedules into a queue, now and whenever Redis has lost them, or has those of another release. A Redis that takes
 * nothing at the moment, because it is full, is asked again later: whoever starts meanwhile starts all the same.
 * @param rooms `redis` is the queue's connection
 * @returns what ends it
 */
export async function ensureSchedules(
  queue: Queue,
  schedules: readonly Schedule[],
  { redis, logger }: { readonly redis: Redis; readonly logger: Logger },
): Promise<() => void> {
  const schedule = async () => {
    try {
      for (const { name, when } of schedules) {
        const known: Pick<RepeatOptions, 'every'> = (await queue.getJobScheduler(name)) ?? {};
        if (!isSame(known, when)) await queue.upsertJobScheduler(name, when, { name, data: {}, opts: kept });
      }
    } catch (error) {
      logger.warn({ queue: queue.name, error: messageOf(error) }, 'repeated jobs are not scheduled yet');
    }
  };
  await schedule();
  const checking = setInterval(() => {
    if (redis.status === 'ready') void schedule();
  }, checkEveryMs);
  return () => clearInterval(checking);
}
