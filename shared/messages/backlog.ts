import { type Lane, lanes } from '../contract/lanes.js';
import type { Redis } from '../redis/connect.js';
import { backlogKey } from '../redis/keys.js';

/** How far the workers of a lane are behind, over all partitions and message versions. */
export interface Backlog {
  /** Seconds that a chunk which arrives now waits for a worker, at the present rate. */
  readonly backlogSeconds: number;
  /** Age of the chunk that has waited longest, in seconds; 0 without one. */
  readonly oldestChunkSeconds: number;
}

export type Backlogs = Readonly<Record<Lane, Backlog>>;

/** Backlogs that are measured no more disappear after this time. */
const ttlMs = 30_000;

/**
 * Writes the backlogs, for metrics and autoscalers. A field has a name such as `singles_backlog_seconds`.
 * @param further fields for the next measurement
 * @throws the error of Redis
 */
export async function writeBacklogs(
  redis: Redis,
  backlogs: Backlogs,
  further: Readonly<Record<string, number>>,
): Promise<void> {
  const fields = lanes.flatMap((lane): [string, string][] => [
    [`${lane}_backlog_seconds`, seconds(backlogs[lane].backlogSeconds)],
    [`${lane}_oldest_chunk_seconds`, seconds(backlogs[lane].oldestChunkSeconds)],
  ]);
  await redis
    .multi()
    .hset(backlogKey, { ...Object.fromEntries(fields), ...further })
    .pexpire(backlogKey, ttlMs)
    .exec();
}

/**
 * The latest measured backlogs; undefined when no pool has measured within 30 s.
 * @throws the error of Redis
 */
export async function readBacklogs(redis: Redis): Promise<Backlogs | undefined> {
  const fields = await redis.hgetall(backlogKey);
  if (Object.keys(fields).length === 0) return undefined;
  const ofLane = (lane: Lane): Backlog => ({
    backlogSeconds: Number(fields[`${lane}_backlog_seconds`]),
    oldestChunkSeconds: Number(fields[`${lane}_oldest_chunk_seconds`]),
  });
  return { singles: ofLane('singles'), batches: ofLane('batches'), bulk: ofLane('bulk') };
}

const seconds = (value: number): string => value.toFixed(3);
