import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { Context } from 'koa';
import type { Clock } from '../../shared/contract/dates.js';
import { ApiError } from '../../shared/contract/errors.js';
import type { RateWindow } from '../../shared/redis/keys.js';
import type { ApiKey } from '../../shared/store/accounts/api-keys.js';
import type { Deadline, Idempotency } from '../call/scoring-call.js';
import type { BodyAccount, BodyMemory } from './body-memory.js';
import type { RateDecision, RateLimit } from './rate-limit.js';

/*
 * Reads the body of a request. koa-bodyparser is not used. It answers a corrupt gzip body with 500, hangs when a
 * compressed upload breaks off, and parses forms where JSON is required.
 */

/** Ends a turn of the event loop between two steps of a large call, so that other calls run. */
export interface Yielding {
  readonly yieldToEventLoop: () => Promise<void>;
}

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

/** Node takes microseconds for each chunk of a body, even of one byte: 500,000 would hold up other calls for a second. */
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
 * Decodes a body, without its byte order mark. A megabyte takes up to 10 ms.
 * @throws ApiError unreadableRequest if the body is not UTF-8
 */
export async function bodyText(body: Buffer, { yieldToEventLoop }: Yielding): Promise<string> {
  if (isUtf16(body)) throw unreadable('The body must be UTF-8, and this is UTF-16: encode it as UTF-8.');
  if (!isUtf8(body)) throw unreadable('The body must be UTF-8.');
  const hasMark = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf;
  let text = '';
  for (let from = hasMark ? 3 : 0, to = 0; to < body.length; from = to) {
    to = Math.min(from + megabyte, body.length);
    while (isInsideCharacter(body[to])) to -= 1;
    text += body.toString('utf8', from, to);
    await yieldToEventLoop();
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
    const done = () => end(() => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, length)));
    const gone = () => end(() => reject(new CallerGone('the caller hung up')));
    request.on('data', take).on('end', done).on('close', gone).on('error', gone);
  });
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

/** Dependencies of `receiveCall`. */
export interface ReceivingDeps {
  readonly rateLimit: RateLimit;
  readonly clock: Clock;
  readonly newCallId: (nowMs: number, organisationId: string) => string;
  readonly limits: BodyLimits;
  readonly bodies: BodyMemory;
}

/** A call that passed authentication and rate limit, and whose body has arrived. */
export interface ReceivedCall {
  readonly callId: string;
  readonly apiKey: ApiKey;
  readonly body: Buffer;
  readonly atMs: number;
  readonly deadline: Deadline;
  readonly idempotency: Idempotency | undefined;
  readonly hasHungUp: () => boolean;
}

const maxIdempotencyKey = 255;

/**
 * Checks the key, then the rate, then reads the body. Sets the RateLimit headers.
 * @param options.timeoutMs longest time from the last byte of the body to the answer
 * @throws ApiError invalidApiKey, rateLimited, unreadableRequest, refusedRequest
 */
export async function receiveCall(
  context: Context,
  deps: ReceivingDeps,
  options: {
    readonly authenticate: () => Promise<ApiKey>;
    readonly timeoutMs: number;
    readonly route: string;
  },
): Promise<ReceivedCall> {
  const arrivedMs = performance.now();
  const apiKey = await options.authenticate();
  context.state.apiKey = apiKey;
  // The slot needs an id before the body arrives. The call's own id is made after it, so that ids sort by
  // scoring time.
  const slotId = deps.newCallId(deps.clock.now(), apiKey.organisation_id);
  const requestedMs = performance.now();
  const leftMs = Math.max(1, arrivedMs + options.timeoutMs - requestedMs);
  const slot = { apiKey, slotId, window: 'scoring', timeoutMs: leftMs } as const;
  const decision = await takeSlot(context, deps.rateLimit, slot);
  const decidedMs = performance.now();
  const body = await readBody(context.req, deps.limits, deps.bodies.begin(apiKey.organisation_id));
  // The last byte may have arrived during the checks of key and rate, so their duration counts.
  const endMs = performance.now() + options.timeoutMs - (decidedMs - arrivedMs);
  // Measured from the request to Redis: a slow answer must not extend the deadline.
  const endRedisMs = decision.redisNowMs + (endMs - requestedMs);
  const { socket } = context.req;
  const atMs = deps.clock.now();
  return {
    callId: deps.newCallId(atMs, apiKey.organisation_id),
    apiKey,
    body,
    atMs,
    deadline: { monotonicMs: endMs, redisMs: endRedisMs, arrivedRedisMs: endRedisMs - options.timeoutMs },
    idempotency: idempotencyOf(context, options.route, body),
    // Node ends its side of a connection when the caller closes theirs.
    hasHungUp: () => socket.destroyed || socket.writableEnded,
  };
}

/**
 * Takes a slot of the key's rate, and sets the RateLimit headers.
 * @param slot.timeoutMs longest wait, if shorter than the timeout of the rate limit
 * @throws ApiError rateLimited; internalError if Redis fails or does not answer
 */
export async function takeSlot(
  context: Context,
  rateLimit: RateLimit,
  slot: {
    readonly apiKey: ApiKey;
    readonly slotId: string;
    readonly window: RateWindow;
    readonly timeoutMs?: number;
  },
): Promise<RateDecision> {
  const { apiKey, slotId, window, timeoutMs } = slot;
  const rate = (window === 'reading' ? 10 : 1) * apiKey.rate_per_second;
  const { organisation_id: organisationId, _id: keyId } = apiKey;
  const request = { organisationId, keyId, window, rate, slotId };
  const decision = await rateLimit.take(request, timeoutMs).catch((cause: unknown) => {
    throw new ApiError('internalError', 'The rate limit could not be read.', {
      cause,
      retryAfterSeconds: 1,
    });
  });
  context.set('RateLimit-Policy', `"key";q=${rate};w=1`);
  context.set('RateLimit', `"key";r=${decision.remaining};t=${Math.max(1, Math.round(decision.resetMs / 1000))}`);
  if (decision.accepted) return decision;
  throw new ApiError('rateLimited', `More than ${rate} calls within a second: slow down and retry.`, {
    retryAfterSeconds: Math.max(1, Math.ceil(decision.retryAfterMs / 1000)),
  });
}

function idempotencyOf(context: Context, route: string, body: Buffer): Idempotency | undefined {
  const key = context.get('idempotency-key');
  if (key === '') return undefined;
  if (key.length > maxIdempotencyKey) {
    throw new ApiError('unreadableRequest', `The Idempotency-Key is longer than ${maxIdempotencyKey} characters.`);
  }
  return { key, name: 'Idempotency-Key', bodyHash: bodyHashOf(route, body) };
}

/** SHA-256 of route and body, hex. Tells two different calls with the same Idempotency-Key apart. */
export const bodyHashOf = (route: string, body: Buffer): string =>
  createHash('sha256').update(route).update('\0').update(body).digest('hex');

/**
 * A query parameter. Koa's `context.query` takes 0.4 s for 15,000 characters of one repeated name.
 * @throws ApiError unreadableRequest if it is repeated
 */
export function queryParameter(context: Context, name: string): string | undefined {
  const [value, ...more] = new URLSearchParams(context.querystring).getAll(name);
  if (more.length > 0) throw new ApiError('unreadableRequest', `${name} must come once in the address.`);
  return value;
}
