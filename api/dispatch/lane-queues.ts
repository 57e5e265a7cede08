import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import {
  type ChunkJob,
  encodePayload,
  type Lane,
  laneQueueName,
  lanes,
  maxInJob,
  type OutgoingPayload,
} from '../../shared/messages/score-job.js';
import { errorLog } from '../../shared/process/error-log.js';
import type { Logger } from '../../shared/process/logger.js';
import { payloadKey, queuePrefix } from '../../shared/redis/keys.js';

/** Chunks of one gateway in a lane. Waiting singles share chunks, so fewer of them are better. */
const windows = {
  singles: { min: 4, perWorker: 2 },
  batches: { min: 16, perWorker: 4 },
} as const;
const countEveryMs = 5_000;
const jobName = 'chunk';
const maxEvents = 100; // BullMQ writes one event a job, and no process reads them

/** The BullMQ queues that carry chunks to the workers. */
export class LaneQueues {
  private readonly workerCounts = new Map<Lane, number>();
  private counting: NodeJS.Timeout | undefined;
  private readonly queues: ReadonlyMap<Lane, Queue<ChunkJob>>;

  /** @param redis carries payloads and jobs, so that a payload always arrives before its job */
  constructor(
    private readonly redis: Redis,
    private readonly logger: Logger,
  ) {
    this.queues = new Map(lanes.map((lane) => [lane, this.open(lane)]));
  }

  /** Adds a chunk to a lane. Its key has `timeoutMs` as TTL; workers skip a chunk whose key is gone. */
  async add(lane: Lane, payload: OutgoingPayload, timeoutMs: number): Promise<void> {
    const queue = this.queues.get(lane);
    if (queue === undefined) throw new Error(`there is no lane ${lane}`);
    const { parts, ...head } = payload;
    const { chunk } = head;
    const text = encodePayload(parts);
    const isShort = text.length <= maxInJob;
    const job: ChunkJob = { ...head, ...(isShort ? { payload: text } : {}) };
    await Promise.all([
      this.redis.set(payloadKey(chunk), isShort ? '' : text, 'PX', timeoutMs),
      queue.add(jobName, job, { jobId: chunk }),
    ]);
  }

  /** Chunks that this gateway has in a lane at most: enough to keep every worker busy. */
  windowSize(lane: Lane): number {
    const { min, perWorker } = windows[lane];
    return Math.max(min, perWorker * (this.workerCounts.get(lane) ?? 0));
  }

  /** Counts the workers of each lane now and every five seconds. */
  async start(): Promise<void> {
    await this.countWorkers();
    this.counting = setInterval(() => void this.countWorkers(), countEveryMs);
    this.counting.unref();
  }

  /** Cancels a chunk, so that no worker starts it. */
  cancel(lane: Lane, chunkId: string): void {
    const queue = this.queues.get(lane);
    Promise.all([this.redis.del(payloadKey(chunkId)), queue?.remove(chunkId)]).catch((error: unknown) => {
      this.logger.debug({ chunk: chunkId, error }, 'chunk cancel failed, its key will expire');
    });
  }

  /** Chunks that wait in a lane. */
  async depth(lane: Lane): Promise<number> {
    return (await this.queues.get(lane)?.getWaitingCount()) ?? 0;
  }

  async close(): Promise<void> {
    clearInterval(this.counting);
    await Promise.all([...this.queues.values()].map((queue) => queue.close()));
  }

  private async countWorkers(): Promise<void> {
    for (const [lane, queue] of this.queues) {
      try {
        this.workerCounts.set(lane, await queue.getWorkersCount());
      } catch (error) {
        this.logger.debug({ lane, error }, 'worker count failed');
      }
    }
  }

  private open(lane: Lane): Queue<ChunkJob> {
    const queue = new Queue<ChunkJob>(laneQueueName(lane), {
      connection: this.redis,
      prefix: queuePrefix,
      streams: { events: { maxLen: maxEvents } },
      defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
    });
    queue.on('error', errorLog(this.logger, 'lane error', { lane }));
    return queue;
  }
}
