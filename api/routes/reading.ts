import type { Context, Middleware } from 'koa';
import { TimedOut, withTimeout } from '../../shared/async/timeouts.js';
import { ApiError } from '../../shared/contract/errors.js';
import type { Clock } from '../../shared/process/clock.js';
import type { ApiKey } from '../../shared/store/accounts/api-keys.js';
import type { Authenticator } from '../auth/authenticate.js';
import type { RateLimit } from '../request/rate-limit.js';
import { takeSlot } from '../request/receive-call.js';
import type { Workspace, WorkspaceCache } from '../scoring/workspace-cache.js';

/** What every reading endpoint passes through. */
export interface ReadingDeps {
  readonly keys: Authenticator;
  readonly workspaces: WorkspaceCache;
  readonly rateLimit: RateLimit;
  readonly clock: Clock;
  readonly newCallId: (nowMs: number) => string;
  /** For the answer to a call, in ms; the time in which a body arrives not counted. */
  readonly timeoutMs: number;
}

/** A call that reads: whose it is. */
export interface Reader extends Workspace {
  readonly apiKey: ApiKey;
}

/** The body of an answer; undefined for one without. */
type ReadAnswer = Record<string, unknown> | undefined;

/**
 * An endpoint that reads what belongs to the key's organisation. Its rate is ten times that of scoring, in a window of
 * its own; it works in every state of the organisation.
 * @throws (the middleware) ApiError invalidApiKey, rateLimited, internalError at the deadline, and what `answer` throws
 */
export const readingRoute = (
  deps: ReadingDeps,
  answer: (context: Context, reader: Reader) => Promise<ReadAnswer>,
): Middleware => receivingRoute(deps, { receive: async () => undefined, answer });

/**
 * As `readingRoute`, for calls with a body. The time in which it arrives is not the service's: it does not count.
 * @param steps `receive` reads the body, and bounds that by itself
 */
export function receivingRoute<Received>(
  deps: ReadingDeps,
  steps: {
    readonly receive: (context: Context, reader: Reader) => Promise<Received>;
    readonly answer: (context: Context, reader: Reader, received: Received) => Promise<ReadAnswer>;
  },
): Middleware {
  return async (context) => {
    const beganMs = performance.now();
    const reader = await answered(deps.timeoutMs, identify(context, deps));
    const leftMs = deps.timeoutMs - (performance.now() - beganMs);
    const received = await steps.receive(context, reader);
    const body = await answered(leftMs, steps.answer(context, reader, received));
    if (body === undefined) {
      context.status = 204;
      return;
    }
    context.type = 'application/json';
    context.body = JSON.stringify(body);
  };
}

async function identify(context: Context, deps: ReadingDeps): Promise<Reader> {
  const apiKey = await deps.keys.authenticate(context.req);
  const slotId = deps.newCallId(deps.clock.now());
  await takeSlot(context, deps.rateLimit, { apiKey, slotId, window: 'reading' });
  const workspace = await deps.workspaces.workspace(apiKey.organisation_id);
  if (workspace === undefined)
    throw new ApiError('invalidApiKey', 'The organisation of the API key no longer exists.');
  return { ...workspace, apiKey };
}

async function answered<Result>(limitMs: number, work: Promise<Result>): Promise<Result> {
  try {
    return await withTimeout(limitMs, work);
  } catch (error) {
    if (!(error instanceof TimedOut)) throw error;
    throw new ApiError('internalError', 'The call could not be answered in time.', {
      cause: error,
      retryAfterSeconds: 1,
    });
  }
}

/** A parameter of the path, decoded. The router has made sure that it is there. */
export const pathParameter = (context: Context, name: string): string => {
  const parameters: Readonly<Record<string, string | undefined>> = context.params;
  return parameters[name] ?? '';
};

/**
 * A parameter of the query that comes once.
 * @throws ApiError unreadableRequest when it comes several times
 */
export function queryParameter(context: Context, name: string): string | undefined {
  const value = context.query[name];
  if (Array.isArray(value)) throw new ApiError('unreadableRequest', `${name} must come once in the address.`);
  return value;
}
