import { setTimeout as wait } from 'node:timers/promises';
import { Limit } from '../../shared/async/at-once.js';
import { retryAtStart } from '../../shared/async/retry.js';
import { everyTick } from '../../shared/async/ticks.js';
import { partitionSharing, type RegisteredWorker } from '../../shared/messages/partitions.js';
import type { Stoppable } from '../../shared/process/lifecycle.js';
import { registerEveryMs, WorkerRegister } from '../../shared/redis/worker-register.js';
import { closeWorker, type LaneWorkerOptions, laneConcurrency, startLaneWorker } from './lane-worker.js';

export interface PartitionWorkersOptions extends Omit<LaneWorkerOptions, 'partition' | 'limit'> {
  /** This process. */
  readonly self: RegisteredWorker;
}

/** Other processes have taken up the partitions of a process that stops after this time. */
const handOverMs = 2 * registerEveryMs;

/**
 * Serves this process's share of the partitions, with a BullMQ worker for each. Every second it renews its heartbeat in
 * the register, and computes its share from all registered processes. Without Redis the share stays as it is.
 */
export class PartitionWorkers implements Stoppable {
  readonly name = 'partitions';
  private readonly serving = new Map<number, ReturnType<typeof startLaneWorker>>();
  private readonly register: WorkerRegister;
  private readonly sharesOf = partitionSharing();
  private readonly limit = new Limit(laneConcurrency);
  private endRenewals: (() => void) | undefined;
  private renewing: Promise<void> = Promise.resolve();
  private isStopping = false;
  private isSucceeded = false;

  constructor(private readonly options: PartitionWorkersOptions) {
    this.register = new WorkerRegister(options.commands, options.lane);
  }

  /**
   * Registers this process; resolves when it takes chunks.
   * @throws the error of Redis, if it lasts
   */
  async start(): Promise<void> {
    await retryAtStart(() => this.renew());
    this.endRenewals = everyTick(registerEveryMs, () => this.renewSoon());
  }

  /** Notes that a process with the same id serves the same partitions: at its stop, this one leaves it the entry. */
  leaveToSuccessor(): void {
    this.isSucceeded = true;
  }

  async stop(): Promise<void> {
    this.isStopping = true;
    this.endRenewals?.();
    await this.renewing;
    if (!this.isSucceeded) await this.handOver();
    await Promise.all([...this.serving.keys()].map((partition) => this.drop(partition)));
  }

  private async handOver(): Promise<void> {
    const { self, logger } = this.options;
    await this.register
      .remove(self)
      .catch((error: unknown) => logger.debug({ error }, 'could not leave the register, the heartbeat will expire'));
    // With a single partition, all processes serve it.
    if (self.partitions > 1) await wait(handOverMs);
  }

  private renewSoon(): void {
    this.renewing = this.renewing
      .then(() => this.renew())
      .catch((error: unknown) => this.options.logger.debug({ error }, 'could not renew the heartbeat of this worker'));
  }

  private async renew(): Promise<void> {
    if (this.isStopping) return;
    const { self, logger } = this.options;
    const share = this.sharesOf(await this.register.renew(self)).get(self.id) ?? [];
    await Promise.all(share.filter((each) => !this.serving.has(each)).map((each) => this.take(each)));
    // Chunks in flight are finished first, which must not delay the next heartbeat.
    for (const partition of this.serving.keys())
      if (!share.includes(partition))
        this.drop(partition).catch((error: unknown) =>
          logger.warn({ partition, error }, 'could not close a partition'),
        );
  }

  private async take(partition: number): Promise<void> {
    const worker = startLaneWorker({ ...this.options, partition, limit: this.limit });
    this.serving.set(partition, worker);
    try {
      await worker.waitUntilReady();
      void worker.run();
    } catch (error) {
      // Else the next renewal would take it for served.
      await this.drop(partition);
      throw error;
    }
  }

  private async drop(partition: number): Promise<void> {
    const worker = this.serving.get(partition);
    this.serving.delete(partition);
    if (worker !== undefined) await closeWorker(worker, this.options.connection);
  }
}
