import type { Middleware } from 'koa';
import { ApiError } from '../../../shared/contract/errors.js';
import { createJob } from '../../../shared/store/jobs/create-job.js';
import { type Job, jobLimits } from '../../../shared/store/jobs/job-documents.js';
import type { Admission } from '../../admission/admission.js';
import type { WorkspaceCache } from '../../admission/workspace-cache.js';
import { requireJson } from '../../request/content-type.js';
import { parseJsonBody } from '../../request/parse-json.js';
import { type ReceivedCall, receiveCall } from '../../request/receive-call.js';
import { type JobRequest, jobRequestSchema } from '../../schemas/job-request.js';
import { compileCheck } from '../../schemas/validator.js';
import { answered, type Reader } from '../reading.js';
import type { ScoringRouteDeps } from '../scoring-routes.js';
import { type JobDeps, oneJob, ownerOf } from './job-access.js';
import { newJob, tooManyJobs } from './new-job.js';

const valueLimit = { max: 1_000, advice: 'send the settings of the job alone, and the records by PUT' };

/** Dependencies of the creation of jobs by key. */
export interface CreateJobDeps extends JobDeps {
  readonly score: Pick<ScoringRouteDeps, 'keys' | 'receiving' | 'largeBodies' | 'requestTimeoutMs'>;
  readonly admission: Pick<Admission, 'admit'>;
  readonly workspaces: Pick<WorkspaceCache, 'workspaceFor'>;
}

/** `POST /v1/jobs`: creates a job, or finds the one that the same Idempotency-Key made. */
export function createJobRoute(deps: CreateJobDeps): Middleware {
  const { score } = deps;
  const check = compileCheck(jobRequestSchema);
  const creations = new OneByOne();
  return async (context) => {
    const received = await receiveCall(context, score.receiving, {
      authenticate: () => score.keys.authenticate(context.req),
      timeoutMs: score.requestTimeoutMs,
      route: String(context._matchedRoute),
      // A file may have gigabytes.
      beforeBody: () => requireJson(context, otherwise),
    });
    const request = await score.largeBodies.inTurn(received, async () =>
      check(await parseJsonBody(received.body, valueLimit)),
    );
    const leftMs = received.deadline.monotonicMs - performance.now();
    const { job, isReplay, reader } = await answered(
      leftMs,
      creations.run(received.apiKey.organisation_id, () => created(received, request, deps)),
    );
    context.status = 201;
    context.set('Location', `/v1/jobs/${job._id}`);
    if (isReplay) context.set('Idempotent-Replayed', 'true');
    context.type = 'application/json';
    const reply = await answered(score.requestTimeoutMs, oneJob(job, reader, deps));
    const ofCall = received.notices.map(({ text }) => text);
    const { notices = [] } = reply as { readonly notices?: readonly string[] };
    context.body = JSON.stringify(ofCall.length === 0 ? reply : { ...reply, notices: [...ofCall, ...notices] });
  };
}

/** A caller may send the file itself here. */
const otherwise = ' Then send the file itself to the input of the job: curl -T FILE.';

/** Runs the creations of an organisation one after another: their transactions would otherwise repeat each other. */
class OneByOne {
  private readonly lastOf = new Map<string, Promise<unknown>>();

  run<Result>(organisationId: string, work: () => Promise<Result>): Promise<Result> {
    const result = (this.lastOf.get(organisationId) ?? Promise.resolve()).then(work);
    const ended = result
      .catch(() => undefined)
      .then(() => {
        if (this.lastOf.get(organisationId) === ended) this.lastOf.delete(organisationId);
      });
    this.lastOf.set(organisationId, ended);
    return result;
  }
}

interface Created {
  readonly job: Job;
  readonly isReplay: boolean;
  readonly reader: Reader;
}

async function created(received: ReceivedCall, request: JobRequest, deps: CreateJobDeps): Promise<Created> {
  const { apiKey } = received;
  const before = await replay(received, request, deps);
  if (before !== undefined) return before;
  const { model } = await deps.admission.admit({ apiKey, bucket: apiKey.kind, modelId: request.model_id });
  const job = newJob(received, request, model.version);
  const outcome = await createJob(deps.stores.database, job, jobLimits.unfinishedJobs);
  // Not awaited: without Redis, a runner finds the job within three seconds.
  if (outcome === 'created' && job.state === 'reading') deps.waiting.add([job.org]).catch(() => undefined);
  if (outcome === 'created') return { job, isReplay: false, reader: await readerOf(received, request, deps) };
  const other = await replay(received, request, deps);
  if (other !== undefined) return other;
  if (outcome === 'too many') throw tooManyJobs();
  throw new ApiError('internalError', 'The job with this Idempotency-Key was removed at this moment.', {
    retryAfterSeconds: 1,
  });
}

/** @throws ApiError unreadableRequest if the Idempotency-Key made a job from another body */
async function replay(received: ReceivedCall, request: JobRequest, deps: CreateJobDeps): Promise<Created | undefined> {
  const { idempotency } = received;
  if (idempotency === undefined) return undefined;
  const job = await deps.stores.jobs.findByKey(ownerOf(received), idempotency.key);
  if (job === undefined) return undefined;
  if (job.idempotency?.body_hash !== idempotency.bodyHash)
    throw new ApiError(
      'unreadableRequest',
      `This ${idempotency.name} was used for a call with another body or another URL. Use a new one for each new call.`,
    );
  return { job, isReplay: true, reader: await readerOf(received, request, deps) };
}

async function readerOf(
  { apiKey }: ReceivedCall,
  { model_id }: JobRequest,
  { workspaces }: CreateJobDeps,
): Promise<Reader> {
  const workspace = await workspaces.workspaceFor(apiKey.organisation_id, model_id);
  if (workspace === undefined) throw new ApiError('invalidApiKey', 'The organisation of the API key no longer exists.');
  return { ...workspace, apiKey };
}
