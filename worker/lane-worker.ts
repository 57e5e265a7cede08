import { DelayedError, type Job, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Logger } from '../shared/logger.js';
import { queuePrefix } from '../shared/redis-keys.js';
import {
  type ChunkJob,
  type ChunkPayload,
  type ChunkReply,
  type Lane,
  laneQueueName,
  messageVersion,
} from '../shared/score-job.js';
import { type ChunkMailbox, UnknownMessageVersion } from './chunk-mailbox.js';
import { OneAtATime } from './one-at-a-time.js';
import { restWhileRefused } from './rest-while-refused.js';
import { wakeNoOneInVain } from './wake-no-one-in-vain.js';

export interface LaneWorkerOptions {
  readonly lane: Lane;
  /** Chunks in hand at once: while one waits for MongoDB, the next can be run. */
  readonly concurrency: number;
  /** Whether so many are taken only while one takes long: see OneAtATime. */
  readonly oneAtATime: boolean;
  /** This lane's own. */
  readonly connection: Redis;
  readonly mailbox: ChunkMailbox;
  readonly score: (chunk: ChunkPayload) => Promise<ChunkReply>;
  readonly logger: Logger;
}

/** A job that this worker does not understand, or should leave alone, is put back for this long. */
const putBackMs = 100;

/** The model of the chunk holds up another worker: it is not known yet whether it will come back. */
class SuspectModel extends Error {}

const lockMs = 5_000;
/**
 * How often stalled jobs are looked for. Of all workers one looks in each interval, and when that one has died the next
 * may come just too early to take its place: a job waits for up to twice this long after its lock has run out.
 */
const lookForStalledMs = 1_000;

/**
 * A BullMQ worker of one lane: takes a job, reads its payload, scores it, replies. Jobs return nothing and are removed.
 * A killed worker's job is given to another within seven seconds, once.
 */
export function startLaneWorker(options: LaneWorkerOptions): Worker<ChunkJob> {
  wakeNoOneInVain(options.connection);
  const oneAtATime = new OneAtATime(options.concurrency);
  const worker = new Worker<ChunkJob>(
    laneQueueName(options.lane),
    (job, token) => oneAtATime.during(() => handle(job, token, options)),
    {
      connection: options.connection,
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
  worker.on('error', (error) =>
    options.logger.warn({ lane: options.lane, error: error.message }, 'lane error'),
  );
  restWhileRefused(worker);
  if (options.oneAtATime) oneAtATime.govern(worker);
  return worker;
}

async function handle(
  job: Job<ChunkJob>,
  token: string | undefined,
  options: LaneWorkerOptions,
): Promise<void> {
  try {
    if (job.data.v !== messageVersion) throw new UnknownMessageVersion(`message version ${job.data.v}`);
    const read = await options.mailbox.read(job.data.chunk);
    if (read === undefined) return;
    const { payload } = read;
    if (read.isSuspect && !read.isQuarantined) throw new SuspectModel();
    await options.mailbox.reply(
      payload,
      read.isQuarantined ? quarantined(payload) : await scoreOrFail(payload, options),
    );
  } catch (error) {
    if (!(error instanceof UnknownMessageVersion || error instanceof SuspectModel)) throw error;
    if (!(await options.mailbox.isWaitedFor(job.data.chunk))) return;
    await job.moveToDelayed(Date.now() + putBackMs, token);
    throw new DelayedError();
  }
}

const quarantined = ({ chunk, model, version }: ChunkPayload): ChunkReply => ({
  chunk,
  parts: [],
  failure: {
    code: 'model_unavailable',
    message: `version ${version} of ${model} is quarantined: it stopped two workers`,
  },
});

/** What cannot be scored is answered at once, not left to the caller's deadline. */
async function scoreOrFail(payload: ChunkPayload, { score, logger }: LaneWorkerOptions): Promise<ChunkReply> {
  try {
    return await score(payload);
  } catch (error) {
    logger.error({ chunk: payload.chunk, model: payload.model, error }, 'chunk could not be scored');
    return {
      chunk: payload.chunk,
      parts: [],
      failure: { code: 'scoring_failed', message: 'the records could not be scored' },
    };
  }
}
