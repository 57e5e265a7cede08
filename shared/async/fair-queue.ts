import { ApiError } from '../contract/errors.js';

export interface FairQueueOptions {
  /** How many items run at once in a place. Read again at each turn, so it may change. */
  readonly size: (place: number) => number;
  /** How many items wait at most. One owner may use half of these places. */
  readonly maxWaiting: number;
  /** Monotonic ms. */
  readonly nowMs?: () => number;
}

interface Waiting {
  readonly start: (place: number) => void;
  readonly places: readonly number[];
  readonly sinceMs: number;
  isOver: boolean;
}

/**
 * An owner's item is refused when the owner's oldest item has waited for this share of the new one's timeout. A hung
 * worker delays items by 6 s of 10, which must not refuse any.
 */
const maxOldestShare = 0.8;

const onlyPlace = [0];
/** An item goes to another place than its first only if that place is used up to this share of its size. */
const maxOtherShare = 0.5;

/**
 * Runs a limited number of items at once, in one place or in several. Owners (organisations, networks) take turns in
 * round robin, so an owner that sends a flood waits for itself and delays another owner by one round. An owner gets no
 * more turns by using several places.
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
   * @param places where it may run, in order of preference
   * @throws ApiError internalError after `timeoutMs`, or at once where the queue is full or too slow for this timeout;
   * what `work` throws
   */
  async run<Result>(
    owner: string,
    timeoutMs: number,
    work: (place: number) => Promise<Result>,
    places: readonly number[] = onlyPlace,
  ): Promise<Result> {
    // The size may have grown since the last turn.
    this.fill();
    const free = this.roomIn(places);
    if (free !== undefined) this.count(free, 1);
    const place = free ?? (await this.turn(owner, timeoutMs, places));
    try {
      return await work(place);
    } finally {
      this.count(place, -1);
      this.fill();
    }
  }

  private count(place: number, change: number): void {
    this.running.set(place, (this.running.get(place) ?? 0) + change);
  }

  /** The first of these places that has room. */
  private roomIn(places: readonly number[]): number | undefined {
    return places.find((place, index) => {
      const size = this.options.size(place);
      return (this.running.get(place) ?? 0) < (index === 0 ? size : Math.floor(size * maxOtherShare));
    });
  }

  /** Waits for a turn in one of the places. The turn already counts as running when this resolves. */
  private async turn(owner: string, timeoutMs: number, places: readonly number[]): Promise<number> {
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
      const start = (place: number) => {
        clearTimeout(timer);
        resolve(place);
      };
      const item: Waiting = { start, places, sinceMs: nowMs, isOver: false };
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
    for (const [owner, items] of this.waiting) {
      while (items[0]?.isOver) {
        items.shift();
        this.waitingCount -= 1;
      }
      const index = items.findIndex(({ isOver, places }) => !isOver && this.roomIn(places) !== undefined);
      const [next] = index < 0 ? [] : items.splice(index, 1);
      const place = next && this.roomIn(next.places);
      if (next !== undefined || items.length === 0) this.waiting.delete(owner);
      if (next === undefined || place === undefined) continue;
      if (items.length > 0) this.waiting.set(owner, items);
      this.waitingCount -= 1;
      this.count(place, 1);
      next.start(place);
      return true;
    }
    return false;
  }

  /** Whether a place that was full has room. */
  private get hasRoom(): boolean {
    return [...this.running].some(([place, running]) => running < this.options.size(place));
  }
}

const overloaded = (): ApiError =>
  new ApiError(
    'internalError',
    'The service is overloaded: the call could not be started in time. It was not counted. Retry later.',
    { retryAfterSeconds: 2 },
  );
