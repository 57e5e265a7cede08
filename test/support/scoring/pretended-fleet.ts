import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { ColdVersions } from '../../../api/dispatch/cold-versions.js';
import { Dispatcher } from '../../../api/dispatch/dispatcher.js';
import { LaneQueues } from '../../../api/dispatch/lane-queues.js';
import { ReplyStream } from '../../../api/dispatch/reply-stream.js';
import { Limit } from '../../../shared/async/at-once.js';
import type { Lane } from '../../../shared/contract/lanes.js';
import { createLogger } from '../../../shared/process/logger.js';
import { registerEveryMs } from '../../../shared/redis/worker-register.js';
import { laneTimings } from '../../../worker/lanes/lane-worker.js';
import { PartitionWorkers } from '../../../worker/lanes/partition-workers.js';
import { CrashNote, CrashNoteWriter } from '../../../worker/pool/crash-note.js';
import { freshDatabases } from '../service/servers.js';
import { scoredPart } from './scoring-call.js';

/** Worker processes of a lane. */
interface PretendedLane {
  readonly processes: number;
  readonly chunkMs: number;
}

export interface FleetOptions {
  readonly lanes: Readonly<Partial<Record<Lane, PretendedLane>>>;
  /** As `LANES`. */
  readonly partitions?: number;
}

const logger = createLogger('silent', 'test');
const watchEveryMs = 20;

/**
 * A dispatcher and worker processes on a real Redis, all in this process. Each takes chunks as a real one does, and
 * waits in place of computing. So a fleet is larger than the machine.
 */
export class PretendedFleet {
  readonly queues: LaneQueues;
  readonly dispatcher: Dispatcher;
  private readonly connections: Redis[] = [];
  private readonly crashNote = new CrashNote();
  private readonly running: PartitionWorkers[];
  private readonly replies: ReplyStream;
  private readonly inHand = new Map<Lane, number[]>();

  private constructor(
    private readonly redisUrl: string,
    { lanes, partitions = 1 }: FleetOptions,
  ) {
    this.running = (Object.entries(lanes) as [Lane, PretendedLane][]).flatMap(([lane, { processes, chunkMs }]) => {
      this.inHand.set(
        lane,
        Array.from({ length: processes }, () => 0),
      );
      return Array.from({ length: processes }, (_, index) => this.worker(lane, { index, chunkMs, partitions }));
    });
    const jobs = this.connect();
    this.queues = new LaneQueues(jobs, partitions, logger);
    this.replies = new ReplyStream({ gatewayId: 'gw', blocking: this.connect(), commands: jobs, logger });
    const coldVersions = new ColdVersions();
    this.dispatcher = new Dispatcher({ gatewayId: 'gw', queues: this.queues, replies: this.replies, coldVersions });
  }

  /** Starts a fleet on an empty Redis. */
  static async start(options: FleetOptions): Promise<PretendedFleet> {
    const fleet = new PretendedFleet((await freshDatabases()).redisUrl, options);
    await Promise.all(fleet.running.map((each) => each.start()));
    // The first of them took more partitions than their share, and hand them over.
    if ((options.partitions ?? 1) > 1) await pause(3 * registerEveryMs);
    await fleet.queues.start();
    fleet.replies.start();
    return fleet;
  }

  /** The processes of a lane that have a chunk in hand. */
  busy(lane: Lane): number {
    return (this.inHand.get(lane) ?? []).filter((count) => count > 0).length;
  }

  /** The median of `busy` until a time on the clock of `performance.now()`. */
  async medianBusy(lane: Lane, untilMs: number): Promise<number> {
    const busy: number[] = [];
    for (; performance.now() < untilMs; await pause(watchEveryMs)) busy.push(this.busy(lane));
    busy.sort((one, other) => one - other);
    return busy[Math.floor(busy.length / 2)] ?? 0;
  }

  async stop(): Promise<void> {
    await this.replies.stop();
    await this.queues.close();
    await Promise.all(this.running.map((each) => each.stop()));
    for (const connection of this.connections) connection.disconnect();
    this.crashNote.close();
  }

  private worker(
    lane: Lane,
    { index, chunkMs, partitions }: { readonly index: number; readonly chunkMs: number; readonly partitions: number },
  ): PartitionWorkers {
    const hold = (change: number): void => {
      const counts = this.inHand.get(lane) ?? [];
      counts[index] = (counts[index] ?? 0) + change;
    };
    // One chunk at a time: a real process computes one, whatever it has in hand.
    const computing = new Limit(1);
    return new PartitionWorkers({
      ...{ self: { id: `${lane}-${index}`, partitions }, lane },
      ...{ connection: this.connect(), commands: this.connect() },
      begin:
        ({ chunk, parts }) =>
        async () => {
          hold(1);
          await computing.run(() => pause(chunkMs));
          hold(-1);
          return { chunk, parts: parts.map(({ rows }) => scoredPart(rows.map(() => 50))) };
        },
      ...{ crashNote: new CrashNoteWriter(this.crashNote.descriptor), timings: laneTimings, logger },
    });
  }

  private connect(): Redis {
    const connection = new Redis(this.redisUrl, { maxRetriesPerRequest: null, replyMapping: 'legacy' });
    this.connections.push(connection);
    return connection;
  }
}
