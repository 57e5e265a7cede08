import { ApiError } from '../contract/errors.js';

export interface FairQueueOptions {
  /** How many items run at once in a partition. Read again at each turn, so it may change. */
  readonly size: (partition: number) => number;
  /** How many items wait at most. One owner may have half of them. */
  readonly maxWaiting: number;
  /** An item goes to another partition than its first only if that partition is used up to this share of its size. */
  readonly maxOtherShare?: number;
  /** Monotonic ms. */
  readonly nowMs?: () => number;
}

/** Where items may run, in order of preference. Asked at each turn, once for all items that have the same function. */
export type Partitions = () => readonly number[];

interface Waiting {
  readonly start: (partition: number) => void;
  readonly partitions: Partitions;
  readonly sinceMs: number;
  isOver: boolean;
}

/**
 * An owner's item is refused when the owner's oldest item has waited for this share of the new one's timeout. A hung
 * worker delays items by 6 s of 10, which must not refuse any.
 */
const maxOldestShare = 0.8;

const onlyPartition: Partitions = () => [0];

/**
 * Runs a limited number of items at once, in one partition or in several. Owners (organisations, networks) take turns
 * in round robin, so an owner that sends a flood waits for itself and delays another owner by one round. An owner gets
 * no more turns by using several partitions.
 */
export class FairQueue {
  /** The waiting items of each owner, in the order of arrival. The first owner has the next turn. */
  private readonly waiting = new Map<string, Waiting[]>();
  private waitingCount = 0;
  private readonly running = new Map<number, number>();
  private readonly nowMs: () => number;

  constructor(private readonly options: FairQueueOptions) {
    this.nowMs = options.nowMs ?? (() => performance.now());
  }

  /** Items that wait. */
  get depth(): number {
    return this.waitingCount;
  }

  /** Whether no item runs or waits. */
  get isIdle(): boolean {
    return this.waitingCount === 0 && [...this.running.values()].every((count) => count === 0);
  }

  /**
   * Runs `work` at the owner's turn.
   * @param timeoutMs longest wait. Work that waited so long never runs
   * @throws ApiError internalError after `timeoutMs`, or at once where the queue is full or too slow for this timeout;
   * what `work` throws
   */
  async run<Result>(
    owner: string,
    timeoutMs: number,
    work: (partition: number) => Promise<Result>,
    partitions: Partitions = onlyPartition,
  ): Promise<Result> {
    // The size may have grown since the last turn.
    this.fill();
    const free = this.roomIn(partitions());
    if (free !== undefined) this.count(free, 1);
    const partition = free ?? (await this.turn(owner, timeoutMs, partitions));
    try {
      return await work(partition);
    } finally {
      this.count(partition, -1);
      this.fill();
    }
  }

  private count(partition: number, change: number): void {
    this.running.set(partition, (this.running.get(partition) ?? 0) + change);
  }

  /** The first of these partitions that has room. */
  private roomIn(partitions: readonly number[]): number | undefined {
    const { maxOtherShare = 1 } = this.options;
    return partitions.find((partition, index) => {
      const size = this.options.size(partition);
      return (this.running.get(partition) ?? 0) < (index === 0 ? size : Math.floor(size * maxOtherShare));
    });
  }

  /** Waits for a turn in one of the partitions. The turn already counts as running when this resolves. */
  private async turn(owner: string, timeoutMs: number, partitions: Partitions): Promise<number> {
    const nowMs = this.nowMs();
    const { maxWaiting } = this.options;
    const own = this.waiting.get(owner);
    const oldestMs = own?.find(({ isOver }) => !isOver)?.sinceMs ?? nowMs;
    const isFull = this.waitingCount >= maxWaiting || (own?.length ?? 0) >= Math.ceil(maxWaiting / 2);
    // As in CoDel, the age of the oldest item tells that the queue is too slow. A refusal now saves the caller the
    // wait.
    if (isFull || nowMs - oldestMs > maxOldestShare * timeoutMs) throw overloaded();
    return await new Promise<number>((resolve, reject) => {
      const timer = setTimeout(() => {
        item.isOver = true;
        reject(overloaded());
      }, timeoutMs);
      const start = (partition: number) => {
        clearTimeout(timer);
        resolve(partition);
      };
      const item: Waiting = { start, partitions, sinceMs: nowMs, isOver: false };
      this.waitingCount += 1;
      if (own === undefined) this.waiting.set(owner, [item]);
      else own.push(item);
    });
  }

  private fill(): void {
    while (this.startNext());
  }

  /** Starts the next item for which there is room. Its owner goes to the end of the round. */
  private startNext(): boolean {
    if (this.waiting.size === 0 || !this.hasRoom) return false;
    const full = new Set<Partitions>();
    for (const [owner, items] of this.waiting) {
      while (items[0]?.isOver) {
        items.shift();
        this.waitingCount -= 1;
      }
      const found = this.firstWithRoom(items, full);
      const [next] = found === undefined ? [] : items.splice(found.index, 1);
      if (next !== undefined || items.length === 0) this.waiting.delete(owner);
      if (next === undefined || found === undefined) continue;
      const { partition } = found;
      if (items.length > 0) this.waiting.set(owner, items);
      this.waitingCount -= 1;
      this.count(partition, 1);
      next.start(partition);
      return true;
    }
    return false;
  }

  /**
   * The first item that has room, and where.
   * @param full those without room; gets more
   */
  private firstWithRoom(items: readonly Waiting[], full: Set<Partitions>) {
    for (const [index, { isOver, partitions }] of items.entries()) {
      if (isOver || full.has(partitions)) continue;
      const partition = this.roomIn(partitions());
      if (partition !== undefined) return { index, partition };
      full.add(partitions);
    }
    return undefined;
  }

  /** Whether a partition that was full has room. */
  private get hasRoom(): boolean {
    return [...this.running].some(([partition, running]) => running < this.options.size(partition));
  }
}

const overloaded = (): ApiError =>
  new ApiError(
    'internalError',
    'The service is overloaded: the call could not be started in time. It was not counted. Retry later.',
    { retryAfterSeconds: 2 },
  );
