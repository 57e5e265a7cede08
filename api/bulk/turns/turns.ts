import { Worker } from 'bullmq';
import { openTurnQueue, type TurnQueue, type TurnQueueOptions } from '../../../shared/messages/turn-queue.js';
import { errorLog } from '../../../shared/process/error-log.js';
import type { Redis } from '../../../shared/redis/connect.js';
import { queuePrefix } from '../../../shared/redis/keys.js';

export interface TurnsOptions extends TurnQueueOptions {
  /** Turns that this process takes at once. */
  readonly atOnce: number;
  /**
   * Takes a turn of an owner. No other process takes one of the same owner meanwhile, unless this one seemed dead.
   * @returns whether the owner needs another turn, behind those of the others
   */
  readonly take: (owner: string) => Promise<boolean>;
  readonly blocking: Redis;
}

/** Round robin of owners over all runners: a BullMQ queue with one job for each owner. */
export function startTurns({ queue: name, atOnce, take, commands, blocking, logger }: TurnsOptions): TurnQueue {
  const queue = openTurnQueue({ queue: name, commands, logger });
  const { add } = queue;
  const worker = new Worker<unknown, boolean>(name, (job) => take(job.id ?? ''), {
    connection: blocking,
    prefix: queuePrefix,
    concurrency: atOnce,
    // An owner that a runner served when it died waits for this long. A turn that runs twice is harmless.
    lockDuration: 10_000,
    stalledInterval: 5_000,
    runRetryDelay: 250,
    removeOnComplete: { count: 0 },
    removeOnFail: { count: 0 },
  });
  worker.on('error', errorLog(logger, 'bulk turns error', { queue: name }));
  // Only now its id is free. When the process dies before, the schedule adds the owner again.
  worker.on('completed', (job, isMore) => {
    if (isMore)
      add([job.id ?? '']).catch((error: unknown) => logger.debug({ error }, 'turn not added, the schedule adds it'));
  });
  worker.on('failed', (job, error) => logger.warn({ of: job?.id, error }, 'a turn of bulk jobs failed'));
  return {
    ...queue,
    name: `${name} turns`,
    stop: async () => {
      await worker.close(blocking.status !== 'ready');
      await queue.stop();
    },
  };
}
