import type { Queue, RepeatOptions } from 'bullmq';
import type { Redis } from 'ioredis';
import { everyTick } from '../../shared/async/ticks.js';
import type { Logger } from '../../shared/process/logger.js';
import { ownLevel } from '../../shared/process/release.js';

/** A schedule of BullMQ: a job that runs repeatedly. */
export interface Schedule {
  readonly name: string;
  readonly when: { readonly every: number }; // ms
}

const jobOptions = { removeOnComplete: true, removeOnFail: true };

/** A schedule as Redis has it. Only those of this form have the level of the release that stored them. */
interface Known extends Pick<RepeatOptions, 'every'> {
  readonly template?: { readonly data?: { readonly level?: number } };
}

/**
 * Whether a known schedule stays: it is that of this release, or of a later one. Two releases that run side by side
 * would else replace each other's interval for as long as they do. A schedule with a cron pattern has no `every`.
 */
const stays = ({ every, template }: Known, when: Schedule['when']): boolean => {
  const level = template?.data?.level ?? 0;
  return level > ownLevel || (level === ownLevel && Number(every ?? 0) === when.every);
};

/**
 * One check in this many reads each schedule; the others only count them. A Redis that was emptied or has old data has
 * fewer. Only a pool of an earlier release replaces one.
 */
const checksPerReading = 12;

/**
 * Puts schedules into a queue, now and whenever Redis has lost them or holds those of an earlier release. When Redis
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
        const known: Known = (await queue.getJobScheduler(name)) ?? {};
        const job = { name, data: { level: ownLevel }, opts: jobOptions };
        if (!stays(known, when)) await queue.upsertJobScheduler(name, when, job);
      }
    } catch (error) {
      logger.warn({ queue: queue.name, error }, 'schedules not stored; retrying');
    }
  };
  const areComplete = async (): Promise<boolean> =>
    (await queue.getJobSchedulersCount().catch(() => 0)) >= schedules.length;
  await schedule();
  let checks = 0;
  return everyTick(checkEveryMs, async () => {
    if (redis.status !== 'ready') return;
    checks += 1;
    if (checks % checksPerReading === 0 || !(await areComplete())) await schedule();
  });
}
