import { Queue, Worker } from 'bullmq';
import { errorLog } from '../../shared/process/error-log.js';
import type { Stoppable } from '../../shared/process/lifecycle.js';
import type { Logger } from '../../shared/process/logger.js';
import type { Redis } from '../../shared/redis/connect.js';
import { queuePrefix, queueStreams } from '../../shared/redis/keys.js';

export interface TurnsOptions {
  /** Name of the BullMQ queue. */
  readonly queue: string;
  /** Turns that this process takes at once. */
  readonly atOnce: number;
  /**
   * Takes a turn of an organisation. No other process takes one of the same organisation meanwhile, unless this one
   * seemed dead.
   * @returns whether the organisation needs another turn, behind those of the others
   */
  readonly take: (organisationId: string) => Promise<boolean>;
  readonly commands: Redis;
  readonly blocking: Redis;
  readonly logger: Logger;
}

/** Turns of organisations. */
export interface Turns extends Stoppable {
  /** Puts organisations into the queue that are not in it. */
  add(organisationIds: Iterable<string>): Promise<void>;
}

const jobOptions = { removeOnComplete: true, removeOnFail: true };

/** Round robin of organisations over all runners: a BullMQ queue with one job for each organisation. */
export function startTurns({ queue: name, atOnce, take, commands, blocking, logger }: TurnsOptions): Turns {
  const queue = new Queue<{ readonly organisation: string }, boolean>(name, {
    connection: commands,
    prefix: queuePrefix,
    streams: queueStreams,
  });
  queue.on('error', errorLog(logger, 'bulk queue error', { queue: name }));
  const add = async (organisationIds: Iterable<string>): Promise<void> => {
    // The id of the BullMQ job keeps an organisation from being in the queue twice.
    const jobs = [...organisationIds].map((organisation) => ({
      name: 'turn',
      data: { organisation },
      opts: { ...jobOptions, jobId: organisation },
    }));
    if (jobs.length > 0) await queue.addBulk(jobs);
  };
  const worker = new Worker<{ readonly organisation: string }, boolean>(name, (job) => take(job.data.organisation), {
    connection: blocking,
    prefix: queuePrefix,
    concurrency: atOnce,
    // An organisation of a runner that died waits for this long. A turn that runs twice is harmless.
    lockDuration: 10_000,
    stalledInterval: 5_000,
    runRetryDelay: 250,
    removeOnComplete: { count: 0 },
    removeOnFail: { count: 0 },
  });
  worker.on('error', errorLog(logger, 'bulk turns error', { queue: name }));
  // Only now its id is free. When the process dies before, the schedule adds the organisation again.
  worker.on('completed', (job, isMore) => {
    if (isMore)
      add([job.data.organisation]).catch((error: unknown) =>
        logger.debug({ error }, 'turn not added, the schedule adds it'),
      );
  });
  worker.on('failed', (job, error) =>
    logger.warn({ organisation: job?.data.organisation, error }, 'a turn of bulk jobs failed'),
  );
  return {
    name: `${name} turns`,
    add,
    stop: async () => {
      await worker.close(blocking.status !== 'ready');
      await queue.close();
    },
  };
}
