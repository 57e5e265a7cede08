import type { Context, Middleware } from 'koa';
import { ApiError } from '../../../shared/contract/errors.js';
import { allowanceOf } from '../../../shared/contract/plans.js';
import { type Job, jobLimits, maxStoredBytes } from '../../../shared/store/jobs/job-documents.js';
import { UploadConflict } from '../../../shared/store/jobs/job-uploads.js';
import { UploadSession } from '../../../shared/store/jobs/upload-session.js';
import { receiveParts } from '../../request/uploads/receive-parts.js';
import { answered, identify, type Reader, readingRoute, receivingRoute } from '../reading.js';
import { type JobDeps, oneJob, requireJob, stateConflict } from './job-access.js';
import {
  contentLength,
  fileType,
  isForm,
  isPatchByPost,
  type PatchHeaders,
  patchHeadersOf,
  patchType,
  refuseForm,
  requireTus,
  setTusHeaders,
} from './transfer/upload-headers.js';

const { uploadBytes, uploadPartBytes } = jobLimits;

/** `PUT /v1/jobs/{job_id}/input`: the whole file as the body. It replaces what arrived before. */
export function putInputRoute(deps: JobDeps): Middleware {
  return receivingRoute(deps.reading, {
    window: 'scoring',
    receive: async (context, reader) => {
      refuseForm(context, fileType);
      const job = await requireAwaiting(context, reader, deps);
      const { 'content-encoding': encoding = 'identity' } = context.req.headers;
      if (!/^\s*(identity|gzip|x-gzip)?\s*$/i.test(encoding))
        throw new ApiError('unreadableRequest', 'The Content-Encoding must be gzip or absent.');
      const { bytes: named } = job.options;
      const length = contentLength(context) ?? named;
      if (length === 0) throw emptyFile();
      if (length !== undefined && length > uploadBytes) throw tooLarge();
      if (named !== undefined && length !== named) throw otherLength(named);
      const room = await roomFor(job, reader, deps);
      if ((length ?? 0) > room.bytes) throw room.full();
      const bound =
        named !== undefined
          ? { maxBytes: named, tooLarge: () => otherLength(named) }
          : room.bytes < uploadBytes
            ? { maxBytes: room.bytes, tooLarge: room.full }
            : { maxBytes: uploadBytes, tooLarge };
      return await withConflicts(context, reader, deps, async () => {
        const begin = (): Promise<UploadSession> => UploadSession.fromStart(deps.stores, job._id, length);
        const session = await receive(context, reader, deps, { begin, ...bound });
        if (session.offset === 0) throw emptyFile();
        // A body in chunks says no length.
        if (named !== undefined && session.offset !== named) throw otherLength(named);
        return await complete(session, deps);
      });
    },
    answer: (_context, reader, job) => oneJob(job, reader, deps),
  });
}

/** `PATCH /v1/jobs/{job_id}/input` (tus 1.0): bytes from the end of what is stored. */
export function patchInputRoute(deps: JobDeps): Middleware {
  return receivingRoute(deps.reading, {
    window: 'scoring',
    receive: async (context, reader) => {
      requireTus(context);
      refuseForm(context, patchType);
      const { offset, named } = patchHeadersOf(context);
      const job = await requireAwaiting(context, reader, deps);
      const length = lengthOf(job, { offset, named });
      await requireOffset(job, offset, deps);
      const room = await roomFor(job, reader, deps);
      const isFull = room.bytes < (length ?? uploadBytes);
      const maxBytes = Math.max(0, (isFull ? room.bytes : (length ?? uploadBytes)) - offset);
      const beyond = isFull ? room.full : length === undefined ? tooLarge : beyondLength;
      if ((contentLength(context) ?? 0) > maxBytes) throw beyond();
      return await withConflicts(context, reader, deps, async () => {
        const begin = async (): Promise<UploadSession> => {
          const begun = await UploadSession.fromEnd(deps.stores, job._id, length);
          // Another call may have added bytes until this one became the writer.
          if (begun.offset !== offset) throw otherOffset(begun.offset);
          return begun;
        };
        const session = await receive(context, reader, deps, { begin, maxBytes, tooLarge: beyond });
        if (session.offset === length) await complete(session, deps);
        return session.offset;
      });
    },
    answer: async (context, _reader, offset) => {
      context.set('Upload-Offset', String(offset));
      return undefined;
    },
  });
}

/** `POST /v1/jobs/{job_id}/input`: the PATCH of a client that cannot send it (tus 1.0). Nothing else. */
export function postInputRoute(deps: JobDeps): Middleware {
  const [put, patch] = [putInputRoute(deps), patchInputRoute(deps)];
  return async (context, next) => {
    if (isPatchByPost(context)) return await patch(context, next);
    // `curl -F` and `curl -d` send a POST. PUT refuses their forms, with the advice.
    if (isForm(context)) return await put(context, next);
    throw new ApiError(
      'methodNotAllowed',
      'Send the file by PUT: curl -T FILE. A POST needs the header X-HTTP-Method-Override: PATCH.',
      { headers: { Allow: 'PUT, HEAD, PATCH, OPTIONS' } },
    );
  };
}

/** `HEAD /v1/jobs/{job_id}/input` (tus 1.0): how much of the file is stored. */
export function headInputRoute(deps: JobDeps): Middleware {
  return async (context) => {
    context.set('Cache-Control', 'no-store');
    const reader = await answered(deps.reading.timeoutMs, identify(context, deps.reading));
    requireTus(context);
    const { offset, length } = await answered(deps.reading.timeoutMs, uploadOf(context, reader, deps));
    context.set('Upload-Offset', String(offset));
    if (length === undefined) context.set('Upload-Defer-Length', '1');
    else context.set('Upload-Length', String(length));
    context.status = 200;
    context.body = '';
  };
}

