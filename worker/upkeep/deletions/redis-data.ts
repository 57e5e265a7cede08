import { type JobType, Queue } from 'bullmq';
import { bundleCheckQueueName } from '../../../shared/messages/bundle-check-job.js';
import { gradingQueueName } from '../../../shared/messages/grading-job.js';
import { turnQueues } from '../../../shared/messages/turn-queue.js';
import type { Redis } from '../../../shared/redis/connect.js';
import {
  activeCountersKey,
  callsToVoidKey,
  dueCountersKey,
  modelStrikesKey,
  queuePrefix,
  queueStreams,
} from '../../../shared/redis/keys.js';
import { allKeys } from '../../../shared/redis/scan.js';
import type { DataOwner } from '../../../shared/store/organisations/organisation-data.js';

/** The queues whose jobs name organisations, models, versions, bulk jobs or uploads. */
const queueNames = [gradingQueueName, bundleCheckQueueName, ...Object.values(turnQueues)];
const jobStates: readonly JobType[] = ['active', 'waiting', 'prioritized', 'delayed', 'failed', 'completed'];

/**
 * Removes what Redis has of an organisation: its own keys, its members of shared keys, and jobs that name it. Takes a
 * round trip for each thousand keys of Redis. Idempotent.
 * @returns what it found
 * @throws errors of Redis
 */
export async function removeFromRedis(redis: Redis, owner: DataOwner): Promise<number> {
  const { organisationId, ids } = owner;
  let found = 0;
  const count = (removed: number): void => {
    found += removed;
  };
  for (const key of [activeCountersKey, dueCountersKey]) {
    const members = await redis.zrange(key, 0, '-1');
    count(await removeAll(members.filter(isCounterOf(organisationId)), (some) => redis.zrem(key, ...some)));
  }
  const toVoid = Object.entries(await redis.hgetall(callsToVoidKey));
  const calls = toVoid.filter(([, counter]) => isCounterOf(organisationId)(counter)).map(([call]) => call);
  count(await removeAll(calls, (some) => redis.hdel(callsToVoidKey, ...some)));
  const strikes = await redis.hkeys(modelStrikesKey);
  const own = strikes.filter((version) => ids.models.some((model) => version.startsWith(`${model}:`)));
  count(await removeAll(own, (some) => redis.hdel(modelStrikesKey, ...some)));
  for (const name of queueNames) count(await removeFromQueue(redis, name, owner));
  // Keys of the queues too: BullMQ remembers the ids of jobs that are to be queued once.
  const named = [organisationId, ...ids.models, ...ids.jobs];
  for (const pattern of [`{${organisationId}}:*`, `${queuePrefix}:*`])
    for await (const keys of allKeys(redis, pattern))
      for (const key of keys) if (named.some((id) => key.includes(id))) count(await redis.unlink(key));
  return found;
}

/** The counters of an organisation are members such as `org_… live 2026-11`. */
const isCounterOf =
  (organisationId: string) =>
  (member: string): boolean =>
    member.startsWith(`${organisationId} `);

async function removeAll(
  members: readonly string[],
  remove: (some: readonly string[]) => Promise<number>,
): Promise<number> {
  return members.length === 0 ? 0 : await remove(members);
}

/** Removes the jobs of a queue that name an organisation, and the events of such jobs, which no process reads. */
async function removeFromQueue(redis: Redis, name: string, { organisationId, ids }: DataOwner): Promise<number> {
  const queue = new Queue(name, {
    connection: redis,
    prefix: queuePrefix,
    streams: queueStreams,
    skipMetasUpdate: true,
  });
  queue.on('error', () => undefined); // each call throws it too, and BullMQ would print it
  try {
    const named = [organisationId, ...ids.models, ...ids.jobs, ...ids.uploads];
    const isNamed = (text: string): boolean => named.some((id) => text.includes(id));
    let removed = 0;
    for (const job of await queue.getJobs([...jobStates])) {
      if (!isNamed(`${job.id} ${JSON.stringify(job.data)}`)) continue;
      // A job that a process works on has a lock. It is found again.
      await job.remove().catch(() => undefined);
      removed += 1;
    }
    const events = `${queuePrefix}:${name}:events`;
    for (const [id, fields] of await redis.xrange(events, '-', '+'))
      if (isNamed(fields.join(' '))) removed += await redis.xdel(events, id);
    return removed;
  } finally {
    await queue.close();
  }
}
