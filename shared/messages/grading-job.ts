import { type JobsOptions, Queue } from 'bullmq';
import type { Redis } from '../redis/connect.js';
import { queuePrefix, queueStreams } from '../redis/keys.js';

/** The queue of grading jobs. A queue of its own: a long grade must delay neither scores nor the sweep. */
export const gradingQueueName = 'grading';

/** A version to grade. */
interface VersionGrade {
  readonly modelId: string;
  readonly version: string;
}

/** The jobs of the grading queue, by name. */
export interface GradingJobs {
  /** Finds the versions whose grade is due, and grades them. */
  readonly 'find-due': { readonly level?: number };
  /** Grades the models of an organisation after outcomes have arrived. */
  readonly 'grade-organisation': { readonly organisationId: string };
  /** Grades one version of a model. */
  readonly 'grade-version': VersionGrade;
  /** Compares the current version of a model with itself, as its own candidate, and grades nothing. */
  readonly 'compare-version': VersionGrade;
}

/** A job in the queue. */
export type GradingJob = {
  readonly [Name in keyof GradingJobs]: { readonly name: Name; readonly data: GradingJobs[Name] };
}[keyof GradingJobs];

const names: readonly GradingJob['name'][] = ['find-due', 'grade-organisation', 'grade-version', 'compare-version'];

/** Whether this release knows a job of the grading queue: a later one may put others there. */
export const isGradingJob = ({ name }: { readonly name: string }): boolean => names.some((known) => known === name);

/** BullMQ options: completed jobs are removed, the last 100 failed ones kept. */
export const gradingJobOptions = {
  removeOnComplete: true,
  removeOnFail: { count: 100 },
  attempts: 3,
  backoff: { type: 'exponential', delay: 5_000 },
} as const;

/** A version is queued once. */
export const versionDeduplication = ({ modelId, version }: VersionGrade) => ({ id: `version-${modelId}-${version}` });

/**
 * Queues a grade of an organisation's models, unless one is queued already.
 * @param delayMs how long the grade waits, for more outcomes of the same import
 * @throws the error of Redis
 */
export async function requestGrading(redis: Redis, organisationId: string, delayMs = 0): Promise<void> {
  const job: GradingJobs['grade-organisation'] = { organisationId };
  await addJob(redis, 'grade-organisation', job, {
    ...gradingJobOptions,
    delay: delayMs,
    deduplication: { id: `organisation-${organisationId}` },
  });
}

/**
 * Queues the grade of a candidate and its comparison, unless they are queued already. The current version as its own
 * candidate is compared alone: its grade counts its calls.
 * @param base the version that scores calls
 * @throws the error of Redis
 */
export async function requestComparison(redis: Redis, { base, ...graded }: VersionGrade & { readonly base: string }) {
  const isGraded = graded.version !== base;
  const deduplication = isGraded ? versionDeduplication(graded) : { id: `compare-${graded.modelId}-${graded.version}` };
  await addJob(redis, isGraded ? 'grade-version' : 'compare-version', graded, { ...gradingJobOptions, deduplication });
}

async function addJob<Name extends GradingJob['name']>(
  redis: Redis,
  name: Name,
  data: GradingJobs[Name],
  options: JobsOptions,
): Promise<void> {
  const queue = new Queue(gradingQueueName, { connection: redis, prefix: queuePrefix, streams: queueStreams });
  queue.on('error', () => undefined); // `add` throws it too, and BullMQ would print it
  try {
    await queue.add(name, data, options);
  } finally {
    await queue.close();
  }
}
