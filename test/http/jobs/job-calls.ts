import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { inTransaction } from '../../../shared/store/connection/transaction.js';
import { type Job, type JobTotals, noTotals, sliceId } from '../../../shared/store/jobs/job-documents.js';
import { SliceStore } from '../../../shared/store/jobs/job-slices.js';
import { JobUploadStore } from '../../../shared/store/jobs/job-uploads.js';
import type { HttpReply } from '../../support/http/http-call.js';
import type { RunningService } from '../../support/service/service.js';
import type { TestWorkspace } from '../../support/service/workspace.js';
import type { UsableKey } from '../../support/service/workspace-parts.js';

/** The parts of V1Job that tests read. */
export interface JobBody {
  readonly job_id: string;
  readonly state: Job['state'];
  readonly input: { readonly bytes_received: number; readonly bytes?: number; readonly source?: string };
  readonly progress: Readonly<Record<string, number | null>>;
  readonly pause?: { readonly reason: string };
  readonly error?: { readonly message: string; readonly line?: number; readonly column?: number };
  readonly notices?: readonly string[];
  readonly usage: { readonly limit: number };
  readonly validation: { readonly state: string };
  readonly expires_at: string;
}

export const jobOf = ({ status, text }: HttpReply, expected = 200): JobBody => {
  expect(status, text).to.equal(expected);
  return JSON.parse(text) as JobBody;
};

/** Creates a job and returns it. */
export async function newJob(own: TestWorkspace, body: object = {}, key: UsableKey = own.live): Promise<JobBody> {
  return jobOf(await own.call('/v1/jobs', { key, body: { model_id: own.model._id, ...body } }), 201);
}

export const tus = { 'tus-resumable': '1.0.0' } as const;

/** A call on the input of a job. Bytes are sent as they are. */
export async function inputCall(
  own: TestWorkspace,
  jobId: string,
  method: 'PUT' | 'PATCH' | 'POST' | 'HEAD' | 'OPTIONS',
  { bytes, headers = {} }: { readonly bytes?: Uint8Array | undefined; readonly headers?: Record<string, string> } = {},
): Promise<HttpReply> {
  const response = await fetch(`${own.service.url()}/v1/jobs/${jobId}/input`, {
    method,
    headers: { authorization: `Bearer ${own.live.secret}`, ...headers },
    body: bytes ?? null,
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

export const patchHeaders = (offset: number, length?: number): Record<string, string> => ({
  ...tus,
  'content-type': 'application/offset+octet-stream',
  'upload-offset': String(offset),
  ...(length === undefined ? {} : { 'upload-length': String(length) }),
});

/** The bytes that are stored for a job. */
export async function storedUpload({ stores }: RunningService, jobId: string): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of new JobUploadStore(stores.database).read(jobId)) parts.push(Buffer.from(part));
  return Buffer.concat(parts);
}

/** Changes the document of a job, as a runner does. */
export async function changeJob({ stores }: RunningService, jobId: string, change: Partial<Job>): Promise<void> {
  const { matchedCount } = await stores.database.collection<Job>('jobs').updateOne({ _id: jobId }, { $set: change });
  expect(matchedCount).to.equal(1);
}

/** One slice of rows for a test: the text of its results and of its errors. */
export interface SliceTexts {
  readonly results: string;
  readonly errors: string;
}

/** Stores settled slices of a job through `SliceStore`, and moves the settled prefix of the job behind them. */
export async function settleSlices(
  service: RunningService,
  jobId: string,
  texts: readonly SliceTexts[],
  { before = noTotals, header = 'a,score\n' }: { readonly before?: JobTotals; readonly header?: string } = {},
): Promise<JobTotals> {
  const { database } = service.stores;
  const slices = new SliceStore(database);
  let totals = before;
  for (const { results, errors } of texts) {
    const number = totals.slices;
    const id = sliceId(jobId, number);
    const slice = { number, rows: 1, first_row: totals.rows + 1, first_line: totals.rows + 2 };
    await slices.add(jobId, [{ slice, input: Buffer.from('x') }]);
    const [packed, packedErrors] = [gzipSync(results), errors === '' ? undefined : gzipSync(errors)];
    const sizes = {
      result_bytes: Buffer.byteLength(results),
      result_gzip_bytes: packed.length,
      error_bytes: Buffer.byteLength(errors),
      error_gzip_bytes: packedErrors?.length ?? 0,
    };
    const outcome = { scored: 1, failed: 0, empty: 0, ...sizes, done_at: new Date() };
    await inTransaction(
      database.client,
      (options) => slices.finish(id, outcome, { results: packed, errors: packedErrors }, options),
      { timeoutMs: 10_000 },
    );
    await slices.settle([{ slice: { _id: id, outcome }, start: totals }]);
    totals = {
      ...totals,
      slices: number + 1,
      rows: totals.rows + 1,
      scored: totals.scored + 1,
      result_bytes: totals.result_bytes + sizes.result_bytes,
      result_gzip_bytes: totals.result_gzip_bytes + sizes.result_gzip_bytes,
      error_bytes: totals.error_bytes + sizes.error_bytes,
      error_gzip_bytes: totals.error_gzip_bytes + sizes.error_gzip_bytes,
    };
  }
  const shape = { format: 'csv' as const, columns: ['a'], delimiter: ',', crm_id_field: undefined };
  await changeJob(service, jobId, {
    state: 'running',
    started_at: new Date(service.clock.now() - 10_000),
    file: { shape, rows: 100, slices: 100, header_line: header },
    settled: totals,
  });
  return totals;
}

/** Bytes of the file of a job. */
export async function download(
  own: TestWorkspace,
  path: string,
  headers: Record<string, string> = {},
): Promise<{ readonly status: number; readonly headers: Headers; readonly bytes: Buffer }> {
  const response = await fetch(`${own.service.url()}/v1/jobs/${path}`, {
    headers: { authorization: `Bearer ${own.live.secret}`, 'accept-encoding': 'identity', ...headers },
  });
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
}
