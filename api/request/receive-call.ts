import { createHash } from 'node:crypto';
import type { Context } from 'koa';
import { ApiError } from '../../shared/contract/errors.js';
import type { Clock } from '../../shared/process/clock.js';
import type { ApiKey } from '../../shared/store/accounts/api-keys.js';
import type { Deadline, Idempotency } from '../scoring/scoring-call.js';
import type { BodyMemory } from './body-memory.js';
import type { RateDecision, RateLimit } from './rate-limit.js';
import { type BodyLimits, readBody } from './read-body.js';

/** The rooms that every authenticated call passes before its body is understood. */
export interface ReceivingDeps {
  readonly rateLimit: RateLimit;
  readonly clock: Clock;
  readonly newCallId: (nowMs: number) => string;
  readonly limits: BodyLimits;
  readonly bodies: BodyMemory;
}

/** A call whose key and rate were checked and whose body has arrived. */
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
 * Checks the key and the rate, in this order, then reads the body. Sets the RateLimit headers.
 * @param options.authenticate finds the key that was sent; @param options.timeoutMs from the last byte of the body to
 * the answer
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
  // Of its own: the call's id is made with its date, so that the order of ids is that of what was scored when.
  const slotId = deps.newCallId(deps.clock.now());
  // To find the key may have taken a while.
  const askedMs = performance.now();
  const leftMs = Math.max(1, arrivedMs + options.timeoutMs - askedMs);
  const slot = { apiKey, slotId, window: 'scoring', timeoutMs: leftMs } as const;
  const decision = await takeSlot(context, deps.rateLimit, slot);
  const decidedMs = performance.now();
  const body = await readBody(context.req, deps.limits, deps.bodies.begin(apiKey.organisation_id));
  // The body's last byte may have come while key and rate were checked: what that took is part of the time.
  const endMs = performance.now() + options.timeoutMs - (decidedMs - arrivedMs);
  const { socket } = context.req;
  const atMs = deps.clock.now();
  return {
    callId: deps.newCallId(atMs),
    apiKey,
    body,
    atMs,
    // From when Redis was asked: an answer that was late in coming has taken its time of the call already.
    deadline: { monotonicMs: endMs, redisMs: decision.redisNowMs + (endMs - askedMs) },
    idempotency: idempotencyOf(context, options.route, body),
    // Node ends its side of a connection as soon as the caller has closed theirs.
    hasHungUp: () => socket.destroyed || socket.writableEnded,
  };
}

/**
 * Takes a slot of the key's rate and says so in headers.
 * @param slot.timeoutMs the longest wait for it, where there is less time than the rate limit takes itself
 * @throws ApiError rateLimited; internalError when Redis does not answer
 */
export async function takeSlot(
  context: Context,
  rateLimit: RateLimit,
  slot: {
    readonly apiKey: ApiKey;
    readonly slotId: string;
    readonly window: 'scoring' | 'reading';
    readonly timeoutMs?: number;
  },
): Promise<RateDecision> {
  const { apiKey, slotId, window, timeoutMs } = slot;
  const rate = window === 'scoring' ? apiKey.rate_per_second : 10 * apiKey.rate_per_second;
  const { organisation_id: organisationId, _id: keyId } = apiKey;
  const request = { organisationId, keyId, window, rate, slotId };
  const decision = await rateLimit.take(request, timeoutMs).catch((cause: unknown) => {
    throw new ApiError('internalError', 'The rate limit could not be read.', {
      cause,
      retryAfterSeconds: 1,
    });
  });
  context.set('RateLimit-Policy', `"key";q=${rate};w=1`);
  context.set(
    'RateLimit',
    `"key";r=${decision.remaining};t=${Math.max(1, Math.round(decision.resetMs / 1000))}`,
  );
  if (decision.accepted) return decision;
  throw new ApiError('rateLimited', `More than ${rate} calls within a second: slow down and retry.`, {
    retryAfterSeconds: Math.max(1, Math.ceil(decision.retryAfterMs / 1000)),
  });
}

function idempotencyOf(context: Context, route: string, body: Buffer): Idempotency | undefined {
  const key = context.get('idempotency-key');
  if (key === '') return undefined;
  if (key.length > maxIdempotencyKey) {
    throw new ApiError(
      'unreadableRequest',
      `The Idempotency-Key is longer than ${maxIdempotencyKey} characters.`,
    );
  }
  return { key, name: 'Idempotency-Key', bodyHash: bodyHashOf(route, body) };
}

/** What tells two calls under one Idempotency-Key apart: SHA-256 of where the call went and its body, hex. */
export const bodyHashOf = (route: string, body: Buffer): string =>
  createHash('sha256').update(route).update('\0').update(body).digest('hex');
