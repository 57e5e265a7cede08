import { Queue } from 'bullmq';
import type { Redis } from '../redis/connect.js';
import { queuePrefix } from '../redis/keys.js';
import { allKeys } from '../redis/scan.js';

const schedulesKey = ':repeat';

/**
 * Removes schedules that a process below a level stored last: those of jobs that exist no longer. Pools of this level
 * have stored theirs with it. One that was removed too early is stored again within seconds.
 * @returns the number of removed schedules
 * @throws the error of Redis
 */
export async function removeOldSchedules(redis: Redis, level: number): Promise<number> {
  const names = new Set<string>();
  for await (const keys of allKeys(redis, `${queuePrefix}:*${schedulesKey}`))
    for (const key of keys) names.add(key.slice(queuePrefix.length + 1, -schedulesKey.length));
  let removed = 0;
  for (const name of names) {
    const queue = new Queue(name, { connection: redis, prefix: queuePrefix, skipMetasUpdate: true });
    try {
      for (const { key, template } of await queue.getJobSchedulers())
        if ((template?.data?.level ?? 0) < level && (await queue.removeJobScheduler(key))) removed += 1;
    } finally {
      await queue.close();
    }
  }
  return removed;
}
