import { createHash } from 'node:crypto';
import type { Context } from 'koa';
import type { Clock } from '../../shared/contract/dates.js';
import { ApiError } from '../../shared/contract/errors.js';
import { allows } from '../../shared/contract/roles.js';
import type { RateWindow } from '../../shared/redis/keys.js';
import type { ApiKey } from '../../shared/store/accounts/api-keys.js';
import { requireScope } from '../auth/scopes.js';
import type { Deadline, Idempotency, Notice } from '../call/scoring-call.js';
import type { BodyMemory } from './body-memory.js';
import type { RateDecision, RateLimit } from './rate-limit.js';
import { type BodyLimits, readBody } from './read-body.js';

/** Dependencies of `receiveCall`. */
export interface ReceivingDeps {
  readonly rateLimit: Pick<RateLimit, 'take'>;
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
  /** About the headers. */
  readonly notices: readonly Notice[];
  readonly hasHungUp: () => boolean;
  /** Calls the listener when the caller closes the connection. @returns ends that */
  readonly onHangUp: (listener: () => void) => () => void;
}

const maxIdempotencyKey = 255;
const emptyIdempotencyKey: Notice = { text: 'The Idempotency-Key is empty and was ignored.' };

/**
 * Checks the key, then the rate, then reads the body. Sets the RateLimit headers.
 * @param options.timeoutMs longest time from the last byte of the body to the answer
 * @throws ApiError invalidApiKey, rateLimited, unreadableRequest, refusedRequest; errors of `beforeBody`
 */
export async function receiveCall(
  context: Context,
  deps: ReceivingDeps,
  options: {
    readonly authenticate: () => Promise<ApiKey>;
    readonly timeoutMs: number;
    readonly route: string;
    /** Checks the head of the call, for an endpoint that must not read every body. */
    readonly beforeBody?: () => void;
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
  options.beforeBody?.();
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
    idempotency: idempotencyOf(context, routeFor(apiKey, options.route), body),
    notices: context.req.headers['idempotency-key'] === '' ? [emptyIdempotencyKey] : [],
    // Node ends its side of a connection when the caller closes theirs.
    hasHungUp: () => socket.destroyed || socket.writableEnded,
    onHangUp: (listener) => {
      socket.on('end', listener).on('close', listener);
      return () => socket.off('end', listener).off('close', listener);
    },
  };
}

const callsOf: Readonly<Record<RateWindow, string>> = {
  scoring: 'calls',
  reading: 'reading calls',
  erasing: 'erasures',
  outcomes: 'calls with outcomes',
};

/**
 * Takes a slot of the key's rate, sets the RateLimit headers, and checks the key's scope.
 * @param slot.timeoutMs longest wait, if shorter than the timeout of the rate limit
 * @throws ApiError rateLimited, insufficientScope; internalError if Redis fails or does not answer
 */
export async function takeSlot(
  context: Context,
  rateLimit: Pick<RateLimit, 'take'>,
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
  if (decision.accepted) {
    requireScope(context, apiKey);
    return decision;
  }
  throw new ApiError(
    'rateLimited',
    `More than ${rate} ${callsOf[window]} within a second, which is the limit of this key alone: slow down and retry. ` +
      'An administrator can give the key a higher rate.',
    { retryAfterSeconds: Math.max(1, Math.ceil(decision.retryAfterMs / 1000)) },
  );
}

/** A key that may not read stored values must not get the stored reply of one that may. */
const routeFor = (apiKey: ApiKey, route: string): string => (allows(apiKey, 'read') ? route : `${route} without read`);

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
