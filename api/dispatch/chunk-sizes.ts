import type { Lane } from '../../shared/contract/lanes.js';
import { maxChunkRecords, smallChunkRecords } from '../../shared/messages/score-job.js';
import type { LaneQueues } from './lane-queues.js';

interface SizedCall {
  readonly lane: Lane;
  readonly records: number;
  /** Whether its records take long, as those that are explained. */
  readonly isSlow: boolean;
}

/**
 * Chooses how many records a chunk has. While processes of the lane are idle, a batch is divided among them. While each
 * has work, a batch is one chunk, because each chunk costs all processes CPU time.
 *
 * It knows the calls of this gateway alone. Beside other gateways it sees more idle processes than there are, and its
 * chunks are smaller than needed.
 */
export class ChunkSizes {
  /** Chunks of the calls that are being scored. */
  private readonly chunks = new Map<Lane, number>();

  constructor(private readonly queues: Pick<LaneQueues, 'workersOf'>) {}

  /**
   * Runs `send` with the max records of each chunk of a call. Its chunks count as work of the lane until it ends.
   * @throws what `send` throws
   */
  async run<Result>(call: SizedCall, send: (maxRecords: number) => Promise<Result>): Promise<Result> {
    const chunks = this.chunksOf(call);
    this.count(call.lane, chunks);
    try {
      return await send(Math.ceil(call.records / chunks));
    } finally {
      this.count(call.lane, -chunks);
    }
  }

  private chunksOf({ lane, records, isSlow }: SizedCall): number {
    const most = Math.max(1, Math.ceil(records / smallChunkRecords));
    if (isSlow) return most;
    const idle = this.queues.workersOf(lane) - (this.chunks.get(lane) ?? 0);
    return Math.max(1, Math.ceil(records / maxChunkRecords), Math.min(idle, most));
  }

  private count(lane: Lane, change: number): void {
    this.chunks.set(lane, (this.chunks.get(lane) ?? 0) + change);
  }
}
