import type { Queue, RepeatOptions } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Logger } from '../../shared/process/logger.js';

/** A schedule of BullMQ: a job that runs repeatedly. */
export interface Schedule {
  readonly name: string;
  readonly when: { readonly every: number }; // ms
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
      logger.warn({ queue: queue.name, error }, 'schedules not stored; retrying');
    }
  };
  await schedule();
  const timer = setInterval(() => {
    if (redis.status === 'ready') void schedule();
  }, checkEveryMs);
  return () => clearInterval(timer);
}
