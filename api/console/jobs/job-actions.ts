import { type Action, type ActionContext, defineAction } from '../../../shared/admin/action.js';
import { type ActionRoute, route } from '../../../shared/admin/actions.js';
import { jobDocument, jobNames } from '../../../shared/admin/jobs/job-document.js';
import { requireModel } from '../../../shared/admin/models/read-models.js';
import {
  createJobInput,
  createStoredJobInput,
  jobFailuresOutput,
  jobInput,
  jobPageSchema,
  previewJobInput,
  previewJobOutput,
} from '../../../shared/admin/schemas/jobs.js';
import { nothing } from '../../../shared/admin/schemas/members.js';
import type { Schema, ShapeOf } from '../../../shared/contract/schema.js';
import { inSession } from '../../../shared/store/connection/transaction.js';
import { insertJob, prepareJobLock } from '../../../shared/store/jobs/create-job.js';
import { type Job, jobLimits } from '../../../shared/store/jobs/job-documents.js';
import { type ChangeCall, type CommandName, changeJob, commandNames, deleteJob } from '../../routes/jobs/change-job.js';
import { newJob, tooManyJobs } from '../../routes/jobs/new-job.js';
import type { JobRequest } from '../../schemas/job-request.js';
import { type ConsoleJobs, consoleKey, pageOf, readerOf, requireJobOf } from './console-jobs.js';
import { failuresOf } from './job-failures.js';
import { previewOf } from './preview-file.js';

/** Earlier jobs of a file that its preview names. */
const maxSameFile = 5;

/** The actions on bulk jobs, except the list, which needs the database alone. */
export function jobRoutes(jobs: ConsoleJobs): readonly ActionRoute[] {
  const base = '/orgs/:org_id/jobs';
  return [
    route('post', base, createJobAction(jobs)),
    route('post', '/orgs/:org_id/stored-jobs', createStoredAction(jobs)),
    route('post', '/orgs/:org_id/files/preview', previewAction(jobs)),
    route('get', `${base}/:job_id`, showAction(jobs)),
    route('get', `${base}/:job_id/failures`, failuresAction(jobs)),
    ...commandNames.map((name) => route('post', `${base}/:job_id/${name}`, commandAction(name, jobs))),
    route('delete', `${base}/:job_id`, deleteAction(jobs)),
  ];
}

type Created = ShapeOf<typeof createJobInput>;
type CreatedStored = ShapeOf<typeof createStoredJobInput>;

const createJobAction = (jobs: ConsoleJobs) =>
  defineAction({
    name: 'job.create',
    description: 'Create a bulk job for a file. Its bytes follow by PATCH to its input. It counts as a live key does.',
    role: 'admin',
    effect: 'change',
    input: createJobInput,
    output: jobPageSchema,
    async prepare(context, given: Created, _material: undefined): Promise<Job> {
      const job = await preparedJob(jobs, context, given, requestOf(given));
      return { ...job, fingerprint: given.fingerprint };
    },
    async run({ database, session, record }, _given, job) {
      if (!(await insertJob(database, job, jobLimits.unfinishedJobs, inSession(session)))) throw tooManyJobs();
      const { name, bytes } = job.options;
      await record({ organisationId: job.org, target: job._id, after: { file: name, bytes, model_id: job.model } });
      return await pageOf(job, jobs);
    },
  });

const createStoredAction = (jobs: ConsoleJobs) =>
  defineAction({
    name: 'job.create_stored',
    description: 'Create a bulk job that scores stored leads again. It counts as a live key does.',
    role: 'admin',
    effect: 'change',
    input: createStoredJobInput,
    output: jobPageSchema,
    prepare: (context, given: CreatedStored, _material: undefined): Promise<Job> =>
      preparedJob(jobs, context, given, storedRequestOf(given)),
    async run({ database, session, record }, _given, job) {
      if (!(await insertJob(database, job, jobLimits.unfinishedJobs, inSession(session)))) throw tooManyJobs();
      await record({ organisationId: job.org, target: job._id, after: { ...job.options.stored, model_id: job.model } });
      return await pageOf(job, jobs);
    },
  });

/** The job of a person, before the transaction that stores it. */
async function preparedJob(
  jobs: ConsoleJobs,
  { database, actor, clock }: Pick<ActionContext, 'database' | 'actor' | 'clock'>,
  given: { readonly org_id: string; readonly model_id: string },
  request: JobRequest,
): Promise<Job> {
  const { org_id: organisationId, model_id: modelId } = given;
  await requireModel({ database }, given);
  const apiKey = consoleKey(organisationId);
  const { model } = await jobs.admission.admit({ apiKey, bucket: apiKey.kind, modelId });
  await prepareJobLock(database, organisationId);
  const atMs = clock.now();
  const creation = { callId: jobs.newCallId(atMs, organisationId), apiKey, atMs, idempotency: undefined };
  return newJob({ ...creation, person: actor.name }, request, model.version);
}

