import { Queue } from 'bullmq';
import { errorLog } from '../process/error-log.js';
import type { Stoppable } from '../process/lifecycle.js';
import type { Logger } from '../process/logger.js';
import type { Redis } from '../redis/connect.js';
import { queuePrefix, queueStreams } from '../redis/keys.js';

/** The queues of turns: jobs that are scored, organisations whose files are read, and models with a candidate. */
export const turnQueues = { scoring: 'bulk-job-turns', reading: 'bulk-reads', candidates: 'candidate-runs' } as const;

export interface TurnQueueOptions {
  /** Name of the BullMQ queue. */
  readonly queue: string;
  readonly commands: Redis;
  readonly logger: Logger;
}

/** Owners that wait for a turn: organisations, jobs or models. */
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
