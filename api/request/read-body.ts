import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { setImmediate as nextStep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { ApiError } from '../../shared/contract/errors.js';
import { freeBytes } from '../../shared/process/free-bytes.js';
import type { BodyAccount } from './body-memory.js';

/*
 * Reads the body of a request. koa-bodyparser is not used. It answers a corrupt gzip body with 500, hangs when a
 * compressed upload breaks off, and parses forms where JSON is required.
 */

export interface BodyLimits {
  /** Applies to the body as sent and as inflated. */
  readonly maxBodyBytes: number;
  /** Time until the last byte has arrived, ms. */
  readonly bodyTimeoutMs: number;
}

/** The caller hung up before the body was complete. No answer is possible. */
export class CallerGone extends Error {
  override name = 'CallerGone';
}

/**
 * Node takes microseconds for each chunk of a body, even of one byte: 500,000 would delay other calls for a second.
 */
const maxSmallChunks = 5_000;
const minChunkBytes = 64;

/** Whether a body comes in too many small chunks. */
export const areTooSmall = (chunks: number, bytes: number): boolean =>
  chunks > maxSmallChunks && bytes < minChunkBytes * chunks;

const inflate = promisify(gunzip);

/**
 * Reads and inflates a body.
 * @param account counts the bytes that arrive, and may refuse them
 * @throws ApiError refusedRequest for a body that is too large or too slow; unreadableRequest for an unknown encoding
 * or corrupt gzip; the account's errors; CallerGone
 */
export async function readBody(request: IncomingMessage, limits: BodyLimits, account: BodyAccount): Promise<Buffer> {
  const encoding = (request.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  const isGzip = encoding === 'gzip' || encoding === 'x-gzip';
  if (!isGzip && encoding !== 'identity' && encoding !== '') {
    throw unreadable(`The Content-Encoding must be gzip or absent, not "${encoding.slice(0, 40)}".`);
  }
  if (Number(request.headers['content-length'] ?? 0) > limits.maxBodyBytes) throw tooLarge(limits);
  const sent = await collect(request, limits, account);
  return isGzip ? await inflated(sent, limits) : sent;
}

/**
 * Decodes a body, without its byte order mark. A megabyte takes up to 10 ms, so it is a step. The main thread decodes
 * outcomes, which may have 8 MiB.
 * @throws ApiError unreadableRequest if the body is not UTF-8
 */
export async function bodyText(body: Buffer): Promise<string> {
  if (isUtf16(body)) throw unreadable('The body must be UTF-8, and this is UTF-16: encode it as UTF-8.');
  if (!isUtf8(body)) throw unreadable('The body must be UTF-8.');
  const hasMark = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf;
  let text = '';
  for (let from = hasMark ? 3 : 0, to = 0; to < body.length; from = to) {
    to = Math.min(from + megabyte, body.length);
    while (isInsideCharacter(body[to])) to -= 1;
    text += body.toString('utf8', from, to);
    if (to < body.length) await nextStep();
  }
  return text;
}

const megabyte = 1024 * 1024;

/** Whether a byte of UTF-8 continues a character. */
const isInsideCharacter = (byte = 0): boolean => (byte & 0xc0) === 0x80;

/** Whether a body has a byte order mark of UTF-16, or begins with an ASCII character in UTF-16. */
function isUtf16([first, second]: Buffer): boolean {
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) return true;
  return second !== undefined && (first === 0) !== (second === 0);
}

function collect(request: IncomingMessage, limits: BodyLimits, account: BodyAccount): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    // The caller hung up during the key look-up. Neither 'end' nor 'close' will follow.
    if (request.destroyed) {
      reject(new CallerGone('the caller hung up'));
      return;
    }
    const chunks: Buffer[] = [];
    let length = 0;
    const end = (finish: () => void) => {
      clearTimeout(timer);
      account.end();
      request.off('data', take).off('end', done).off('close', gone).off('error', gone);
      finish();
    };
    const timer = setTimeout(() => end(() => reject(tooSlow(limits))), limits.bodyTimeoutMs);
    const take = (chunk: Buffer) => {
      length += chunk.length;
      if (length > limits.maxBodyBytes) {
        end(() => reject(tooLarge(limits)));
        return;
      }
      chunks.push(chunk);
      if (areTooSmall(chunks.length, length)) {
        request.pause();
        end(() => reject(tooSmallChunks()));
        return;
      }
      try {
        account.add(chunk.length);
      } catch (error) {
        end(() => reject(error));
      }
    };
    const done = () => end(() => resolve(joined(chunks, length)));
    const gone = () => end(() => reject(new CallerGone('the caller hung up')));
    request.on('data', take).on('end', done).on('close', gone).on('error', gone);
  });
}

function joined(chunks: readonly Buffer[], length: number): Buffer {
  if (chunks.length === 1 && chunks[0]) return chunks[0];
  const body = Buffer.concat(chunks, length);
  for (const chunk of chunks) freeBytes(chunk);
  return body;
}

async function inflated(sent: Buffer, limits: BodyLimits): Promise<Buffer> {
  try {
    return await inflate(sent, { maxOutputLength: limits.maxBodyBytes });
  } catch (error) {
    if (error instanceof RangeError) throw tooLarge(limits);
    throw unreadable('The Content-Encoding is gzip, but the body does not inflate as gzip.');
  }
}

const tooSmallChunks = (): ApiError =>
  new ApiError(
    'refusedRequest',
    `The body comes in more than ${maxSmallChunks} chunks of less than ${minChunkBytes} bytes: send larger chunks, or a Content-Length.`,
    { headers: { Connection: 'close' } },
  );

const unreadable = (message: string): ApiError => new ApiError('unreadableRequest', message);

const tooLarge = ({ maxBodyBytes }: BodyLimits): ApiError =>
  new ApiError(
    'refusedRequest',
    `The body is larger than ${maxBodyBytes} bytes: send fewer records in each call, or less of each.`,
  );

const tooSlow = ({ bodyTimeoutMs }: BodyLimits): ApiError =>
  new ApiError('refusedRequest', `The body did not arrive within ${bodyTimeoutMs / 1000} seconds.`, {
    headers: { Connection: 'close' },
  });
