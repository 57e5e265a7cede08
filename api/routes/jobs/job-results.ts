import { Readable } from 'node:stream';
import type { Context, Middleware } from 'koa';
import { ApiError } from '../../../shared/contract/errors.js';
import { hasEnded, type Job } from '../../../shared/store/jobs/job-documents.js';
import { requireRead } from '../../auth/scopes.js';
import type { TransferPermit } from '../../request/uploads/transfer-permits.js';
import { answered, identify, queryParameter } from '../reading.js';
import { type JobDeps, requireJob } from './job-access.js';
import { type ByteRange, byteRange } from './transfer/byte-range.js';
import { type FileForm, ResultFile } from './transfer/result-file.js';

const mediaTypes = { csv: 'text/csv; charset=utf-8', jsonl: 'application/x-ndjson' } as const;

/**
 * `GET /v1/jobs/{job_id}/results` and `/errors`: the rows so far, as a file that only grows. A download that broke off
 * goes on with a Range, also while the job runs.
 */
export function jobFileRoute(kind: FileForm['kind'], deps: JobDeps): Middleware {
  return async (context) => {
    const reader = await answered(deps.reading.timeoutMs, identify(context, deps.reading));
    const isGzip = isGzipAsked(context);
    const job = await answered(deps.reading.timeoutMs, requireJob(context, reader, deps));
    // Its rows are not those of the caller's own file.
    if (job.options.stored !== undefined) requireRead(reader.apiKey, 'A file with stored leads');
    const file = new ResultFile(job, { kind, isGzip }, deps.stores.slices);
    // The results of an ended job change by erasures alone.
    const etag = hasEnded(job) ? `"${job._id}.${job.revision}"` : undefined;
    const range = rangeOf(context, file.length, etag);
    const body = bodyOf(context, file, range ?? { start: 0, end: file.length }, { job, deps });
    context.set('Accept-Ranges', 'bytes');
    // Proxies must not compress: ranges count the bytes of the file.
    context.set('Cache-Control', 'private, no-transform');
    if (etag !== undefined) context.set('ETag', etag);
    context.status = range === undefined ? 200 : 206;
    if (range !== undefined) context.set('Content-Range', `bytes ${range.start}-${range.end - 1}/${file.length}`);
    context.set('Content-Type', isGzip ? 'application/gzip' : mediaTypes[job.options.format]);
    context.body = body;
    context.length = (range?.end ?? file.length) - (range?.start ?? 0);
  };
}

/** @throws ApiError rangeNotSatisfiable */
function rangeOf(context: Context, length: number, etag: string | undefined): ByteRange | undefined {
  const header = context.get('range');
  if (header === '' || context.method === 'HEAD') return undefined;
  const condition = context.get('if-range').trim();
  if (condition !== '' && condition !== etag) return undefined;
  const range = byteRange(header, length);
  if (range !== 'beyond') return range;
  throw new ApiError('rangeNotSatisfiable', `The file has ${length} bytes now.`, {
    headers: { 'Content-Range': `bytes */${length}` },
  });
}

/** The body of a reply. A download holds a permit until the connection has taken the reply, or is gone. */
function bodyOf(
  context: Context,
  file: ResultFile,
  range: ByteRange,
  { job, deps }: { readonly job: Job; readonly deps: JobDeps },
): Readable | '' {
  if (range.end === range.start || context.method === 'HEAD') return '';
  const { res } = context;
  const permit = deps.downloads.take(job.org);
  const body = Readable.from(counted(file.read(range), permit), { objectMode: false });
  body.on('error', (error) => {
    // The head has been sent: a connection that ends too early is the only sign that the caller gets.
    deps.logger.warn({ job: job._id, error }, 'a download ended early: the caller can go on with a Range');
    res.destroy();
  });
  const giveWay = (): void => {
    res.destroy();
  };
  permit.signal.addEventListener('abort', giveWay);
  res.once('close', () => {
    permit.signal.removeEventListener('abort', giveWay);
    permit.free();
  });
  if (res.destroyed) permit.free();
  context.state.isDownload = true;
  return body;
}

async function* counted(pieces: AsyncGenerator<Buffer>, permit: TransferPermit): AsyncGenerator<Buffer> {
  for await (const piece of pieces) {
    permit.moved(piece.length);
    yield piece;
  }
}

/** @throws ApiError unreadableRequest for another compression */
function isGzipAsked(context: Context): boolean {
  const text = queryParameter(context, 'compression');
  if (text === undefined || text === 'gzip') return text === 'gzip';
  throw new ApiError('unreadableRequest', 'compression must be gzip or absent.');
}
