import { Queue, type Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { Limit } from '../../shared/async/at-once.js';
import {
  type ChunkJob,
  type ChunkReply,
  encodePayload,
  laneQueueName,
  type OutgoingPart,
} from '../../shared/messages/score-job.js';
import { createLogger, type Logger } from '../../shared/process/logger.js';
import { partitionPrefix, payloadKey } from '../../shared/redis/keys.js';
import type { ChunkDeps } from '../../worker/lanes/handle-chunk.js';
import { laneConcurrency, laneTimings, startLaneWorker } from '../../worker/lanes/lane-worker.js';
import { CrashNote, CrashNoteWriter } from '../../worker/pool/crash-note.js';
import { freshDatabases } from './service/servers.js';

const lane = 'singles';
/** The partition of the rig's queue. */
export const partition = 0;

/** Id of the gateway that awaits all chunks. */
export const gateway = 'the-gateway-that-waits';

/** The timings of the rig's worker. */
export const rigTimings = { ...laneTimings, stalledCheckMs: 100, quietLookMs: 500, abandonedCheckMs: 100 };

interface SentChunk {
  /** Whether the job holds the payload. */
  readonly inJob?: boolean;
  /** Whether the gateway awaits it. */
  readonly isAwaited?: boolean;
  readonly parts?: readonly OutgoingPart[];
}

/** A lane worker on a Redis of its own, and its queue. */
export interface LaneRig {
  readonly redis: Redis;
  readonly queue: Queue<ChunkJob>;
  readonly worker: Worker<ChunkJob>;
  /** The worker's own connection, and the one for its reads. */
  readonly connection: Redis;
  readonly commands: Redis;
  /** Names the chunk that the worker works on. */
  readonly crashNote: CrashNote;
  /** A further connection, closed with the rest. */
  connect(): Redis;
  /** Queues a chunk as a gateway does, by default without records. */
  send(chunk: string, how?: SentChunk): Promise<void>;
  close(): Promise<void>;
}

/** For a rig whose chunks are scored by their ids alone. */
export const scoredBy =
  (score: (chunk: string) => Promise<ChunkReply>) =>
  (): ChunkDeps['begin'] =>
  ({ chunk }) =>
  () =>
    score(chunk);

/** Starts a lane worker on fresh databases. */
export async function laneRig(
  begin: (rig: { readonly commands: Redis }) => ChunkDeps['begin'],
  {
    logger = createLogger('silent', 'test'),
    timings = rigTimings,
  }: { readonly logger?: Logger; readonly timings?: typeof rigTimings } = {},
): Promise<LaneRig> {
  const { redisUrl } = await freshDatabases();
  const connections: Redis[] = [];
  const connect = (): Redis => {
    const connection = new Redis(redisUrl, { maxRetriesPerRequest: null, replyMapping: 'legacy' });
    connections.push(connection);
    return connection;
  };
  const [redis, connection, commands] = [connect(), connect(), connect()];
  const queue = new Queue<ChunkJob>(laneQueueName(lane), { connection: connect(), prefix: partitionPrefix(partition) });
  const crashNote = new CrashNote();
  const worker = startLaneWorker({
    lane,
    partition,
    limit: new Limit(laneConcurrency),
    connection,
    commands,
    begin: begin({ commands }),
    timings,
    crashNote: new CrashNoteWriter(crashNote.descriptor),
    logger,
  });
  await worker.waitUntilReady();
  void worker.run();
  return {
    redis,
    queue,
    worker,
    connection,
    commands,
    crashNote,
    connect,
    async send(chunk, { inJob = true, isAwaited = true, parts = [] } = {}) {
      const head = { chunk, partition, gateway, organisation: 'org', model: 'mdl', version: '1' };
      const payload = encodePayload(parts);
      if (isAwaited) await redis.set(payloadKey(head), inJob ? '' : payload, 'PX', 60_000);
      const job: ChunkJob = { ...head, ...(inJob ? { payload } : {}) };
      await queue.add('chunk', job, { jobId: chunk, removeOnComplete: true, removeOnFail: true });
    },
    async close() {
      await worker.close();
      await queue.close();
      for (const each of connections) each.disconnect();
      crashNote.close();
    },
  };
}
