import { Queue, Worker } from 'bullmq';
import { errorLog } from '../../../shared/process/error-log.js';
import type { Stoppable } from '../../../shared/process/lifecycle.js';
import type { Logger } from '../../../shared/process/logger.js';
import type { Redis } from '../../../shared/redis/connect.js';
import { queuePrefix, queueStreams } from '../../../shared/redis/keys.js';

/** The queues of turns: jobs that are scored, and organisations whose files are read. */
export const turnQueues = { scoring: 'bulk-job-turns', reading: 'bulk-reads' } as const;

export interface TurnQueueOptions {
  /** Name of the BullMQ queue. */
  readonly queue: string;
  readonly commands: Redis;
  readonly logger: Logger;
}

/** Owners that wait for a turn: organisations or jobs. */
export interface TurnQueue extends Stoppable {
  /** Puts owners into the queue that are not in it. */
  add(owners: Iterable<string>): Promise<void>;
  /** Owners that wait for a turn, of all processes. */
  waiting(): Promise<number>;
}

const jobOptions = { removeOnComplete: true, removeOnFail: true };

/** Opens a queue without taking turns from it. */
export function openTurnQueue({ queue: name, commands, logger }: TurnQueueOptions): TurnQueue {
  const queue = new Queue<unknown, boolean>(name, {
    connection: commands,
    prefix: queuePrefix,
    streams: queueStreams,
  });
  queue.on('error', errorLog(logger, 'bulk queue error', { queue: name }));
  return {
    name: `${name} queue`,
    add: async (owners) => {
      // The id of the BullMQ job keeps an owner from being in the queue twice.
      const jobs = [...owners].map((jobId) => ({ name: 'turn', data: {}, opts: { ...jobOptions, jobId } }));
      if (jobs.length > 0) await queue.addBulk(jobs);
    },
    waiting: () => queue.getWaitingCount(),
    stop: () => queue.close(),
  };
}

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
