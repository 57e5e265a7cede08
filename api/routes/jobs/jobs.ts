import type { Middleware } from 'koa';
import { describedObject } from '../../../shared/contract/schema.js';
import { jobLimitSchema } from '../../schemas/job.js';
import { inputNameSchema, inputSha256Schema } from '../../schemas/job-request.js';
import { compileCheck } from '../../schemas/validator.js';
import { cursorAfter, cursorOf, limitOf } from '../pages.js';
import { queryParameter, readingRoute } from '../reading.js';
import { type CommandName, changeJob, deleteJob } from './change-job.js';
import { type JobDeps, oneJob, ownerOf, requireJob } from './job-access.js';
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

/** `POST /v1/jobs/{job_id}/pause`, `/resume` and `/cancel`. Sending one twice changes nothing. */
export const commandRoute = (name: CommandName, deps: JobDeps): Middleware =>
  readingRoute(
    deps.reading,
    async (context, reader) => {
      const read = () => requireJob(context, reader, deps);
      return await oneJob(await changeJob(name, { read }, deps), reader, deps);
    },
    'scoring',
  );

/** `DELETE /v1/jobs/{job_id}`: removes an ended job with its files. */
export const deleteJobRoute = (deps: JobDeps): Middleware =>
  readingRoute(
    deps.reading,
    async (context, reader) => {
      await deleteJob({ read: () => requireJob(context, reader, deps) }, deps);
      return undefined;
    },
    'scoring',
  );
