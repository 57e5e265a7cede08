import type { Context, Middleware } from 'koa';
import { MongoNetworkError, MongoServerSelectionError } from 'mongodb';
import { AdminError, type AdminErrorOptions, adminErrors } from '../../../shared/admin/admin-error.js';
import { ApiError } from '../../../shared/contract/errors.js';
import { withoutSecrets } from '../../../shared/contract/identifiers.js';
import type { Logger } from '../../../shared/process/logger.js';
import { MongoTimeout } from '../../../shared/store/connection/connect.js';
import { CommitUnknown } from '../../../shared/store/connection/transaction.js';
import { answeringErrors, logFailure } from '../../http/middleware/error-reply.js';

/** An error as its reply needs it. */
interface Refusal {
  readonly code: string;
  readonly status: number;
  readonly message: string;
  readonly member?: string | undefined;
  readonly stored?: AdminErrorOptions['stored'];
  readonly retryAfterSeconds?: number | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Sets X-Request-Id on every reply, and answers errors of later middleware with an envelope like the public API's. */
export function errorReply(logger: Logger): Middleware {
  return answeringErrors((context, thrown) => {
    const { code, status, message, member, stored, retryAfterSeconds, headers = {} } = refusalOf(context, thrown);
    if (status >= 500) logFailure(logger, context, thrown, causeOf(thrown));
    context.status = status;
    if (code === 'sign_in_required' && isOpened(context)) {
      context.status = 303;
      context.set('Location', '/login');
    }
    context.set('Cache-Control', 'no-store');
    context.set(headers);
    if (retryAfterSeconds !== undefined) context.set('Retry-After', String(retryAfterSeconds));
    const text = withoutSecrets(message).toWellFormed();
    const named = member === undefined ? {} : { member };
    context.body = { error: { code, message: text, ...named, ...stored, request_id: context.state.requestId } };
  });
}

/** Whether a person sees the reply as a page, and not a script or a program. */
const isOpened = (context: Context): boolean =>
  context.method === 'GET' && context.get('sec-fetch-dest') === 'document' && context.get('authorization') === '';

function refusalOf(context: Context, thrown: unknown): Refusal {
  if (thrown instanceof AdminError) {
    const { code, message, options } = thrown;
    const { member, stored, retryAfterSeconds } = options;
    const text = /[.!?]$/.test(message) ? message : `${message}.`;
    return { code, status: adminErrors[code], message: text, member, stored, retryAfterSeconds };
  }
  if (thrown instanceof ApiError) {
    const { entry, message, options } = thrown;
    return { code: entry.code, status: entry.status, message, ...options };
  }
  const outage = outageText(context, thrown);
  if (outage !== undefined)
    return { code: 'unavailable', status: adminErrors.unavailable, message: outage, retryAfterSeconds: 5 };
  const message = 'An unexpected error on the server. Try again, and quote the request id when you report it.';
  return { code: 'internal_error', status: 500, message };
}

const mongoOutages = [CommitUnknown, MongoTimeout, MongoNetworkError, MongoServerSelectionError];
/** ioredis exports no classes for these. */
const redisOutage =
  /^(Command (timed out|aborted)|Connection is closed|Stream isn't|Socket timeout|Reached the max retries|Cluster is)/;

/** Words for a MongoDB or a Redis that does not answer. */
function outageText(context: Context, thrown: unknown): string | undefined {
  const isMongo = mongoOutages.some((kind) => thrown instanceof kind);
  if (!isMongo && !(thrown instanceof Error && redisOutage.test(thrown.message))) return undefined;
  if (thrown instanceof CommitUnknown || !isWhole(context))
    return 'The database did not confirm the change in time. Check whether it was made, then try again.';
  return 'The database did not answer in time, so nothing was changed. Wait a moment, then try again.';
}

/** Whether a request that fails has changed nothing: it only reads, or its changes are one transaction. */
const isWhole = ({ method, state }: Context): boolean => method === 'GET' || state.effect === 'change';

const causeOf = (thrown: unknown): unknown => (thrown instanceof Error ? (thrown.cause ?? thrown) : thrown);
