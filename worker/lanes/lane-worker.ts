import { once } from 'node:events';
import { Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { type ChunkJob, type Lane, laneQueueName } from '../../shared/messages/score-job.js';
import { errorLog } from '../../shared/process/error-log.js';
import { isRedisRefusal } from '../../shared/redis/info.js';
import { queuePrefix } from '../../shared/redis/keys.js';
import { ChunkReplies } from './chunk-replies.js';
import { type ChunkDeps, handleChunk } from './handle-chunk.js';
import { patchMarker } from './marker-patch.js';
import { OneAtATime } from './one-at-a-time.js';
import { lookForStalledMs } from './stalled-jobs.js';

export interface LaneWorkerOptions extends Omit<ChunkDeps, 'mailbox'> {
  readonly lane: Lane;
  /** Chunks in hand at once: while one waits for MongoDB, the next can be run. */
  readonly concurrency: number;
  /** Whether so many are taken only while one takes long: see OneAtATime. */
  readonly oneAtATime: boolean;
  /** This lane's own: BullMQ's commands and the replies go over it. */
  readonly connection: Redis;
}

const lockMs = 5_000;
/**
 * A BullMQ worker of one lane: takes a job, scores its chunk, replies. Jobs return nothing and are removed.
 * A killed worker's job is given to another within seven seconds, once.
 */
export function startLaneWorker(options: LaneWorkerOptions): Worker<ChunkJob> {
  const { commands, connection, logger } = options;
  const deps = { ...options, mailbox: new ChunkReplies({ commands, replies: connection, logger }) };
  patchMarker(connection);
  const oneAtATime = new OneAtATime(options.concurrency);
  const worker = new Worker<ChunkJob>(
    laneQueueName(options.lane),
    (job, token) => oneAtATime.during(() => handleChunk(job, token, deps)),
    {
      connection,
      prefix: queuePrefix,
      concurrency: options.concurrency,
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
      lockDuration: lockMs,
      stalledInterval: lookForStalledMs,
      maxStalledCount: 1,
      runRetryDelay: 250,
      autorun: false,
    },
  );
  worker.on('error', errorLog(logger, 'lane error', { lane: options.lane }));
  backOffOnOom(worker);
  if (options.oneAtATime) oneAtATime.govern(worker);
  return worker;
}

/**
 * Lets a BullMQ worker take no more jobs, and end those that it has in hand. Without Redis there is nothing to wait for: they
 * are done again elsewhere.
 * @param connection the worker's own
 */
export async function closeWorker(worker: Worker, connection: Redis): Promise<void> {
  if (connection.status !== 'ready') return await worker.close(true);
  const closed = new AbortController();
  // Redis may go meanwhile, or have gone unnoticed.
  const lost = once(connection, 'close', { signal: closed.signal }).catch(() => undefined);
  await Promise.race([worker.close(), lost]);
  closed.abort();
}

const restMs = 250;

/**
 * Lets a BullMQ worker rest for a moment when Redis refuses a command, as a full one does. By itself it would ask for its
 * next job again at once, thousands of times a second, and say so in the log each time.
 */
export function backOffOnOom<Data>(worker: Worker<Data>): void {
  worker.on('error', (error) => {
    if (!isRedisRefusal(error) || worker.isPaused()) return;
    void worker.pause(true);
    setTimeout(() => {
      if (worker.closing === undefined) void worker.resume();
    }, restMs);
  });
}
