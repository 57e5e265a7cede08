import { type Job, Queue, Worker } from 'bullmq';
import { firstGradeWithinMinutes } from '../../../shared/contract/verdict.js';
import {
  type GradingJob,
  type GradingJobs,
  gradingJobOptions,
  gradingQueueName,
  isGradingJob,
  versionDeduplication,
} from '../../../shared/messages/grading-job.js';
import { errorLog } from '../../../shared/process/error-log.js';
import type { Stoppable } from '../../../shared/process/lifecycle.js';
import type { Logger } from '../../../shared/process/logger.js';
import type { Redis } from '../../../shared/redis/connect.js';
import { queuePrefix, queueStreams } from '../../../shared/redis/keys.js';
import { backOffOnOom } from '../../lanes/lane-worker.js';
import { ensureSchedules } from '../../lanes/schedules.js';
import { leaveToOthers } from '../../lanes/unknown-jobs.js';
import { dueVersions } from './due-versions.js';
import { compareVersion, type GradingDeps, gradeAndPublish } from './grade-models.js';
import { isStillScoring, type VersionToGrade, versionsToGrade } from './versions-to-grade.js';

const findDueEveryMs = firstGradeWithinMinutes * 60 * 1000;
/** Grades that a pool computes at once, so that one large organisation does not delay all others. */
const gradesAtOnce = 2;

export interface GradingLaneOptions extends GradingDeps {
  /** A connection for blocking commands. */
  readonly blocking: Redis;
  readonly logger: Logger;
}

/**
 * Grades models as BullMQ jobs in a separate queue. Each job runs once, independent of the number of pools.
 *
 * 1. Every 15 minutes a job finds the versions whose grade is due. After an outage they are graded as soon as a pool
 *    starts.
 * 2. Outcomes that arrive over HTTP or by an import grade the organisation's models, if the last grade is older than 15
 *    minutes.
 * 3. The runner of bulk jobs asks for the grade of a candidate when its run has ended.
 * 4. Each version is graded by its own job, current versions first.
 */
export async function startGradingLane(options: GradingLaneOptions): Promise<Stoppable> {
  const { blocking, logger } = options;
  const queue = new Queue(gradingQueueName, { connection: blocking, prefix: queuePrefix, streams: queueStreams });
  queue.on('error', errorLog(logger, 'grading queue error'));
  const findDue = { name: 'find-due', when: { every: findDueEveryMs } };
  const endSchedules = await ensureSchedules(queue, [findDue], { redis: blocking, logger });
  const run = (job: Job, token: string | undefined): Promise<void> =>
    isGradingJob(job) ? work(job as Job & GradingJob, { ...options, queue }) : leaveToOthers(job, token);
  const worker = new Worker(gradingQueueName, run, {
    connection: blocking,
    prefix: queuePrefix,
    lockDuration: 30_000,
    runRetryDelay: 250,
    concurrency: gradesAtOnce,
  });
  worker.on('error', errorLog(logger, 'grading error'));
  backOffOnOom(worker);
  worker.on('failed', (job, error) => logger.warn({ job: job?.name, data: job?.data, error }, 'grading failed'));
  return {
    name: 'grading lane',
    stop: async () => {
      endSchedules();
      // Without Redis, closes at once: another worker will pick up the stalled job.
      await worker.close(blocking.status !== 'ready');
      await queue.close();
    },
  };
}

type Lane = GradingLaneOptions & { readonly queue: Queue };

async function work(job: GradingJob, lane: Lane): Promise<void> {
  if (job.name === 'find-due') return enqueue(await dueVersions(lane.database, lane.clock), lane);
  if (job.name === 'grade-organisation')
    return enqueue(await dueVersions(lane.database, lane.clock, job.data.organisationId), lane);
  const { modelId, version } = job.data;
  const wanted = await versionsToGrade(lane.database, { modelId });
  const found = wanted.find((candidate) => candidate.version === version);
  // The version was deleted in the meantime, or its run as a candidate has begun again.
  if (found === undefined || isStillScoring(found)) return;
  if (job.name === 'compare-version') {
    const comparison = await compareVersion(lane, found);
    lane.logger.info({ model: modelId, version, verdict: comparison?.verdict }, 'candidate compared');
    return;
  }
  const startMs = performance.now();
  const { verdict, refreshed } = await gradeAndPublish(lane, found);
  const { state, failing_gate } = verdict;
  const ms = Math.round(performance.now() - startMs);
  lane.logger.info({ model: modelId, version, state, failing_gate, days: refreshed.days, ms }, 'model graded');
}

async function enqueue(versions: readonly VersionToGrade[], { queue }: Lane): Promise<void> {
  await queue.addBulk(
    versions.map(({ model, version }) => {
      const data: GradingJobs['grade-version'] = { modelId: model._id, version };
      const deduplication = versionDeduplication(data);
      // Jobs without a priority come first: an import of outcomes does not wait for the night's grades.
      const priority = version === model.version ? 1 : 2;
      return { name: 'grade-version', data, opts: { ...gradingJobOptions, deduplication, priority } };
    }),
  );
}
