import type Router from '@koa/router';
import type { Db } from 'mongodb';
import type { Clock } from '../../../shared/contract/dates.js';
import type { Logger } from '../../../shared/process/logger.js';
import type { ProcessRegister } from '../../../shared/redis/process-register.js';
import { jobLimits } from '../../../shared/store/jobs/job-documents.js';
import { SliceStore } from '../../../shared/store/jobs/job-slices.js';
import { JobUploadStore } from '../../../shared/store/jobs/job-uploads.js';
import { JobStore } from '../../../shared/store/jobs/jobs.js';
import { TransferPermits } from '../../request/uploads/transfer-permits.js';
import { commandNames } from './change-job.js';
import { type CreateJobDeps, createJobRoute } from './create-job.js';
import type { JobDeps } from './job-access.js';
import type { JobReplyDeps } from './job-reply.js';
import { jobFileRoute } from './job-results.js';
import { headInputRoute, inputOptionsRoute, patchInputRoute, postInputRoute, putInputRoute } from './job-upload.js';
import { commandRoute, deleteJobRoute, jobRoute, jobsRoute } from './jobs.js';
import { runnerWatch } from './runner-watch.js';

/** Adds the endpoints of bulk jobs. */
export function addJobs(router: Router, deps: CreateJobDeps): void {
  router.post('/v1/jobs', createJobRoute(deps));
  router.get('/v1/jobs', jobsRoute(deps));
  router.get('/v1/jobs/:job_id', jobRoute(deps));
  router.delete('/v1/jobs/:job_id', deleteJobRoute(deps));
  for (const name of commandNames) router.post(`/v1/jobs/:job_id/${name}`, commandRoute(name, deps));
  router.put('/v1/jobs/:job_id/input', putInputRoute(deps));
  router.head('/v1/jobs/:job_id/input', headInputRoute(deps));
  router.patch('/v1/jobs/:job_id/input', patchInputRoute(deps));
  router.post('/v1/jobs/:job_id/input', postInputRoute(deps));
  router.options('/v1/jobs/:job_id/input', inputOptionsRoute(deps));
  for (const kind of ['results', 'errors'] as const) router.get(`/v1/jobs/:job_id/${kind}`, jobFileRoute(kind, deps));
}

/** Transfers that a process takes at once. */
interface TransfersAtOnce {
  readonly inTotal: number;
  readonly perOrganisation: number;
}

const organisationsAtOnce = 2;
const { uploadsAtOnce, uploadSilenceMs } = jobLimits;
/** The limits of a gateway. */
export const gatewayTransfers: Readonly<Record<'uploads' | 'downloads', TransfersAtOnce>> = {
  uploads: { inTotal: uploadsAtOnce, perOrganisation: uploadsAtOnce / organisationsAtOnce },
  downloads: { inTotal: 32, perOrganisation: 8 },
};
/** A transfer below two kilobytes a second gives way when all permits are taken. */
const slow = { minBytesInWindow: 64 * 1024, windowMs: 30_000 } as const;

/** The dependencies of the endpoints, made once in each gateway and console. */
export const jobDeps = (from: {
  readonly database: Db;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metering: JobReplyDeps['metering'];
  readonly verdicts: JobReplyDeps['verdicts'];
  readonly waiting: JobDeps['waiting'];
  readonly processes: ProcessRegister;
  readonly retentionMs: number;
  /** Timeout of other bodies, ms. A shorter one shortens the silence that an upload may have. */
  readonly bodyTimeoutMs: number;
  readonly transfers: typeof gatewayTransfers;
}): Omit<JobDeps, 'reading'> => {
  const { database, clock, logger, metering, verdicts, waiting, processes, retentionMs } = from;
  const { bodyTimeoutMs, transfers } = from;
  return {
    replies: { metering, verdicts, nowMs: () => clock.now(), hasRunner: runnerWatch(processes) },
    stores: {
      database,
      jobs: new JobStore(database),
      slices: new SliceStore(database),
      uploads: new JobUploadStore(database),
    },
    clock,
    logger,
    waiting,
    retentionMs,
    uploadSilenceMs: Math.min(uploadSilenceMs, bodyTimeoutMs),
    uploads: new TransferPermits({ name: 'uploads', ...transfers.uploads, ...slow }),
    downloads: new TransferPermits({ name: 'downloads', ...transfers.downloads, ...slow }),
  };
};
