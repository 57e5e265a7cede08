import { Queue } from 'bullmq';
import type { Redis } from '../redis/connect.js';
import { queuePrefix } from '../redis/keys.js';

/** The lane on which models are graded: of its own, so that a long grade delays neither a score nor the sweep. */
export const gradingQueueName = 'grading';

/** Every job of that lane, by its name. */
export interface GradingJobs {
  /** Find the versions whose grade is due, and grade them. */
  readonly 'find-due': Record<string, never>;
  /** Grade the models of an organisation: outcomes were imported. */
  readonly 'grade-organisation': { readonly organisationId: string };
  /** Grade one version of a model. */
  readonly 'grade-version': { readonly modelId: string; readonly version: string };
}

/** A job as it lies in the queue. */
export type GradingJob = {
  readonly [Name in keyof GradingJobs]: { readonly name: Name; readonly data: GradingJobs[Name] };
}[keyof GradingJobs];

/** How jobs are kept: nothing is left of one that is done, a little of those that failed. */
export const gradingJobOptions = {
  removeOnComplete: true,
  removeOnFail: { count: 100 },
  attempts: 3,
  backoff: { type: 'exponential', delay: 5_000 },
} as const;

/**
 * Asks the worker pools to grade an organisation's models soon. Asked twice before it has begun, it is done once.
 * @throws what Redis says
 */
export async function requestGrading(redis: Redis, organisationId: string): Promise<void> {
  const queue = new Queue(gradingQueueName, { connection: redis, prefix: queuePrefix });
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
