import type { Worker } from 'bullmq';

/** Most jobs take less; one that takes longer waits for something, such as a model to be loaded. */
const longMs = 25;

/**
 * Has a BullMQ worker take one job at a time, and up to `most` while one takes long: the others then do not wait for it.
 * To take several at a time costs a round trip a job, because BullMQ asks for another before it runs the one it has.
 */
export class OneAtATime {
  private longJobs = 0;
  private worker: Worker | undefined;

  constructor(private readonly most: number) {}

  /** Begins with a worker, whose every job is run by `during`. */
  govern(worker: Worker): void {
    this.worker = worker;
    worker.concurrency = 1;
  }

  /** Runs a job. Gives what `run` gives, and throws what it throws. */
  async during(run: () => Promise<void>): Promise<void> {
    let isLong = false;
    const timer = setTimeout(() => {
      isLong = true;
      this.longJobs += 1;
      if (this.longJobs === 1) this.takeMore();
    }, longMs);
    try {
      await run();
    } finally {
      clearTimeout(timer);
      if (isLong) this.longJobs -= 1;
      if (this.longJobs === 0 && this.worker !== undefined) this.worker.concurrency = 1;
    }
  }

  private takeMore(): void {
    const { worker } = this;
    if (worker === undefined) return;
    worker.concurrency = this.most;
    if (worker.isPaused() || worker.closing !== undefined) return;
    // It looks whether it can take more when a job ends, and when it is resumed.
    void worker.pause(true).then(() => worker.resume());
  }
}
