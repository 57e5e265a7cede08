import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { type Repeated, repeatEvery } from '../../shared/async/repeat.js';
import { type InteractiveLane, interactiveLanes, type Lane, lanes } from '../../shared/contract/lanes.js';
import { partitionSharing } from '../../shared/messages/partitions.js';
import {
  type ChunkHead,
  type ChunkJob,
  encodePayload,
  laneQueueName,
  maxInJob,
  type OutgoingPayload,
} from '../../shared/messages/score-job.js';
import { errorLog } from '../../shared/process/error-log.js';
import type { Logger } from '../../shared/process/logger.js';
import { heldKey, partitionPrefix, payloadKey, queueStreams } from '../../shared/redis/keys.js';
import { inOneWrite } from '../../shared/redis/lua-command.js';
import { WorkerRegister } from '../../shared/redis/worker-register.js';
import { type PresenceOptions, WorkerPresence } from './worker-presence.js';

/** Chunks of one process in a lane. Waiting singles share chunks, so fewer of them are better. */
const windows = {
  singles: { min: 4, perWorker: 2 },
  batches: { min: 16, perWorker: 4 },
  bulk: { min: 8, perWorker: 4 },
} as const;
const minInPartition = 2; // one is scored while the next waits
const readEveryMs = 5_000;
/** So soon a gateway notices the first process of a lane. */
const readWithoutMs = 500;
const jobName = 'chunk';
/** Below this wait no single or batch suffers, ms. */
export const calmMs = 5;
const heldTtlMs = 500;

type QueuedChunk = Pick<ChunkHead, 'chunk' | 'partition'>;

export interface WaitingHeads {
  /** Ids of the chunks that each queue gives next, where one waits. */
  readonly ids: readonly string[];
  /** The last long wait of a chunk in a gateway, ms; 0 without one in the last half second. */
  readonly heldMs: number;
}

interface RegisterOfLane {
  readonly lane: Lane;
  readonly register: WorkerRegister;
  readonly sharesOf: ReturnType<typeof partitionSharing>;
}

/** The BullMQ queues that carry chunks to the workers: one for each lane of each partition. */
export class LaneQueues {
  /** The worker processes of each partition, by lane. One that serves several partitions counts as a part in each. */
  private readonly workers = new Map<Lane, ReadonlyMap<number, number>>();
  private servedPartitions: number;
  private saysDifference = false;
  /** The waits that `heldKey` has from this gateway, and their ends on the clock of `performance.now()`. */
  private readonly told = new Map<Lane, { readonly ms: number; readonly untilMs: number }>();
  private readonly registers: readonly RegisterOfLane[];
  private readonly presence: WorkerPresence;
  private reading: Repeated | undefined;
  /** Further reads, while a lane has no process. */
  private watching: Repeated | undefined;
  private isClosing = false;
  private readBeganMs = Number.NEGATIVE_INFINITY;
  private readonly queues = new Map<string, Queue<ChunkJob>>();

  /**
   * @param redis carries payloads and jobs, so that a payload always arrives before its job
   * @param configuredPartitions `LANES` of this process
   */
  constructor(
    private readonly redis: Redis,
    private readonly configuredPartitions: number,
    private readonly logger: Logger,
    presence: PresenceOptions = {},
  ) {
    this.presence = new WorkerPresence(presence);
    this.servedPartitions = configuredPartitions;
    this.registers = lanes.map((lane) => ({
      lane,
      register: new WorkerRegister(redis, lane),
      sharesOf: partitionSharing(),
    }));
  }

  /** Number of partitions that get chunks: `LANES` of this process, or of a worker process that has a smaller one. */
  get partitions(): number {
    return this.servedPartitions;
  }

  /**
   * Adds a chunk to a lane. Its key has `timeoutMs` as TTL; workers skip a chunk whose key is gone.
   * @param heldMs how long it has waited in this gateway for room in the lane
   */
  async add(lane: Lane, payload: OutgoingPayload, timeoutMs: number, heldMs = 0): Promise<void> {
    const { parts, ...head } = payload;
    const text = encodePayload(parts);
    const isShort = text.length <= maxInJob;
    const job: ChunkJob = { ...head, ...(isShort ? { payload: text } : {}) };
    if (heldMs >= calmMs && lane !== 'bulk') this.tellHeld(lane, heldMs);
    await Promise.all([
      this.redis.set(payloadKey(head), isShort ? '' : text, 'PX', timeoutMs),
      this.queue(lane, head.partition).add(jobName, job, { jobId: head.chunk }),
    ]);
  }

  /** Chunks that this gateway has in a partition of a lane at most: enough to keep every worker busy. */
  windowSize(lane: Lane, partition: number): number {
    const { min, perWorker } = windows[lane];
    const forWorkers = Math.ceil(perWorker * (this.workers.get(lane)?.get(partition) ?? 0));
    return Math.max(minInPartition, Math.ceil(min / this.partitions), forWorkers);
  }

  /** Worker processes of a lane, of all pools. */
  workersOf(lane: Lane): number {
    // A process that serves three partitions counts as a third in each, and thirds do not add up to one.
    return Math.round([...(this.workers.get(lane)?.values() ?? [])].reduce((sum, count) => sum + count, 0));
  }

  /** Whether a lane has had no worker process for ten seconds. */
  isWithoutWorkers(lane: Lane): boolean {
    return this.presence.isWithout(lane);
  }

