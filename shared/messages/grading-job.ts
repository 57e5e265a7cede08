import { Queue } from 'bullmq';
import type { Redis } from '../redis/connect.js';
import { queuePrefix, queueStreams } from '../redis/keys.js';

/** The queue of grading jobs. A queue of its own: a long grade must delay neither scores nor the sweep. */
export const gradingQueueName = 'grading';

/** The jobs of the grading queue, by name. */
export interface GradingJobs {
  /** Finds the versions whose grade is due, and grades them. */
  readonly 'find-due': Record<string, never>;
  /** Grades the models of an organisation after an import of outcomes. */
  readonly 'grade-organisation': { readonly organisationId: string };
  /** Grades one version of a model. */
  readonly 'grade-version': { readonly modelId: string; readonly version: string };
}

/** A job in the queue. */
export type GradingJob = {
  readonly [Name in keyof GradingJobs]: { readonly name: Name; readonly data: GradingJobs[Name] };
}[keyof GradingJobs];

/** BullMQ options: completed jobs are removed, the last 100 failed ones kept. */
export const gradingJobOptions = {
  removeOnComplete: true,
  removeOnFail: { count: 100 },
  attempts: 3,
  backoff: { type: 'exponential', delay: 5_000 },
} as const;

/**
 * Queues a grade of an organisation's models, unless one is queued already.
 * @throws the error of Redis
 */
export async function requestGrading(redis: Redis, organisationId: string): Promise<void> {
  const queue = new Queue(gradingQueueName, { connection: redis, prefix: queuePrefix, streams: queueStreams });
  try {
    const job: GradingJobs['grade-organisation'] = { organisationId };
    await queue.add('grade-organisation', job, {
      ...gradingJobOptions,
      deduplication: { id: `organisation-${organisationId}` },
    });
  } finally {
    await queue.close();
  }
}
