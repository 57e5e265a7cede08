import { Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { errorLog } from '../shared/error-log.js';
import { queuePrefix } from '../shared/redis-keys.js';
import { type ChunkJob, type Lane, laneQueueName } from '../shared/score-job.js';
import { ChunkMailbox } from './chunk-mailbox.js';
import { type ChunkRooms, handleChunk } from './handle-chunk.js';
import { OneAtATime } from './one-at-a-time.js';
import { restWhileRefused } from './rest-while-refused.js';
import { lookForStalledMs } from './stalled-jobs.js';
import { wakeNoOneInVain } from './wake-no-one-in-vain.js';

export interface LaneWorkerOptions extends Omit<ChunkRooms, 'mailbox'> {
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
  const rooms = { ...options, mailbox: new ChunkMailbox({ commands, replies: connection, logger }) };
  wakeNoOneInVain(connection);
  const oneAtATime = new OneAtATime(options.concurrency);
  const worker = new Worker<ChunkJob>(
    laneQueueName(options.lane),
    (job, token) => oneAtATime.during(() => handleChunk(job, token, rooms)),
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
  restWhileRefused(worker);
  if (options.oneAtATime) oneAtATime.govern(worker);
  return worker;
}
