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

/** Singles grow together while they wait for their turn, so few chunks of them are better than many. */
const windows = {
  singles: { smallest: 4, perWorker: 2 },
  batches: { smallest: 16, perWorker: 4 },
} as const;
const countEveryMs = 5_000;
const jobName = 'chunk';
/** BullMQ writes an event a job; nobody reads them. */
const eventsKept = 100;

/** The lanes on which chunks travel to the workers. */
export class LaneQueues {
  private readonly workerCounts = new Map<Lane, number>();
  private counting: NodeJS.Timeout | undefined;
  private readonly queues: ReadonlyMap<Lane, Queue<ChunkJob>>;

  /** @param redis a connection for commands; payloads and jobs go over the same one, so a payload is always there first */
  constructor(
    private readonly redis: Redis,
    private readonly logger: Logger,
  ) {
    this.queues = new Map(lanes.map((lane) => [lane, this.open(lane)]));
  }

  /** Puts a chunk into a lane; it goes away by itself after `timeoutMs`, when nobody waits for it any more. */
  async add(lane: Lane, payload: OutgoingPayload, timeoutMs: number): Promise<void> {
    const queue = this.queues.get(lane);
    if (queue === undefined) throw new Error(`there is no lane ${lane}`);
    const { chunk } = payload;
    const text = encodePayload(payload);
    const isShort = text.length <= maxInJob;
    const job: ChunkJob = { chunk, ...(isShort ? { payload: text } : {}) };
    await Promise.all([
      this.redis.set(payloadKey(chunk), isShort ? '' : text, 'PX', timeoutMs),
      queue.add(jobName, job, { jobId: chunk }),
    ]);
  }

  /** Chunks that this gateway may have in a lane at once: enough to keep every worker busy, and no more. */
  windowSize(lane: Lane): number {
    const { smallest, perWorker } = windows[lane];
    return Math.max(smallest, perWorker * (this.workerCounts.get(lane) ?? 0));
  }

  /** Counts the workers of each lane now and every few seconds. */
  async start(): Promise<void> {
    await this.countWorkers();
    this.counting = setInterval(() => void this.countWorkers(), countEveryMs);
    this.counting.unref();
  }

  /** Takes a chunk back: a worker that has not begun with it will not. */
  cancel(lane: Lane, chunkId: string): void {
    const queue = this.queues.get(lane);
    Promise.all([this.redis.del(payloadKey(chunkId)), queue?.remove(chunkId)]).catch((error: unknown) => {
      this.logger.debug({ chunk: chunkId, error }, 'a chunk is left to run out');
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
        this.logger.debug({ lane, error }, 'the workers could not be counted');
      }
    }
  }

  private open(lane: Lane): Queue<ChunkJob> {
    const queue = new Queue<ChunkJob>(laneQueueName(lane), {
      connection: this.redis,
      prefix: queuePrefix,
      streams: { events: { maxLen: eventsKept } },
      defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
    });
    queue.on('error', errorLog(this.logger, 'lane error', { lane }));
    return queue;
  }
}
