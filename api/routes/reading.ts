import type { Context, Middleware } from 'koa';
import { FairQueue } from '../../shared/async/fair-queue.js';
import { TimedOut, withTimeout } from '../../shared/async/timeouts.js';
import type { Clock } from '../../shared/contract/dates.js';
import { ApiError } from '../../shared/contract/errors.js';
import type { RateWindow } from '../../shared/redis/keys.js';
import type { ApiKey } from '../../shared/store/accounts/api-keys.js';
import { defaultPoolSize } from '../../shared/store/connection/connect.js';
import type { Workspace, WorkspaceCache } from '../admission/workspace-cache.js';
import type { Authenticator } from '../auth/authenticate.js';
import type { RateLimit } from '../request/rate-limit.js';
import { takeSlot } from '../request/receive-call.js';

/** Dependencies of every reading endpoint. */
export interface ReadingDeps {
  readonly keys: Pick<Authenticator, 'authenticate'>;
  readonly workspaces: WorkspaceCache;
  readonly rateLimit: RateLimit;
  readonly clock: Clock;
  readonly newCallId: (nowMs: number, organisationId: string) => string;
  /** See `readTurns`. */
  readonly turns: FairQueue;
  /** Deadline of a call, ms. The time in which a body arrives does not count. */
  readonly timeoutMs: number;
}

/** Dependencies of an endpoint whose callers have a session of the console. */
export interface SessionReadingDeps extends Pick<ReadingDeps, 'turns' | 'timeoutMs'> {
  /** Finds the caller, and limits its rate. */
  readonly identify: (context: Context) => Promise<Reader>;
}

/** Half of the connections: slow reads of one organisation must leave some for calls that score. */
const maxReads = defaultPoolSize / 2;
const maxWaitingReads = 512;

/** Limits the calls of these endpoints that run at once. Organisations take turns. */
export const readTurns = (): FairQueue => new FairQueue({ size: () => maxReads, maxWaiting: maxWaitingReads });

/** The caller of a reading endpoint. */
export interface Reader extends Workspace {
  readonly apiKey: ApiKey;
}

/** The body of a 200, or undefined for a 204. */
type ReadAnswer = Record<string, unknown> | undefined;

/**
 * An endpoint that reads data of the key's organisation, in every state of the organisation. Its rate is ten times that
 * of scoring, in a window of its own.
 * @param window of an endpoint with another rate
 * @throws (the middleware) ApiError invalidApiKey, rateLimited, internalError at the deadline; errors of `answer`
 */
export const readingRoute = (
  deps: ReadingDeps | SessionReadingDeps,
  answer: (context: Context, reader: Reader) => Promise<ReadAnswer>,
  window: RateWindow = 'reading',
): Middleware => receivingRoute(deps, { receive: async () => undefined, answer, window });

/**
 * As `readingRoute`, for calls with a body.
 * @param steps `receive` reads the body. The deadline does not include it, so it needs a timeout of its own
 */
export function receivingRoute<Received>(
  deps: ReadingDeps | SessionReadingDeps,
  steps: {
    readonly receive: (context: Context, reader: Reader) => Promise<Received>;
    readonly answer: (context: Context, reader: Reader, received: Received) => Promise<ReadAnswer>;
    readonly window?: RateWindow;
  },
): Middleware {
  return async (context) => {
    const beganMs = performance.now();
    const reader = await answered(deps.timeoutMs, identify(context, deps, steps.window));
    const leftMs = deps.timeoutMs - (performance.now() - beganMs);
    const received = await steps.receive(context, reader);
    const answer = () => steps.answer(context, reader, received);
    const body = await answered(leftMs, deps.turns.run(reader.organisation._id, leftMs, answer));
    if (body === undefined) {
      context.status = 204;
      return;
    }
    context.type = 'application/json';
    context.body = JSON.stringify(body);
  };
}

/** Checks the key or the session, then the rate, and reads the organisation of the caller. */
export async function identify(
  context: Context,
  deps: ReadingDeps | SessionReadingDeps,
  window: RateWindow = 'reading',
): Promise<Reader> {
  if ('identify' in deps) return await deps.identify(context);
  const apiKey = await deps.keys.authenticate(context.req);
  context.state.readingKey = apiKey;
  const slotId = deps.newCallId(deps.clock.now(), apiKey.organisation_id);
  await takeSlot(context, deps.rateLimit, { apiKey, slotId, window });
  const workspace = await deps.workspaces.workspace(apiKey.organisation_id);
  if (workspace === undefined) throw new ApiError('invalidApiKey', 'The organisation of the API key no longer exists.');
  return { ...workspace, apiKey };
}

/** Limits the time of a step. @throws ApiError internalError after it */
export async function answered<Result>(limitMs: number, work: Promise<Result>): Promise<Result> {
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

/** A decoded path parameter of the matched route. */
export const pathParameter = (context: Context, name: string): string => {
  const parameters: Readonly<Record<string, string | undefined>> = context.params;
  return parameters[name] ?? '';
};

/**
 * A query parameter. Koa's `context.query` takes 0.4 s for 15,000 characters of one repeated name.
 * @throws ApiError unreadableRequest if it is repeated
 */
export function queryParameter({ querystring }: Pick<Context, 'querystring'>, name: string): string | undefined {
  const [value, ...more] = new URLSearchParams(querystring).getAll(name);
  if (more.length > 0) throw new ApiError('unreadableRequest', `${name} must come once in the address.`);
  return value;
}