  /**
   * Why singles or batches cannot be scored; undefined when they can.
   * @param ignoresLost whether a lane is enough whose processes were seen once
   */
  problem(ignoresLost: boolean): string | undefined {
    return this.presence.problem(ignoresLost);
  }

  /** Reads the registers of workers now and every five seconds, or every half second while a lane has no process. */
  async start(): Promise<void> {
    await this.readWorkers();
    this.reading = repeatEvery(readEveryMs, () => this.readWhenDue());
  }

  /** Cancels a chunk, so that no worker starts it. */
  cancel(lane: Lane, queued: QueuedChunk): void {
    const { chunk, partition } = queued;
    const cancelled = [this.redis.del(payloadKey(queued)), this.queue(lane, partition).remove(chunk)];
    Promise.all(cancelled).catch((error: unknown) => {
      this.logger.debug({ chunk, error }, 'chunk cancel failed, its key will expire');
    });
  }

  /** Chunks that wait in a partition of a lane. */
  async depth(lane: Lane, partition: number): Promise<number> {
    return await this.queue(lane, partition).getWaitingCount();
  }

  /**
   * The chunks of singles and batches that wait longest: the next job of each queue, in all partitions. Also the last
   * long wait in a gateway. Takes one round trip.
   * @throws the error of Redis
   */
  async waitingHeads(): Promise<WaitingHeads> {
    inOneWrite(this.redis);
    const keys = Array.from({ length: this.configuredPartitions }, (_, partition) =>
      interactiveLanes.map((lane) => `${partitionPrefix(partition)}:${laneQueueName(lane)}:wait`),
    );
    // BullMQ takes jobs from the end of the list.
    const heads = keys.flat().map((key) => this.redis.lindex(key, -1));
    const held = interactiveLanes.map((lane) => this.redis.get(heldKey(lane)));
    const [waits, ids] = await Promise.all([Promise.all(held), Promise.all(heads)]);
    return { ids: ids.filter((id) => id !== null), heldMs: Math.max(...waits.map(Number)) };
  }

  async close(): Promise<void> {
    this.isClosing = true;
    await Promise.all([this.reading?.stop(), this.watching?.stop()]);
    await Promise.all([...this.queues.values()].map((queue) => queue.close()));
  }

  /** In the same write as the chunk. A shorter wait does not hide a longer one of this gateway. */
  private tellHeld(lane: InteractiveLane, heldMs: number): void {
    const nowMs = performance.now();
    const told = this.told.get(lane);
    if (told !== undefined && nowMs < told.untilMs && heldMs <= told.ms) return;
    this.told.set(lane, { ms: heldMs, untilMs: nowMs + heldTtlMs });
    this.redis
      .set(heldKey(lane), Math.round(heldMs), 'PX', heldTtlMs)
      .catch((error: unknown) => this.logger.debug({ error }, 'could not write the wait of a chunk'));
  }

  private async readWhenDue(): Promise<void> {
    // The ticks of both intervals fall together.
    if (performance.now() - this.readBeganMs < readWithoutMs / 2) return;
    await this.readWorkers();
  }

  private watchWhileAbsent(): void {
    if (this.presence.isAnyAbsent && !this.isClosing) {
      this.watching ??= repeatEvery(readWithoutMs, () => this.readWhenDue());
      return;
    }
    void this.watching?.stop();
    this.watching = undefined;
  }

  private async readWorkers(): Promise<void> {
    this.readBeganMs = performance.now();
    try {
      inOneWrite(this.redis);
      const read = this.registers.map(async ({ lane, register, sharesOf }) => {
        const processes = await register.list();
        this.workers.set(lane, workersOfPartitions(sharesOf(processes)));
        return processes.map(({ partitions }) => partitions);
      });
      this.followPartitions((await Promise.all(read)).flat());
      this.presence.noteRead((lane) => (this.workers.get(lane)?.size ?? 0) > 0);
    } catch (error) {
      this.presence.noteFailure();
      this.logger.debug({ error }, 'could not read the register of workers');
    }
    this.watchWhileAbsent();
  }

  /**
   * While `LANES` is being changed, some worker processes serve fewer partitions than others. Chunks go to those that
   * all of them know.
   * @param known partitions of each worker process
   */
  private followPartitions(known: readonly number[]): void {
    const served = Math.min(this.configuredPartitions, ...known);
    const differs = known.some((partitions) => partitions !== this.configuredPartitions);
    if (differs && (served !== this.servedPartitions || !this.saysDifference)) {
      this.logger.warn(
        { lanes: this.configuredPartitions, ofWorkers: [...new Set(known)], served },
        `LANES is ${this.configuredPartitions} here, but not in each worker process. Calls use ${served} partitions. ` +
          'Give all processes the same number',
      );
    }
    this.saysDifference = differs;
    this.servedPartitions = served;
  }

  private queue(lane: Lane, partition: number): Queue<ChunkJob> {
    const key = `${lane} ${partition}`;
    const known = this.queues.get(key);
    if (known !== undefined) return known;
    const queue = new Queue<ChunkJob>(laneQueueName(lane), {
      connection: this.redis,
      prefix: partitionPrefix(partition),
      streams: queueStreams,
      defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
    });
    queue.on('error', errorLog(this.logger, 'lane error', { lane, partition }));
    this.queues.set(key, queue);
    return queue;
  }
}

/** The worker processes of each partition, from the partitions of each process. */
function workersOfPartitions(shares: ReadonlyMap<string, readonly number[]>): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const share of shares.values())
    for (const partition of share) counts.set(partition, (counts.get(partition) ?? 0) + 1 / share.length);
  return counts;
}
