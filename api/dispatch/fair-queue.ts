import { ApiError } from '../../shared/contract/errors.js';

export interface FairQueueOptions {
  /** How many items run at once. Read again at each turn, so it may change. */
  readonly size: () => number;
  /** How many items wait at most. One owner may use half of these places. */
  readonly maxWaiting: number;
  /** Monotonic ms. */
  readonly nowMs?: () => number;
}

interface Waiting {
  readonly start: () => void;
  readonly sinceMs: number;
  isOver: boolean;
}

/**
 * An owner's item is refused when the owner's oldest item has waited for this share of the new one's timeout. A hung
 * worker delays items by 6 s of 10, which must not refuse any.
 */
const maxOldestShare = 0.8;

/**
 * Runs a limited number of items at once. Owners (organisations, networks) take turns in round robin, so an owner that
 * sends a flood waits for itself and delays another owner by one round.
 */
export class FairQueue {
  /** The waiting items of each owner, in the order of arrival. The first owner has the next turn. */
  private readonly waiting = new Map<string, Waiting[]>();
  private waitingCount = 0;
  private running = 0;
  private readonly nowMs: () => number;

  constructor(private readonly options: FairQueueOptions) {
    this.nowMs = options.nowMs ?? (() => performance.now());
  }

  /** Items that wait. */
  get depth(): number {
    return this.waitingCount;
  }

  /**
   * Runs `work` at the owner's turn.
   * @param timeoutMs longest wait. Work that waited so long never runs
   * @throws ApiError internalError after `timeoutMs`, or at once where the queue is full or too slow for this timeout;
   * what `work` throws
   */
  async run<Result>(owner: string, timeoutMs: number, work: () => Promise<Result>): Promise<Result> {
    // The size may have grown since the last turn.
    this.fill();
    if (this.hasRoom) this.running += 1;
    else await this.turn(owner, timeoutMs);
    try {
      return await work();
    } finally {
      this.running -= 1;
      this.fill();
    }
  }

  private get hasRoom(): boolean {
    return this.running < this.options.size();
  }

  /** Waits for a turn. The turn already counts as running when this resolves. */
  private async turn(owner: string, timeoutMs: number): Promise<void> {
    const nowMs = this.nowMs();
    const { maxWaiting } = this.options;
    const own = this.waiting.get(owner);
    const oldestMs = own?.find(({ isOver }) => !isOver)?.sinceMs ?? nowMs;
    const isFull = this.waitingCount >= maxWaiting || (own?.length ?? 0) >= Math.ceil(maxWaiting / 2);
    // As in CoDel, the age of the oldest item tells that the queue is too slow. A refusal now saves the caller the wait.
    if (isFull || nowMs - oldestMs > maxOldestShare * timeoutMs) throw overloaded();
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        item.isOver = true;
        reject(overloaded());
      }, timeoutMs);
      const start = () => {
        clearTimeout(timer);
        resolve();
      };
      const item: Waiting = { start, sinceMs: nowMs, isOver: false };
      this.waitingCount += 1;
      if (own === undefined) this.waiting.set(owner, [item]);
      else own.push(item);
    });
  }

  private fill(): void {
    while (this.hasRoom) {
      const next = this.next();
      if (next === undefined) return;
      if (next.isOver) continue;
      this.running += 1;
      next.start();
    }
  }

  /** Takes the next item. Its owner goes to the end of the round. */
  private next(): Waiting | undefined {
    const [turn] = this.waiting;
    if (turn === undefined) return undefined;
    const [owner, items] = turn;
    const next = items.shift();
    this.waiting.delete(owner);
    if (items.length > 0) this.waiting.set(owner, items);
    if (next !== undefined) this.waitingCount -= 1;
    return next;
  }
}

const overloaded = (): ApiError =>
  new ApiError(
    'internalError',
    'The service is overloaded: the call could not be started in time. It was not counted. Retry later.',
    { retryAfterSeconds: 2 },
  );
