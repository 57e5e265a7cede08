import type Router from '@koa/router';
import type { Context } from 'koa';
import { defineAction } from '../../../shared/admin/action.js';
import { runAction } from '../../../shared/admin/run-action.js';
import { jobInput } from '../../../shared/admin/schemas/jobs.js';
import { bucket, nothing } from '../../../shared/admin/schemas/members.js';
import { closedObject, type ShapeOf, text } from '../../../shared/contract/schema.js';
import type { JobDeps } from '../../routes/jobs/job-access.js';
import { jobFileRoute } from '../../routes/jobs/job-results.js';
import { headInputRoute, patchInputRoute, postInputRoute } from '../../routes/jobs/job-upload.js';
import { readTurns } from '../../routes/reading.js';
import { type ActionRoutesDeps, requestContext } from '../routes/action-routes.js';
import { type ConsoleJobs, readerOf, requireJobOf } from './console-jobs.js';

/** A job whose bytes may be sent or read. */
const permittedSchema = closedObject({ kind: bucket, file: text, format: text });

/**
 * Adds the transfers of bulk jobs: the upload by tus, and the downloads. They are the handlers of the API. Each request
 * checks session, role and organisation again.
 */
export function addJobStreams(
  router: Router,
  { jobs, ...deps }: Omit<ActionRoutesDeps, 'routes'> & { readonly jobs: ConsoleJobs },
): void {
  const signedIn = deps.sessions.required();
  const permission = defineAction({
    name: 'job.transfer',
    description: 'Send bytes of the file of a bulk job, or read its results.',
    role: 'admin',
    effect: 'read',
    input: jobInput,
    output: permittedSchema,
    async run(_context, given) {
      const { bucket: kind, options, _id } = await requireJobOf(jobs, given);
      return { kind, file: options.name ?? _id, format: options.format };
    },
  });
  const contextOf = (context: Context) => requestContext(context, deps, context.params.org_id);
  /** The job of a request, whose session, role and organisation are checked once. */
  const permittedJob = async (context: Context): Promise<ShapeOf<typeof permittedSchema>> => {
    context.state.permitted ??= await runAction(permission, { ...context.params }, await contextOf(context));
    return context.state.permitted;
  };
  const asJobs: JobDeps = {
    ...jobs,
    reading: {
      turns: readTurns(),
      timeoutMs: jobs.timeoutMs,
      identify: async (context) => {
        const { kind } = await permittedJob(context);
        return await readerOf(jobs, String(context.params.org_id), kind);
      },
    },
  };
  const input = '/admin/v1/orgs/:org_id/jobs/:job_id/input';
  router.head(input, signedIn, headInputRoute(asJobs));
  router.patch(input, signedIn, patchInputRoute(asJobs));
  router.post(input, signedIn, postInputRoute(asJobs));
  for (const kind of ['results', 'errors'] as const) {
    const download = downloadAction(kind);
    const send = jobFileRoute(kind, asJobs);
    router.get(`/admin/v1/orgs/:org_id/jobs/:job_id/${kind}`, signedIn, async (context, next) => {
      const job = await permittedJob(context);
      if (isBeginning(context)) await runAction(download, { ...context.params }, await contextOf(context));
      await send(context, next);
      // The handler of the API lets a browser keep the file.
      context.set('Cache-Control', 'private, no-store, no-transform');
      const type = context.response.get('content-type');
      // It would set the type by the name.
      context.attachment(downloadName(job, kind));
      context.set('Content-Type', type);
    });
  }
}

/** Writes the entry of a download in the audit log. */
const downloadAction = (kind: 'results' | 'errors') =>
  defineAction({
    name: `job.${kind}`,
    description: `Download the ${kind} of a bulk job.`,
    role: 'admin',
    effect: 'steps',
    input: jobInput,
    output: nothing,
    async run({ record }, { org_id: organisationId, job_id: target }) {
      await record({ organisationId, target });
      return {};
    },
  });

/** Whether a call begins a download. A later part belongs to a download that has its entry. */
const isBeginning = (context: Context): boolean =>
  context.method !== 'HEAD' && !/^\s*bytes\s*=\s*0*[1-9]/i.test(context.get('range'));

/** `leads.csv` becomes `leads.scored.csv` or `leads.errors.csv`. */
function downloadName(job: { readonly file: string; readonly format: string }, kind: 'results' | 'errors'): string {
  const stem = job.file.replace(/\.gz$/i, '').replace(/\.(csv|tsv|txt|jsonl|ndjson|json)$/i, '');
  return `${stem}.${kind === 'results' ? 'scored' : 'errors'}.${job.format}`;
}
