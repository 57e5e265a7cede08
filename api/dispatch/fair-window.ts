import { ApiError } from '../../shared/errors.js';

export interface FairWindowOptions {
  /** Chunks of this gateway in the lane at once. */
  readonly size: () => number;
  /** Chunks that may wait here; what comes beyond them could not be answered in time. */
  readonly mostWaiting: number;
}

interface Waiting {
  readonly start: () => void;
  readonly cancelled: () => boolean;
}

/**
 * Keeps a lane short and shares it fairly: a gateway has only so many chunks in the lane, and the next place goes to the
 * organisations in turn. However much one of them sends, another's next chunk waits for one round and not behind all.
 */
export class FairWindow {
  /** Organisations that wait, in the order of their turns; each with its chunks in the order in which they came. */
  private readonly waiting = new Map<string, Waiting[]>();
  private waitingCount = 0;
  private inLane = 0;

  constructor(private readonly options: FairWindowOptions) {}

  /** Chunks that wait here. */
  get depth(): number {
    return this.waitingCount;
  }

  /**
   * Runs `send` when the organisation's turn has come.
   * @param timeoutMs the longest wait; a chunk that waited this long is not sent
   * @throws ApiError internalError at once when too many wait already, or after `timeoutMs`; what `send` throws
   */
  async run<Result>(organisationId: string, timeoutMs: number, send: () => Promise<Result>): Promise<Result> {
    if (this.inLane >= this.options.size() || this.waitingCount > 0)
      await this.turn(organisationId, timeoutMs);
    this.inLane += 1;
    try {
      return await send();
    } finally {
      this.inLane -= 1;
      this.startNext();
    }
  }

  private async turn(organisationId: string, timeoutMs: number): Promise<void> {
    if (this.waitingCount >= this.options.mostWaiting) throw overloaded();
    let isCancelled = false;
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        isCancelled = true;
        reject(overloaded());
      }, timeoutMs);
      const start = () => {
        clearTimeout(timer);
        resolve();
      };
      this.enqueue(organisationId, { start, cancelled: () => isCancelled });
    });
  }

  private enqueue(organisationId: string, chunk: Waiting): void {
    this.waitingCount += 1;
    const chunks = this.waiting.get(organisationId);
    if (chunks === undefined) this.waiting.set(organisationId, [chunk]);
    else chunks.push(chunk);
  }

  /** The organisation whose turn it was goes to the end of the line. */
  private startNext(): void {
    while (this.inLane < this.options.size()) {
      const [turn] = this.waiting;
      if (turn === undefined) return;
      const [organisationId, chunks] = turn;
      this.waiting.delete(organisationId);
      const chunk = chunks.shift();
      if (chunks.length > 0) this.waiting.set(organisationId, chunks);
      if (chunk === undefined) continue;
      this.waitingCount -= 1;
      if (chunk.cancelled()) continue;
      chunk.start();
      return;
    }
  }
}

const overloaded = (): ApiError =>
  new ApiError(
    'internalError',
    'The service is overloaded: the call could not be taken up in time. It was not counted.',
    {
      retryAfterSeconds: 2,
    },
  );
