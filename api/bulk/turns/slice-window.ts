import { FairQueue } from '../../../shared/async/fair-queue.js';
import { InteractiveWaits, sufferingMs } from '../../dispatch/interactive-waits.js';
import { calmMs, type LaneQueues } from '../../dispatch/lane-queues.js';

export type WindowQueues = Pick<LaneQueues, 'waitingHeads' | 'workersOf'>;

/** Slices in flight for each worker process of bulk jobs, at most: one is read and written here while one is scored. */
const maxPerProcess = 2;
/** Until the register shows the processes that a first job starts. */
const minProcesses = 2;
/** Looks at the queues of singles and batches are at least so far apart, ms. */
const lookEveryMs = 20;
/** A smaller window shows its effect after about a slice. It is not halved again before. */
const halveEveryMs = 500;
/** Slices of a turn wait here, and a runner takes few turns at once. None is refused. */
const maxWaiting = 100_000;
const longMs = 24 * 60 * 60 * 1_000;

/**
 * Limits the slices that a runner has in flight, by congestion control. There are between one and two for each living
 * worker process of bulk jobs, as if there were at least two of these. The window grows by one a turn while no single
 * or batch waits, and halves when one waits for long. Worker processes of bulk jobs have the lowest priority, so this
 * bounds what they cannot: Redis and MongoDB.
 */
export class SliceWindow {
  private readonly slots: FairQueue;
  private readonly recordings: FairQueue;
  private readonly waits: InteractiveWaits;
  private wanted = Number.POSITIVE_INFINITY;
  private worstMs = 0;
  private halvedMs = Number.NEGATIVE_INFINITY;
  private lookedMs = Number.NEGATIVE_INFINITY;
  private looking: Promise<void> = Promise.resolve();

  constructor(
    private readonly queues: WindowQueues,
    private readonly nowMs = () => performance.now(),
  ) {
    this.waits = new InteractiveWaits(queues);
    this.slots = new FairQueue({ size: () => this.size, maxWaiting });
    this.recordings = new FairQueue({ size: () => Math.floor(this.min / 2), maxWaiting });
  }

  /** Slices in flight at most. */
  get size(): number {
    return Math.min(this.max, Math.max(this.min, this.wanted));
  }

  /** Slices in flight while no single or batch waits. */
  get max(): number {
    return maxPerProcess * this.min;
  }

  private get min(): number {
    return Math.max(minProcesses, this.queues.workersOf('bulk'));
  }

  /**
   * Runs a slice when the window has room. Slices of an owner begin in the order of calls.
   * @param owner whose turns these are
   * @throws what `work` throws; the error of Redis
   */
  async run<Result>(owner: string, work: () => Promise<Result>): Promise<Result> {
    return await this.slots.run(owner, longMs, async () => {
      await this.look();
      return await work();
    });
  }

  /**
   * Records a slice while at most one is recorded for every two worker processes. The slices of a turn begin together,
   * and would reach MongoDB together: single calls would wait for all of them.
   * @param owner whose slice it is
   * @throws what `work` throws
   */
  async recordInTurn<Result>(owner: string, work: () => Promise<Result>): Promise<Result> {
    return await this.recordings.run(owner, longMs, work);
  }

  /** At the end of a turn: makes room for another slice if no single or batch waited meanwhile. */
  endTurn(): void {
    if (this.worstMs < calmMs) this.wanted = Math.max(this.wanted, this.size) + 1;
    this.worstMs = 0;
  }

  /** Halves the window if a single or a batch waits for long. */
  private look(): Promise<void> {
    if (this.nowMs() - this.lookedMs >= lookEveryMs) {
      this.lookedMs = this.nowMs();
      this.looking = this.waits.oldestMs().then((ageMs) => {
        this.worstMs = Math.max(this.worstMs, ageMs);
        if (ageMs <= sufferingMs || this.nowMs() - this.halvedMs < halveEveryMs) return;
        this.halvedMs = this.nowMs();
        this.wanted = Math.floor(this.size / 2);
      });
    }
    return this.looking;
  }
}
