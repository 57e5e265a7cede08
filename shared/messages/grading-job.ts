import { Queue } from 'bullmq';
import type { Redis } from '../redis/connect.js';
import { queuePrefix, queueStreams } from '../redis/keys.js';

/** The queue of grading jobs. A queue of its own: a long grade must delay neither scores nor the sweep. */
export const gradingQueueName = 'grading';

/** The jobs of the grading queue, by name. */
export interface GradingJobs {
  /** Finds the versions whose grade is due, and grades them. */
  readonly 'find-due': { readonly level?: number };
  /** Grades the models of an organisation after outcomes have arrived. */
  readonly 'grade-organisation': { readonly organisationId: string };
  /** Grades one version of a model. */
  readonly 'grade-version': { readonly modelId: string; readonly version: string };
}

/** A job in the queue. */
export type GradingJob = {
  readonly [Name in keyof GradingJobs]: { readonly name: Name; readonly data: GradingJobs[Name] };
}[keyof GradingJobs];

const names: readonly GradingJob['name'][] = ['find-due', 'grade-organisation', 'grade-version'];

/** Whether this release knows a job of the grading queue: a later one may put others there. */
export const isGradingJob = ({ name }: { readonly name: string }): boolean => names.some((known) => known === name);

/** BullMQ options: completed jobs are removed, the last 100 failed ones kept. */
export const gradingJobOptions = {
  removeOnComplete: true,
  removeOnFail: { count: 100 },
  attempts: 3,
  backoff: { type: 'exponential', delay: 5_000 },
} as const;

/**
 * Queues a grade of an organisation's models, unless one is queued already.
 * @param delayMs how long the grade waits, for more outcomes of the same import
 * @throws the error of Redis
 */
export async function requestGrading(redis: Redis, organisationId: string, delayMs = 0): Promise<void> {
  const queue = new Queue(gradingQueueName, { connection: redis, prefix: queuePrefix, streams: queueStreams });
  queue.on('error', () => undefined); // `add` throws it too, and BullMQ would print it
  try {
    const job: GradingJobs['grade-organisation'] = { organisationId };
    await queue.add('grade-organisation', job, {
      ...gradingJobOptions,
      delay: delayMs,
      deduplication: { id: `organisation-${organisationId}` },
    });
  } finally {
    await queue.close();
  }
}
