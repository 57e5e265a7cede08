import { createReadStream, type ReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { jobLimits } from '../../../shared/store/jobs/job-documents.js';
import { type ApiFailure, failureOf, headerOf } from '../calls/api-reply.js';
import type { HttpReply } from '../calls/http-connections.js';
import { mayPass, Patience } from '../calls/patience.js';
import { CliError, codeOf, fileProblem, refusal } from '../context/cli-error.js';
import { badInput, type InputFile } from '../files/input-file.js';
import { readableBytes } from '../output/readable-numbers.js';
import { type JobClient, NoAnswer, pathOf } from './job-client.js';
import type { JobReply } from './job-reply.js';
import type { JobScreen } from './job-screen.js';

const maxStallMs = 5 * 60_000;
const progressEveryMs = 250;
const readBytes = 256 * 1024;

/**
 * The outcome of one step: the file is complete, the service has it up to an offset, or the step failed. Another
 * attempt after a refusal is useful only if the service has stored bytes before it.
 */
type Step =
  | 'complete'
  | { readonly offset: number }
  | { readonly failure: ApiFailure }
  | { readonly refusal: ApiFailure };

export interface Upload {
  readonly client: JobClient;
  readonly job: JobReply;
  readonly input: InputFile;
  /** Called with the bytes that are stored or on their way. */
  readonly onBytes: (bytes: number) => void;
}

/** @throws CliError for a file that no job takes */
export function requireSize({ name, bytes }: InputFile): void {
  if (bytes === 0) throw badInput(`${name} is empty`);
  if (bytes <= jobLimits.uploadBytes) return;
  const max = readableBytes(jobLimits.uploadBytes);
  throw badInput(
    `${name} has ${readableBytes(bytes)}, and a job takes at most ${max}. Compress it with gzip, or split it`,
  );
}

/** Uploads the file of a job that has not got it, and shows the progress. @returns the job as it is then */
export async function uploadFile({
  client,
  screen,
  job,
  input,
}: Omit<Upload, 'onBytes'> & { readonly screen: JobScreen }): Promise<JobReply> {
  if (job.state !== 'awaiting_upload') return job;
  const onBytes = (bytes: number): void => screen.update('Uploading', { done: bytes, fraction: bytes / input.bytes });
  onBytes(job.input?.bytes_received ?? 0);
  await uploadInput({ client, job, input, onBytes });
  return await client.job(job.job_id);
}

/**
 * Sends the file of a job: at first by PUT. When the connection breaks, it asks by HEAD how much the service has
 * stored, and sends the rest by PATCH (tus 1.0). Five minutes without progress end it.
 * @throws CliError; AbortError when the command is stopped
 */
export async function uploadInput(upload: Upload): Promise<void> {
  const patience = new Patience(upload.client.means, maxStallMs);
  const received = upload.job.input?.bytes_received ?? 0;
  // Undefined: the service must be asked, because an earlier request may have stored bytes.
  let offset: number | undefined = received > 0 ? undefined : 0;
  let best = 0;
  for (;;) {
    await requireUnchanged(upload);
    const step = offset === undefined ? await askOffset(upload) : await sendFrom(upload, offset);
    if (step === 'complete') break;
    if ('failure' in step) {
      if (!(await patience.failed(step.failure))) throw stalled(upload, best, step.failure);
      offset = undefined;
      continue;
    }
    if ('refusal' in step) {
      // The service refuses a connection that was silent for 30 s, and keeps its bytes.
      const asked = await askOffset(upload);
      if (asked === 'complete') break;
      if (!('offset' in asked) || asked.offset <= best) throw refusal(step.refusal);
      offset = asked.offset;
    } else offset = step.offset;
    if (offset > best) patience.succeeded();
    best = Math.max(best, offset);
    upload.onBytes(offset);
  }
  await requireUnchanged(upload);
  upload.onBytes(upload.input.bytes);
}

async function askOffset(upload: Upload): Promise<Step> {
  const { client, job, input } = upload;
  const headers = { 'tus-resumable': '1.0.0' };
  const answer = await failing(client.reply({ method: 'HEAD', path: inputPath(job), headers }));
  if ('failure' in answer) return answer;
  const { reply } = answer;
  const offset = offsetOf(reply);
  if (reply.status < 300 && offset !== undefined) return offset >= input.bytes ? 'complete' : { offset };
  return refused(upload, reply);
}

async function sendFrom(upload: Upload, offset: number): Promise<Step> {
  const { client, job, input } = upload;
  const body = createReadStream(input.path, { start: offset, end: input.bytes - 1, highWaterMark: readBytes });
  const timer = setInterval(() => upload.onBytes(offset + body.bytesRead), progressEveryMs);
  try {
    const length = { 'content-length': String(input.bytes - offset) };
    const request =
      offset === 0
        ? ({ method: 'PUT', headers: { ...length, 'content-type': 'application/octet-stream' } } as const)
        : ({ method: 'PATCH', headers: { ...length, ...patchHeaders(offset, input.bytes) } } as const);
    const answer = await failing(client.reply({ ...request, path: inputPath(job), body }));
    if ('failure' in answer) return whenReadable(body, input, answer);
    const { reply } = answer;
    if (reply.status >= 300) return await refused(upload, reply);
    const stored = offset === 0 ? input.bytes : offsetOf(reply);
    if (stored === undefined || stored <= offset) return { failure: failureOf(reply) };
    return stored >= input.bytes ? 'complete' : { offset: stored };
  } finally {
    clearInterval(timer);
    body.destroy();
  }
}

const patchHeaders = (offset: number, bytes: number) => ({
  'content-type': 'application/offset+octet-stream',
  'tus-resumable': '1.0.0',
  'upload-offset': String(offset),
  'upload-length': String(bytes),
});

/**
 * A refused request. A conflict means that the upload is complete, or that another request writes at the same offset:
 * the state of the job says which.
 */
async function refused({ client, job }: Upload, reply: HttpReply): Promise<Step> {
  const failure = failureOf(reply);
  if (mayPass(failure) || reply.status === 429) return { failure };
  // The reply to HEAD has no body, and so no code: the job's own reply names the error.
  const { state } = await client.job(job.job_id);
  if (state !== 'awaiting_upload') return 'complete';
  if (reply.status === 409 || failure.code === 'unknown_reply') return { failure };
  return { refusal: failure };
}

/**
 * A broken upload whose file cannot be read is not a problem of the connection. An error of the connection also
 * destroys the body, and a socket reads, too: so only the errors of files count.
 */
function whenReadable(body: ReadStream, { path }: InputFile, step: Step): Step {
  const { errored } = body;
  if (errored === null) return step;
  const { syscall } = errored as NodeJS.ErrnoException;
  if (syscall !== 'open' && codeOf(errored) !== 'EIO') return step;
  throw badInput(`Cannot read ${path}: ${fileProblem(errored)}`);
}

/** @throws CliError when the file is no longer the one of the job, which is then canceled */
async function requireUnchanged({ client, job, input }: Upload): Promise<void> {
  const found = await stat(input.path).catch((error: unknown) => {
    throw badInput(`Cannot read ${input.path}: ${fileProblem(error)}`);
  });
  if (found.size === input.bytes && found.mtime.getTime() === input.modifiedAt.getTime()) return;
  await client.command(job.job_id, 'cancel').catch(() => undefined);
  throw badInput(
    `${input.name} changed while it was uploaded, so ${job.job_id} was canceled. Run the command again when the file is complete`,
  );
}

function stalled({ input }: Upload, bytes: number, failure: ApiFailure): CliError {
  const share = Math.floor((100 * bytes) / input.bytes);
  const { message, code, details } = refusal(failure);
  return new CliError(
    `${message}\nThe upload made no progress for ${maxStallMs / 60_000} minutes; ${share} % is stored. Run the same command again to continue it.`,
    { code, details },
  );
}

const inputPath = ({ job_id: jobId }: JobReply): string => `${pathOf(jobId)}/input`;

function offsetOf(reply: HttpReply): number | undefined {
  const text = headerOf(reply, 'upload-offset') ?? '';
  return /^\d+$/.test(text) ? Number(text) : undefined;
}

/** Converts a request without an answer to a failure. */
async function failing(
  reply: Promise<HttpReply>,
): Promise<{ readonly reply: HttpReply } | { readonly failure: ApiFailure }> {
  try {
    return { reply: await reply };
  } catch (error) {
    if (error instanceof NoAnswer) return { failure: error.failure };
    throw error;
  }
}
