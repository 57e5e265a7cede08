import { randomUUID } from 'node:crypto';
import type { Db } from 'mongodb';
import { ApiError } from '../../../shared/contract/errors.js';
import { countText } from '../../../shared/contract/figures.js';
import type { FileShape } from '../../../shared/files/file-form.js';
import { resultHeader } from '../../../shared/files/result-columns.js';
import { inTransaction } from '../../../shared/store/connection/transaction.js';
import type { Job } from '../../../shared/store/jobs/job-documents.js';
import { type StoredLeads, storedLimits } from '../../../shared/store/jobs/job-options.js';
import { deflateQuickly } from '../../../shared/store/jobs/job-slices.js';
import { countedFields, unreadInput } from '../rows/input-counts.js';
import { type EndReadingDeps, failJob, NoLongerReading, removeUnused, startRunning } from './end-reading.js';
import { storedLeads } from './stored-leads.js';

export interface ReadStoredDeps extends EndReadingDeps {
  readonly database: Db;
  /** Aborted when the process stops. Reading begins again elsewhere. */
  readonly stopping: AbortSignal;
}

const storeTimeoutMs = 10_000;
/** Slices that are stored together. A slice of ids has some ten kilobytes. */
const slicesTogether = 8;

/**
 * Finds the stored leads of a job without a file, and cuts them into slices of prediction ids. No data of a lead waits
 * in them. After a crash reading begins again, without the slices before: leads may have been erased meanwhile, and
 * then the cuts differ. So each reading has an id, and one that was replaced adds nothing.
 * @throws errors of MongoDB; the reason of `stopping`
 */
export async function readStored(unread: Job, stored: StoredLeads, deps: ReadStoredDeps): Promise<void> {
  const { jobs, slices, workspaces, database, stopping } = deps;
  const reader = { id: randomUUID(), rows: 0 };
  const job = await jobs.change(unread._id, ['reading'], { $set: { reader } });
  if (job === undefined) return await removeUnused(unread, deps);
  await slices.removeJob(job._id);
  try {
    const compiled = await workspaces.manifest(job.model, job.version);
    if (compiled === undefined) throw new ApiError('modelNotFound', 'The version of the model is no longer stored.');
    let [rows, count] = [0, 0];
    let waiting: Promise<Added>[] = [];
    const store = async (): Promise<void> => {
      const added = await Promise.all(waiting);
      waiting = [];
      if (added.length > 0) await add(job._id, added, { reader: { ...reader, rows }, deps });
    };
    for await (const ids of storedLeads(job, stored, { database, signal: stopping })) {
      waiting.push(sliceOf(ids, { number: count, first: rows + 1 }));
      rows += ids.length;
      count += 1;
      if (waiting.length >= slicesTogether) await store();
    }
    await store();
    const model = { id: job.model, version: job.version, knownFields: compiled.knownFields };
    const shape: FileShape = { format: job.options.format, columns: [], delimiter: ',', crm_id_field: 'crm_id' };
    const header_line = resultHeader(shape, job.options);
    const file = { shape, rows, slices: count, header_line, fields: countedFields(model) };
    await startRunning(job, { file, input: unreadInput(model, []), notices: noticesOf(rows, stored) }, deps);
  } catch (error) {
    if (error instanceof NoLongerReading) return await removeUnused(job, deps);
    if (!(error instanceof ApiError)) throw error;
    await failJob(job, error, deps);
  }
}

/** The rows of a slice of stored leads: one prediction id a line, as one gzip member. */
async function sliceOf(ids: readonly string[], at: { readonly number: number; readonly first: number }) {
  const slice = { number: at.number, rows: ids.length, first_row: at.first, first_line: at.first };
  return { slice, input: await deflateQuickly(ids.join('\n')) };
}

type Added = Awaited<ReturnType<typeof sliceOf>>;

/** @throws NoLongerReading when another reading has begun, or the job has left the state */
async function add(
  jobId: string,
  added: readonly Added[],
  { reader, deps }: { readonly reader: NonNullable<Job['reader']>; readonly deps: ReadStoredDeps },
): Promise<void> {
  const { jobs, slices, database } = deps;
  const write: Parameters<typeof inTransaction>[1] = async (options) => {
    if (!(await jobs.noteRead(jobId, reader, options)))
      throw new NoLongerReading('the job is no longer read, or another runner reads it');
    await slices.add(jobId, added, options);
  };
  await inTransaction(database.client, write, { timeoutMs: storeTimeoutMs });
}

function noticesOf(rows: number, { sent_within_days: days, max_rows: maxRows }: StoredLeads): string[] {
  if (rows === 0)
    return [`No lead was sent to this model in the last ${countText(days)} days, so there is nothing to score again.`];
  if (rows < maxRows) return [];
  const more = maxRows === storedLimits.rows ? '' : ' "max_rows" (--max-rows) sets their number.';
  return [`The job takes the ${countText(rows)} leads that were sent last. Any others are left out.${more}`];
}
