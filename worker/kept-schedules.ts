import type { Queue, RepeatOptions } from 'bullmq';
import type { Redis } from 'ioredis';
import { messageOf } from '../shared/errors.js';
import type { Logger } from '../shared/logger.js';

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
export async function keepSchedules(
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
