import type { Clock } from '../../shared/contract/dates.js';
import { ApiError } from '../../shared/contract/errors.js';
import type { FileForm } from '../../shared/files/file-form.js';
import type { ApiKey } from '../../shared/store/accounts/api-keys.js';
import type { Db, MongoClient } from '../../shared/store/connection/connect.js';
import { inTransaction } from '../../shared/store/connection/transaction.js';
import { type Job, type JobSlice, needsBulkWorkers, type SliceOutcome } from '../../shared/store/jobs/job-documents.js';
import type { SliceStore } from '../../shared/store/jobs/job-slices.js';
import type { WorkspaceCache } from '../admission/workspace-cache.js';
import { acceptedCall } from '../call/score-outcome.js';
import type { AdmittedModel, ScoringCall } from '../call/scoring-call.js';
import type { CallDays } from '../http/call-days.js';
import type { ScoringServices } from '../services.js';
import { sliceInput } from './rows/input-counts.js';
import type { RowReader } from './rows/row-reader.js';
import { fileRows, type SliceRows, sliceOutput } from './rows/slice-rows.js';
import { storedRows } from './rows/stored-rows.js';
import { unusedValues } from './rows/unused-values.js';
import type { ReserveTicket } from './turns/reserve-order.js';
import type { SliceWindow } from './turns/slice-window.js';

export interface SliceDeps
  extends Pick<ScoringServices, 'admission' | 'metering' | 'dispatcher' | 'recorder' | 'fieldDays'> {
  readonly client: MongoClient;
  readonly database: Db;
  readonly callDays: Pick<CallDays, 'addRecords'>;
  readonly slices: SliceStore;
  readonly rowReader: RowReader;
  readonly workspaces: Pick<WorkspaceCache, 'manifest' | 'workspace'>;
  readonly newCallId: (nowMs: number, organisationId: string) => string;
  readonly redisNowMs: () => Promise<number>;
  readonly clock: Clock;
  readonly requestTimeoutMs: number;
  readonly window: Pick<SliceWindow, 'recordInTurn'>;
}

/** A job whose file was read. */
export type ReadJob = Job & Required<Pick<Job, 'file'>>;

/** Bulk calls have no caller who could hang up. A canceled job finishes its slices in flight. */
const hasHungUp = (): boolean => false;

/**
 * The story of a slice, which is scored and recorded as one call (see score-records.ts). Rows that cannot be scored are
 * listed, and not counted. So the call is reserved after it was scored, with the records that are left.
 *
 * 1. Reads the rows: those of the file, or the stored leads and their values.
 * 2. Admission, as for each call: a trial may have ended meanwhile, or Live API was switched off.
 * 3. Dispatch, in the lane `bulk`. A file of one slice goes to the lane `batches`.
 * 4. Reserve, up to the limit or the backstop.
 * 5. Record, at its turn, in one transaction with the outcome of the slice.
 * 6. Settle.
 *
 * @param ticket given back when the records are reserved
 * @returns its outcome
 * @throws ApiError as a scored call does, SliceDeferred, SliceTaken when another runner was first. The slice is then
 * open, done by that runner, or done by a call that is about to be voided
 */
