import { everyTick } from '../../shared/async/ticks.js';
import type { Stoppable } from '../../shared/process/lifecycle.js';
import { type PoolOptions, WorkerPool } from './pool.js';
import type { WorkerCounts } from './worker-counts.js';

/** The timings of production. */
export const bulkPoolTimings = {
  pollEveryMs: 1_000,
  idleMs: 45_000, // after the end of a demand, which outlives the last mark by up to 15 s
};

export interface BulkPoolOptions extends Omit<PoolOptions, 'lane'> {
  /** Whether bulk jobs need worker processes; see shared/redis/bulk-demand.ts. */
  readonly isDemanded: () => Promise<boolean>;
  readonly demand: Readonly<typeof bulkPoolTimings>;
}

/**
 * Runs the worker processes of bulk jobs while there are such jobs. It starts them on demand, and stops them some time
 * after the last demand; each finishes its chunks first. Without Redis they stay as they are.
 */
export class BulkPool implements Stoppable {
  readonly name = 'bulk worker pool';
  private readonly pool: WorkerPool;
  private endPolls: (() => void) | undefined;
  private isPolling = false;
  private demandedMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly options: BulkPoolOptions) {
    this.pool = new WorkerPool({ ...options, workers: 0, lane: 'bulk' });
  }

  /** Polls for a demand from now on. */
  async start(): Promise<void> {
    if (this.options.workers === 0) return;
    await this.pool.start();
    this.endPolls = everyTick(this.options.demand.pollEveryMs, () => void this.poll());
  }

  /** Processes that take jobs. */
  get readyCount(): number {
    return this.pool.readyCount;
  }

  /** Processes that the demand needs: none, or all of them. */
  get wantedCount(): number {
    return this.pool.wantedCount;
  }

  /** Processes that died; one that left because it was asked to does not count. */
  get deathCount(): number {
    return this.pool.deathCount;
  }

  /** The sums of the counts that the processes have reported. */
  get counts(): WorkerCounts {
    return this.pool.counts;
  }

  async stop(): Promise<void> {
    this.endPolls?.();
    await this.pool.stop();
  }

  private async poll(): Promise<void> {
    if (this.isPolling) return;
    this.isPolling = true;
    const { isDemanded, demand, logger, workers } = this.options;
    try {
      if (await isDemanded()) this.demandedMs = performance.now();
      const isIdle = performance.now() - this.demandedMs > demand.idleMs;
      const wanted = isIdle ? 0 : workers;
      if (wanted !== this.pool.wantedCount) {
        logger.info({ wanted }, 'number of bulk workers changes');
        this.pool.resize(wanted);
      }
    } catch (error) {
      logger.debug({ error }, 'could not read the demand of bulk jobs');
    } finally {
      this.isPolling = false;
    }
  }
}
