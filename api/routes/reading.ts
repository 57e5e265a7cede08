import type { Context, Middleware } from 'koa';
import type { Clock } from '../../shared/clock.js';
import { ApiError } from '../../shared/errors.js';
import type { ApiKey } from '../../shared/store/api-keys.js';
import { withinTime } from '../../shared/within-time.js';
import type { Directory, Workspace } from '../directory.js';
import type { KeyStore } from '../key-store.js';
import type { RateLimit } from '../rate-limit/rate-limit.js';
import { takeSlot } from '../receive-call.js';

/** What every reading endpoint passes through. */
export interface ReadingRooms {
  readonly keys: KeyStore;
  readonly directory: Directory;
  readonly rateLimit: RateLimit;
  readonly clock: Clock;
  readonly newCallId: (nowMs: number) => string;
  /** For the answer to a call without a body, in ms. */
  readonly timeoutMs: number;
}

/** A call that reads: whose it is. */
export interface Reader extends Workspace {
  readonly apiKey: ApiKey;
}

/**
 * An endpoint that reads what belongs to the key's organisation. Its rate is ten times that of scoring, in a window of
 * its own; it works in every state of the organisation.
 * @throws (the middleware) ApiError invalidApiKey, rateLimited, and what `answer` throws
 */
export function readingRoute(
  rooms: ReadingRooms,
  answer: (context: Context, reader: Reader) => Promise<Record<string, unknown> | undefined>,
): Middleware {
  const read = async (context: Context) => {
    const apiKey = await rooms.keys.authenticate(context.req);
    const callId = rooms.newCallId(rooms.clock.now());
    await takeSlot(context, rooms.rateLimit, { apiKey, callId, window: 'reading' });
    const workspace = await rooms.directory.workspace(apiKey.organisation_id);
    if (workspace === undefined)
      throw new ApiError('invalidApiKey', 'The organisation of the API key no longer exists.');
    return await answer(context, { ...workspace, apiKey });
  };
  return async (context) => {
    // A body may take its time to arrive: an endpoint with one bounds what comes after it.
    const hasBody = context.method === 'POST';
    const body = await (hasBody ? read(context) : withinTime(rooms.timeoutMs, read(context)));
    if (body === undefined) {
      context.status = 204;
      return;
    }
    context.type = 'application/json';
    context.body = JSON.stringify(body);
  };
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