const storedRequestOf = ({ model_id, format, explain, stop_at, ...stored }: CreatedStored): JobRequest => ({
  model_id,
  input: {
    source: 'stored',
    ...(format !== undefined && { format }),
    ...{ sent_within_days: stored.sent_within_days, max_rows: stored.max_rows },
  },
  explain: explain ?? false,
  stop_at: stop_at ?? 'limit',
});

const requestOf = ({ model_id, format, name, bytes, crm_id_field, include_input, ...options }: Created) => ({
  model_id,
  input: { format, name, bytes, ...(crm_id_field !== undefined && { crm_id_field }) },
  output: { include_input: include_input ?? true },
  ...{ explain: options.explain ?? false, previous: options.previous ?? true, strict: options.strict ?? false },
  stop_at: options.stop_at ?? 'limit',
});

const previewAction = (jobs: ConsoleJobs) =>
  defineAction({
    name: 'job.preview',
    description: 'Compare the first lines of a file with the fields of a model. Nothing is stored.',
    role: 'admin',
    effect: 'read',
    input: previewJobInput,
    output: previewJobOutput,
    async run({ database }, given) {
      const { org_id: organisationId, fingerprint } = given;
      const { version } = await requireModel({ database }, given);
      const { stores, replies, caches } = jobs;
      const owner = { organisationId, bucket: 'live' } as const;
      const [{ organisation }, names, same] = await Promise.all([
        readerOf(jobs, organisationId, 'live'),
        jobNames(database, organisationId),
        stores.jobs.list(owner, { limit: maxSameFile, fingerprint }),
      ]);
      const { month: _, ...usage } = await replies.metering.usage(organisation, 'live');
      const compiled = await caches().workspaces.manifest(given.model_id, version);
      if (compiled === undefined) throw new Error(`version ${version} of ${given.model_id} is not stored`);
      const preview = await previewOf(Buffer.from(given.head, 'base64'), {
        isWhole: given.is_whole,
        idColumn: given.crm_id_field,
        knownFields: compiled.knownFields,
      });
      return { ...preview, usage, same_file: same.map((job) => jobDocument(job, names)) };
    },
  });

const showAction = (jobs: ConsoleJobs) =>
  defineAction({
    name: 'job.show',
    description: 'Read the state, the progress and the notices of a bulk job.',
    role: 'admin',
    effect: 'read',
    input: jobInput,
    output: jobPageSchema,
    run: async (_context, given) => pageOf(await requireJobOf(jobs, given), jobs),
  });

const failuresAction = (jobs: ConsoleJobs) =>
  defineAction({
    name: 'job.failures',
    description: 'Read the first failed rows of a bulk job, by their reasons.',
    role: 'admin',
    effect: 'read',
    input: jobInput,
    output: jobFailuresOutput,
    run: async (_context, given) => failuresOf(await requireJobOf(jobs, given), jobs),
  });

/** Reads a job, and writes the entry of the audit log before it is changed. */
const callOf = (
  jobs: ConsoleJobs,
  { record }: Pick<ActionContext, 'record'>,
  given: ShapeOf<typeof jobInput>,
): ChangeCall => ({
  read: () => requireJobOf(jobs, given),
  before: () => record({ organisationId: given.org_id, target: given.job_id }),
});

const commandTexts = {
  pause: 'Pause a bulk job after the slices in work.',
  resume: 'Let a paused bulk job go on.',
  cancel: 'End a bulk job. Its results so far stay, and their rows stay counted.',
} as const satisfies Readonly<Record<CommandName, string>>;

const commandAction = (name: CommandName, jobs: ConsoleJobs): Action<Schema, Schema, undefined, unknown> =>
  defineAction({
    name: `job.${name}`,
    description: commandTexts[name],
    role: 'admin',
    effect: 'steps',
    input: jobInput,
    output: jobPageSchema,
    run: async (context, given) => pageOf(await changeJob(name, callOf(jobs, context, given), jobs), jobs),
  });

const deleteAction = (jobs: ConsoleJobs) =>
  defineAction({
    name: 'job.delete',
    description: 'Remove a bulk job that has ended, with its files. Its rows stay counted.',
    role: 'admin',
    effect: 'steps',
    input: jobInput,
    output: nothing,
    async run(context, given) {
      await deleteJob(callOf(jobs, context, given), jobs);
      return {};
    },
  });
