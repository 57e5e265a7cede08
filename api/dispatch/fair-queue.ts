import { ApiError } from '../../shared/contract/errors.js';

export interface FairQueueOptions {
  /** How many may run at once. */
  readonly size: () => number;
  /** How many may wait; what comes beyond them could not be answered in time. */
  readonly maxWaiting: number;
  /** Monotonic ms. */
  readonly nowMs?: () => number;
}

interface Waiting {
  readonly start: () => void;
  readonly refuse: () => void;
  readonly isOver: () => boolean;
}

/** How much the newest time weighs in what is expected of the next. */
const newestWeight = 0.2;

const blended = (before: number | undefined, newest: number): number =>
  before === undefined ? newest : before + newestWeight * (newest - before);

/**
 * Keeps a line short and shares it fairly: only so many run at once, and the next place goes to the organisations in turn.
 * However much one of them sends, another's next waits for one round and not behind all. What could not come to its turn in
 * time is refused at once: when too many wait, those of the organisation that waits with most; and when, as turns have come
 * of late, its own would come too late to be done in time.
 */
export class FairQueue {
  /** Organisations that wait, in the order of their turns; each with what it waits with, in the order in which it came. */
  private readonly waiting = new Map<string, Waiting[]>();
  private waitingCount = 0;
  private running = 0;
  /** Ms between two turns while there was a line; undefined until two have come. */
  private turnEveryMs: number | undefined;
  private lastTurnMs: number | undefined;
  /** Ms that what was run and did not fail took; undefined until something has ended. */
  private runMs: number | undefined;
  private readonly nowMs: () => number;

  constructor(private readonly options: FairQueueOptions) {
    this.nowMs = options.nowMs ?? (() => performance.now());
  }

  /** How many wait. */
  get depth(): number {
    return this.waitingCount;
  }

  /**
   * Runs `send` when the organisation's turn has come.
   * @param timeoutMs the longest wait; what waited this long is not run
   * @throws ApiError internalError at once when its turn could not come in time, or when too many wait; or after
   * `timeoutMs`; what `send` throws
   */
  async run<Result>(organisationId: string, timeoutMs: number, send: () => Promise<Result>): Promise<Result> {
    // Its size may have grown since the last turn. Where there is room after this, nobody waits.
    this.fill();
    if (this.hasRoom) this.running += 1;
    else await this.turn(organisationId, timeoutMs);
    const beganMs = this.nowMs();
    let result: Result;
    try {
      result = await send();
    } catch (error) {
      this.end(undefined);
      throw error;
    }
    this.end(this.nowMs() - beganMs);
    return result;
  }

  private get hasRoom(): boolean {
    return this.running < this.options.size();
  }

  /** Waits for a turn; its place is taken then. */
  private async turn(organisationId: string, timeoutMs: number): Promise<void> {
    if (this.expectedMs(organisationId) > timeoutMs) throw overloaded();
    if (this.waitingCount >= this.options.maxWaiting) this.makeRoomFor(organisationId);
    await new Promise<void>((resolve, reject) => {
      let isOver = false;
      const end = (how: () => void) => {
        clearTimeout(timer);
        isOver = true;
        how();
      };
      const refuse = () => end(() => reject(overloaded()));
      const timer = setTimeout(refuse, timeoutMs);
      this.enqueue(organisationId, { start: () => end(resolve), refuse, isOver: () => isOver });
    });
  }

  /** When an organisation's next would have been run, at the pace of late: each other one has as many turns before it. */
  private expectedMs(organisationId: string): number {
    const own = 1 + (this.waiting.get(organisationId)?.length ?? 0);
    let turns = own;
    for (const [other, line] of this.waiting)
      if (other !== organisationId) turns += Math.min(line.length, own);
    return turns * (this.turnEveryMs ?? 0) + (this.runMs ?? 0);
  }

  /** Refuses the last of the organisation that waits with most, for one that waits with less. */
  private makeRoomFor(organisationId: string): void {
    let longest: Waiting[] = [];
    for (const line of this.waiting.values()) if (line.length > longest.length) longest = line;
    const own = this.waiting.get(organisationId)?.length ?? 0;
    const last = longest.length > own + 1 ? longest.pop() : undefined;
    if (last === undefined) throw overloaded();
    this.waitingCount -= 1;
    last.refuse();
  }

  private enqueue(organisationId: string, waiting: Waiting): void {
    this.waitingCount += 1;
    const line = this.waiting.get(organisationId);
    if (line === undefined) this.waiting.set(organisationId, [waiting]);
    else line.push(waiting);
  }

  /**
   * Something has ended: the next have their turn.
   * @param tookMs undefined when it failed. That tells nothing of the next: after servers were away for a while, what failed
   * at its deadline would have the first that come refused
   */
  private end(tookMs: number | undefined): void {
    this.running -= 1;
    if (tookMs !== undefined) this.runMs = blended(this.runMs, tookMs);
    const turns = this.fill();
    if (tookMs === undefined) this.lastTurnMs = undefined;
    else if (turns > 0) this.noteTurn();
    else if (this.waitingCount === 0) this.lastTurnMs = undefined;
  }

  /** Gives turns while there is room. */
  private fill(): number {
    let turns = 0;
    while (this.hasRoom) {
      const next = this.next();
      if (next === undefined) return turns;
      if (next.isOver()) continue;
      turns += 1;
      this.running += 1;
      next.start();
    }
    return turns;
  }

  /** Takes the next out of the line; the organisation whose turn it was goes to its end. */
  private next(): Waiting | undefined {
    const [turn] = this.waiting;
    if (turn === undefined) return undefined;
    const [organisationId, line] = turn;
    const next = line.shift();
    this.waiting.delete(organisationId);
    if (line.length > 0) this.waiting.set(organisationId, line);
    if (next !== undefined) this.waitingCount -= 1;
    return next;
  }

  /** Those that come to their turn beside it, because there is more room, say nothing of how often one comes. */
  private noteTurn(): void {
    const nowMs = this.nowMs();
    if (this.lastTurnMs !== undefined) this.turnEveryMs = blended(this.turnEveryMs, nowMs - this.lastTurnMs);
    this.lastTurnMs = nowMs;
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
