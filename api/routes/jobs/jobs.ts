import type { Context, Middleware } from 'koa';
import { describedObject } from '../../../shared/contract/schema.js';
import { endedAt, hasEnded, type Job, unfinishedStates } from '../../../shared/store/jobs/job-documents.js';
import { removeJob } from '../../../shared/store/jobs/remove-job.js';
import { jobLimitSchema } from '../../schemas/job.js';
import { inputNameSchema, inputSha256Schema } from '../../schemas/job-request.js';
import { compileCheck } from '../../schemas/validator.js';
import { cursorAfter, cursorOf, limitOf } from '../pages.js';
import { queryParameter, type Reader, readingRoute } from '../reading.js';
import { type JobDeps, oneJob, ownerOf, requireJob, stateConflict } from './job-access.js';
import { jobReplies } from './job-reply.js';

const jobIdForm = /^job_[0-9A-Za-z]{26}$/;

const checkFilters = compileCheck(
  describedObject(
    'The filters of a list of jobs.',
    { 'input_name?': inputNameSchema, 'input_sha256?': inputSha256Schema },
    { additionalProperties: false },
  ),
);

/** `GET /v1/jobs`: lists the jobs of the key's organisation and kind, newest first, in pages. */
export function jobsRoute(deps: JobDeps): Middleware {
  return readingRoute(deps.reading, async (context, reader) => {
    const limit = limitOf(context, jobLimitSchema);
    const before = cursorOf(context, jobIdForm);
    const { input_name: name, input_sha256: sha256 } = checkFilters(
      Object.fromEntries(
        ['input_name', 'input_sha256']
          .map((filter) => [filter, queryParameter(context, filter)] as const)
          .filter(([, value]) => value !== undefined),
      ),
    );
    const found = await deps.stores.jobs.list(ownerOf(reader), {
      limit: limit + 1,
      ...(before === undefined ? {} : { before }),
      ...(name === undefined ? {} : { name }),
      ...(sha256 === undefined ? {} : { sha256 }),
    });
    const page = found.slice(0, limit);
    const last = page.at(-1);
    const isLast = found.length <= limit || last === undefined;
    return {
      jobs: await jobReplies(page, reader, deps.replies),
      ...(isLast ? {} : { next_cursor: cursorAfter(last._id) }),
    };
  });
}

/** `GET /v1/jobs/{job_id}`. */
export function jobRoute(deps: JobDeps): Middleware {
  return readingRoute(deps.reading, async (context, reader) =>
    oneJob(await requireJob(context, reader, deps), reader, deps),
  );
}

/** A change of state by a call. */
interface Command {
  /** The change, or undefined if the job is in a state from which it is not allowed. */
  readonly change: (job: Job, deps: JobDeps) => Promise<Job | undefined>;
  /** Whether the job already is as the call wants it. */
  readonly isDone: (job: Job) => boolean;
  /** A sentence on the states from which the change is allowed. */
  readonly allowed: string;
}

const pause: Command = {
  change: (job, { stores }) =>
    stores.jobs.change(job._id, ['running', 'paused'], {
      $set: { state: 'paused', pause: { reason: 'requested', message: 'A call has paused the job.' } },
    }),
  isDone: ({ state, pause: paused }) => state === 'paused' && paused?.reason === 'requested',
  allowed: 'Only a running or paused job can be paused; a file that is being read cannot.',
};

const resume: Command = {
  change: ({ _id, pause, settled }, { stores }) => {
    // Else the job would pause again at once.
    const forgiven = pause?.reason === 'too_many_errors' ? { forgiven_errors: settled.failed } : {};
    return stores.jobs.change(_id, ['paused'], { $set: { state: 'running', ...forgiven }, $unset: { pause: 1 } });
  },
  isDone: ({ state }) => state === 'running',
  allowed: 'Only a paused job can be resumed.',
};

const cancel: Command = {
  change: async (job, deps) => {
    const canceled = await deps.stores.jobs.change(job._id, unfinishedStates, {
      $set: { state: 'canceled', ...endedAt(deps.clock.now(), deps.retentionMs) },
      $unset: { pause: 1 },
    });
    // No call can add bytes any more. If the removal fails, they go with the job.
    if (canceled !== undefined) deps.stores.uploads.removeInSteps(job._id).catch(logLeftUpload(deps));
    if (canceled !== undefined) deps.stores.slices.removeAllInputs(job._id).catch(logLeftUpload(deps));
    return canceled;
  },
  isDone: ({ state }) => state === 'canceled',
  allowed: 'A job that has ended cannot be canceled.',
};

const commands = { pause, resume, cancel } as const;

/** `POST /v1/jobs/{job_id}/pause`, `/resume` and `/cancel`. Sending one twice changes nothing. */
export function commandRoute(name: keyof typeof commands, deps: JobDeps): Middleware {
  const { change, isDone, allowed } = commands[name];
  const answer = async (context: Context, reader: Reader): Promise<Record<string, unknown>> => {
    const job = await requireJob(context, reader, deps);
    if (isDone(job)) return await oneJob(job, reader, deps);
    const changed = await change(job, deps);
    if (changed !== undefined) return await oneJob(changed, reader, deps);
    const now = await requireJob(context, reader, deps);
    if (isDone(now)) return await oneJob(now, reader, deps);
    throw stateConflict(now, allowed);
  };
  return readingRoute(deps.reading, answer, 'scoring');
}

/** `DELETE /v1/jobs/{job_id}`: removes an ended job with its files. */
export function deleteJobRoute(deps: JobDeps): Middleware {
  const answer = async (context: Context, reader: Reader): Promise<undefined> => {
    const job = await requireJob(context, reader, deps);
    if (!hasEnded(job)) throw stateConflict(job, 'Cancel it before you remove it.');
    await removeJob(deps.stores, job._id);
    return undefined;
  };
  return readingRoute(deps.reading, answer, 'scoring');
}

const logLeftUpload =
  ({ logger }: JobDeps) =>
  (error: unknown): void =>
    logger.warn({ error }, 'the upload of a canceled job was not removed: it goes with the job');