export async function scoreSlice(
  job: ReadJob,
  slice: JobSlice,
  ticket: ReserveTicket,
  deps: SliceDeps,
): Promise<SliceOutcome> {
  const { admission, metering, dispatcher, recorder, fieldDays, callDays, slices, window } = deps;
  const model = await modelOf(job, deps);
  // Before stored leads are read: the second pass of an erasure that comes after the read then finds the call.
  const arrived = { redisMs: await deps.redisNowMs(), monotonicMs: performance.now() };
  const isStored = job.options.stored !== undefined;
  const input = await deps.rowReader.rowsOf(slice);
  const rows = isStored
    ? await storedRows(job, { slice, input }, model, deps)
    : await fileRows({ shape: job.file.shape, knownFields: model.knownFields }, slice, input);
  const whole = callOf(job, rows, arrived, deps);
  const { organisation } = await admission.admit(whole);
  if (whole.records.length === 0) return await finishWithoutCall(job, slice, rows, deps);
  const scored = await dispatcher.score(whole, model, Promise.resolve());
  const call = acceptedCall(whole, scored);
  const output = await sliceOutput(formOf(job), rows, scored);
  if (call.records.length === 0) return await finishWithoutCall(job, slice, rows, deps, output);
  const sums = await sliceInput(call, model, scored);
  const stopAt = job.options.stop_at === 'limit' ? 'limit' : 'hardStop';
  await ticket.reached();
  const reservation = await metering.reserve(call, organisation, stopAt);
  ticket.end(true);
  const notices = job.settled.scored === 0 && !isStored ? unusedValues(scored, model, slice) : [];
  const outcome: SliceOutcome = {
    ...output.outcome,
    call_id: call.id,
    input: sums,
    ...(notices.length > 0 && { notices }),
    done_at: new Date(call.atMs),
  };
  await reservation.compensateOnFailure(async () => {
    await window.recordInTurn(job._id, () =>
      recorder.record({
        call,
        model,
        rows: scored,
        reservation,
        writeWith: () => '',
        beside: (options) => slices.finish(slice._id, outcome, output, options),
      }),
    );
    await reservation.settle(scored, model.version);
  });
  // Stored values were counted on the day on which they were sent.
  if (!isStored) fieldDays.add({ call, model, rows: scored });
  callDays.addRecords(call.apiKey, { modelId: model.id, records: call.records.length });
  return outcome;
}

const formOf = ({ file, options }: ReadJob): FileForm => ({ shape: file.shape, options });

/** A slice of which no row was scored has no call: nothing is counted. */
async function finishWithoutCall(
  job: ReadJob,
  slice: JobSlice,
  rows: SliceRows,
  { client, slices, clock, requestTimeoutMs }: SliceDeps,
  output = undefined as Awaited<ReturnType<typeof sliceOutput>> | undefined,
): Promise<SliceOutcome> {
  const written = output ?? (await sliceOutput(formOf(job), rows, undefined));
  const outcome = { ...written.outcome, done_at: new Date(clock.now()) };
  await inTransaction(client, (options) => slices.finish(slice._id, outcome, written, options), {
    timeoutMs: requestTimeoutMs,
  });
  return outcome;
}

/** The call of a slice. */
function callOf(
  job: ReadJob,
  { records, rowOfRecord }: SliceRows,
  arrived: { readonly redisMs: number; readonly monotonicMs: number },
  { clock, newCallId, requestTimeoutMs }: Pick<SliceDeps, 'clock' | 'newCallId' | 'requestTimeoutMs'>,
): ScoringCall {
  const atMs = clock.now();
  return {
    id: newCallId(atMs, job.org),
    requestId: job._id,
    apiKey: keyOf(job),
    bucket: job.bucket,
    modelId: job.model,
    records,
    nameOfRecord: (index) => `row ${rowOfRecord(index)}`,
    explain: job.options.explain,
    inputReport: 'summary',
    // A small file ends before worker processes of bulk jobs would have started.
    lane: needsBulkWorkers(job) ? 'bulk' : 'batches',
    tolerant: true,
    withoutLookups: !job.options.previous,
    source: job.options.stored && 'stored',
    idempotency: undefined,
    atMs,
    deadline: {
      monotonicMs: arrived.monotonicMs + requestTimeoutMs,
      redisMs: arrived.redisMs + requestTimeoutMs,
      arrivedRedisMs: arrived.redisMs,
    },
    hasHungUp,
  };
}

/** The key of a job's calls. Its secret and its rate play no part: the job was created with it. */
export const keyOf = ({ key, org, bucket, created_at, hides_stored }: Job): ApiKey => ({
  _id: key,
  hash: '',
  organisation_id: org,
  kind: bucket,
  name: '',
  rate_per_second: 0,
  ...(hides_stored && { scopes: ['jobs'] }),
  created_at,
});

/**
 * The version with which the job was created.
 * @throws ApiError modelNotFound
 */
async function modelOf({ model, version }: Job, { workspaces }: SliceDeps): Promise<AdmittedModel> {
  const compiled = await workspaces.manifest(model, version);
  if (compiled !== undefined) return { id: model, version, knownFields: compiled.knownFields };
  throw new ApiError('modelNotFound', `Version ${version} of the model is no longer stored.`);
}
