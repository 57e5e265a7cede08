import type { Lane } from '../../shared/contract/lanes.js';
import { partitionsOf } from '../../shared/messages/partitions.js';
import type { LaneQueues } from './lane-queues.js';

/** A version has a second partition whatever its load, for the time when its home is full of other versions' chunks. */
const minPerVersion = 2;
/** A partition that is not a version's home takes its chunks only up to this share of its size. */
export const maxOtherShare = 0.5;

export interface VersionPartitionsOptions {
  readonly queues: Pick<LaneQueues, 'partitions' | 'windowSize'>;
  /** Whether a chunk of a partition has waited for too long. */
  readonly isSlow: (lane: Lane, partition: number) => boolean;
}

/** Chooses partitions for the chunks of each version: as many as the chunks of that version fill, its home first. */
export class VersionPartitions {
  private readonly loads = new Map<string, VersionLoad>();

  constructor(private readonly options: VersionPartitionsOptions) {}

  /**
   * Sends a chunk of a version, which counts in the version's load until it is answered.
   * @param versionKey `<model>:<version>`
   * @param send gets the function that chooses partitions, the same for all chunks of the version that are in flight
   */
  async run<Result>(
    lane: Lane,
    versionKey: string,
    send: (partitions: () => readonly number[]) => Promise<Result>,
  ): Promise<Result> {
    const key = `${lane} ${versionKey}`;
    const load = this.loads.get(key) ?? new VersionLoad(lane, versionKey, this.options);
    this.loads.set(key, load);
    load.chunks += 1;
    try {
      return await send(load.partitions);
    } finally {
      load.chunks -= 1;
      if (load.chunks === 0) this.loads.delete(key);
    }
  }
}

/** The chunks of a version in a lane that are sent or wait. */
class VersionLoad {
  chunks = 0;
  private ranking: readonly number[] = [];

  constructor(
    private readonly lane: Lane,
    private readonly versionKey: string,
    private readonly options: VersionPartitionsOptions,
  ) {}

  /** In order of preference. Slow ones come last, and the next of the ranking stand in for them. */
  readonly partitions = (): readonly number[] => {
    const { queues, isSlow } = this.options;
    if (this.ranking.length !== queues.partitions) this.ranking = partitionsOf(this.versionKey, queues.partitions);
    const fast: number[] = [];
    const slow: number[] = [];
    let room = 0;
    for (const partition of this.ranking) {
      if (fast.length >= minPerVersion && room >= this.chunks) break;
      if (isSlow(this.lane, partition)) slow.push(partition);
      else {
        const size = queues.windowSize(this.lane, partition);
        room += fast.length === 0 ? size : Math.floor(size * maxOtherShare);
        fast.push(partition);
      }
    }
    return [...fast, ...slow];
  };
}