/** `OPTIONS /v1/jobs/{job_id}/input` (tus 1.0). */
export function inputOptionsRoute(deps: JobDeps): Middleware {
  return readingRoute(deps.reading, async (context) => {
    setTusHeaders(context);
    context.set('Tus-Max-Size', String(uploadBytes));
    return undefined;
  });
}

async function uploadOf(context: Context, reader: Reader, deps: JobDeps): Promise<{ offset: number; length?: number }> {
  const { _id, upload, state } = await requireJob(context, reader, deps);
  const { length } = upload;
  if (upload.complete_at !== undefined) return { offset: length ?? 0, ...(length === undefined ? {} : { length }) };
  const { offset } = await deps.stores.uploads.end(_id);
  // The gateway that stored the last byte ended before it stored the end of the file.
  if (state === 'awaiting_upload' && offset > 0 && offset === length)
    await withConflicts(context, reader, deps, async () => {
      const session = await UploadSession.fromEnd(deps.stores, _id, undefined);
      if (session.offset === length) await complete(session, deps);
    });
  return { offset, ...(length === undefined ? {} : { length }) };
}

/** Ends an upload, and wakes a runner. */
async function complete(session: UploadSession, { clock, waiting }: JobDeps): Promise<Job> {
  const job = await session.complete(new Date(clock.now()));
  // Not awaited: without Redis, the poll of a runner finds the file within three seconds.
  waiting.add([job.org]).catch(() => undefined);
  return job;
}

/** The room for the file of a job among the files of its organisation. */
interface Room {
  readonly bytes: number;
  readonly full: () => ApiError;
}

/** Several uploads at once may together pass the limit by what they send. */
async function roomFor(job: Job, { organisation }: Reader, { stores }: JobDeps): Promise<Room> {
  const max = maxStoredBytes(allowanceOf(organisation, 'live').limit);
  const bytes = max - (await stores.jobs.storedBytesBeside(job));
  return { bytes, full: () => noRoom(max) };
}

interface Receiving {
  readonly begin: () => Promise<UploadSession>;
  readonly maxBytes: number;
  readonly tooLarge: () => ApiError;
}

/** Takes a permit for an upload, and stores its body in parts. */
async function receive(context: Context, { apiKey }: Reader, deps: JobDeps, upload: Receiving): Promise<UploadSession> {
  const permit = deps.uploads.take(apiKey.organisation_id);
  try {
    const session = await upload.begin();
    const limits = {
      ...permit,
      partBytes: uploadPartBytes,
      silenceMs: deps.uploadSilenceMs,
      maxBytes: upload.maxBytes,
      tooLarge: upload.tooLarge,
    };
    await receiveParts(context.req, limits, (part) => session.append(part));
    return session;
  } finally {
    permit.free();
  }
}

async function requireAwaiting(context: Context, reader: Reader, deps: JobDeps): Promise<Job> {
  const job = await requireJob(context, reader, deps);
  if (job.state === 'awaiting_upload') return job;
  throw stateConflict(job, 'It takes a file only in the state awaiting_upload.');
}

/** Explains a conflict of uploads by the state that the job has now. */
async function withConflicts<Result>(
  context: Context,
  reader: Reader,
  deps: JobDeps,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof UploadConflict)) throw error;
    await requireAwaiting(context, reader, deps);
    throw new ApiError(
      'jobStateConflict',
      'A later call uploads the file of this job, so this one has ended. HEAD on this address has the bytes that are stored.',
    );
  }
}

/** The length of a file, from this call or from an earlier one. @throws ApiError refusedRequest */
function lengthOf({ upload }: Job, { offset, named }: PatchHeaders): number | undefined {
  if (named !== undefined && upload.length !== undefined && named !== upload.length)
    throw new ApiError('refusedRequest', `Upload-Length was ${upload.length} before: it must not change.`);
  const length = named ?? upload.length;
  if (length === 0) throw emptyFile();
  if (length !== undefined && length > uploadBytes) throw tooLarge();
  if (length !== undefined && length < offset) throw beyondLength();
  return length;
}

async function requireOffset(job: Job, offset: number, { stores }: JobDeps): Promise<void> {
  const end = await stores.uploads.end(job._id);
  if (end.offset !== offset) throw otherOffset(end.offset);
}

const emptyFile = (): ApiError => new ApiError('refusedRequest', 'The file is empty: send at least one row.');

const tooLarge = (): ApiError =>
  new ApiError(
    'refusedRequest',
    `The file is larger than ${uploadBytes} bytes: compress it, or divide it among several jobs.`,
  );

const otherLength = (named: number): ApiError =>
  new ApiError('refusedRequest', `The file must have ${named} bytes, the input.bytes of the job: send all of it.`);

const noRoom = (max: number): ApiError =>
  new ApiError(
    'refusedRequest',
    `The files of all jobs of the workspace may have ${max} bytes together, which this upload would pass: delete jobs that ` +
      'you no longer need, or compress the file.',
  );

const beyondLength = (): ApiError =>
  new ApiError(
    'refusedRequest',
    'The upload goes beyond its Upload-Length. HEAD on this address has the number of bytes that are kept.',
  );

const otherOffset = (offset: number): ApiError =>
  new ApiError('jobStateConflict', `Upload-Offset must be ${offset}, the number of bytes that are stored.`);
