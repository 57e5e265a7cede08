import { once } from 'node:events';
import { type Job, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Limit } from '../../shared/async/at-once.js';
import type { Lane } from '../../shared/contract/lanes.js';
import { type ChunkJob, laneQueueName } from '../../shared/messages/score-job.js';
import { errorLog } from '../../shared/process/error-log.js';
import { isRedisRefusal } from '../../shared/redis/connect.js';
import { partitionPrefix } from '../../shared/redis/keys.js';
import { ChunkReplies } from './chunk-replies.js';
import { type ChunkDeps, handleChunk } from './handle-chunk.js';
import { checkForStalledJobs, stalledLockMs } from './stalled-jobs.js';

/** The timings of production. Another worker retries a killed worker's job within 7.5 s. */
export const laneTimings = {
  lockMs: 5_500, // longer than the hang limit: the chunk that hung a worker is refused before its job is retried
  stalledCheckMs: 1_000, // one worker checks in each interval; when that one has died, an interval is lost
  quietLookMs: 5_000, // in a lane without jobs in flight; shorter than a lock, so the job of a killed worker waits no longer
  abandonedCheckMs: 1_000, // most chunks take a fraction of it and are never checked
};

export interface LaneWorkerOptions extends Pick<ChunkDeps, 'commands' | 'begin' | 'crashNote' | 'logger'> {
  readonly lane: Lane;
  readonly partition: number;
  /** Limits the chunks in flight in this lane, in all partitions that the process serves. */
  readonly limit: Limit;
  /** For BullMQ's commands and the replies of this lane. */
  readonly connection: Redis;
  readonly timings: Readonly<typeof laneTimings>;
}

/** Chunks in flight in one worker: one runs its model while the other waits for Redis or MongoDB. */
export const laneConcurrency = 2;

/**
 * A BullMQ worker of one lane of a partition: takes a job, scores its chunk, replies. Jobs have no result and are
 * removed. The job of a killed worker is retried by another one, once.
 */
export function startLaneWorker(options: LaneWorkerOptions): Worker<ChunkJob> {
  const { lane, partition, limit, commands, connection, crashNote, logger, begin, timings } = options;
  const { abandonedCheckMs, lockMs, stalledCheckMs, quietLookMs } = timings;
  const replies = new ChunkReplies({ commands, replies: connection, logger });
  const deps: ChunkDeps = { replies, commands, begin, abandonedCheckMs, crashNote, logger };
  const handle = (job: Job<ChunkJob>) => limit.run(() => handleChunk(job.data, deps));
  const worker = new Worker<ChunkJob>(laneQueueName(lane), handle, {
    connection,
    prefix: partitionPrefix(partition),
    concurrency: laneConcurrency,
    removeOnComplete: { count: 0 },
    removeOnFail: { count: 0 },
    lockDuration: lockMs,
    stalledInterval: stalledLockMs(stalledCheckMs),
    skipStalledCheck: true, // BullMQ's own also checks quiet lanes
    maxStalledCount: 1,
    runRetryDelay: 250,
    autorun: false,
  });
  worker.on('error', errorLog(logger, 'lane error', { lane, partition }));
  backOffOnOom(worker);
  checkForStalledJobs(worker, { commands, stalledCheckMs, quietLookMs });
  return worker;
}

/**
 * Stops a BullMQ worker from taking jobs, and waits for those in flight. Without Redis it closes at once: another
 * worker retries the stalled jobs.
 * @param connection the worker's own
 */
export async function closeWorker(worker: Worker, connection: Redis): Promise<void> {
  if (connection.status !== 'ready') return await worker.close(true);
  const closed = new AbortController();
  // The connection may be lost meanwhile, or its loss may be noticed only now.
  const lost = once(connection, 'close', { signal: closed.signal }).catch(() => undefined);
  await Promise.race([worker.close(), lost]);
  closed.abort();
}

const backOffMs = 250;

/**
 * Pauses a BullMQ worker for a moment when Redis refuses a command, as it does when it is out of memory. BullMQ would
 * otherwise retry and log thousands of times a second.
 */
export function backOffOnOom<Data>(worker: Worker<Data>): void {
  worker.on('error', (error) => {
    if (!isRedisRefusal(error) || worker.isPaused()) return;
    void worker.pause(true);
    setTimeout(() => {
      if (worker.closing === undefined) void worker.resume();
    }, backOffMs);
  });
}
