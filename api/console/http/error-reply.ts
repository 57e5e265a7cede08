import type { Middleware } from 'koa';
import { AdminError, type AdminErrorOptions, adminErrors } from '../../../shared/admin/admin-error.js';
import { ApiError } from '../../../shared/contract/errors.js';
import { withoutSecrets } from '../../../shared/contract/identifiers.js';
import type { Logger } from '../../../shared/process/logger.js';
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
    const { code, status, message, member, stored, retryAfterSeconds, headers = {} } = refusalOf(thrown);
    if (status >= 500) logFailure(logger, context, thrown, causeOf(thrown));
    context.status = status;
    context.set('Cache-Control', 'no-store');
    context.set(headers);
    if (retryAfterSeconds !== undefined) context.set('Retry-After', String(retryAfterSeconds));
    const text = withoutSecrets(message).toWellFormed();
    const named = member === undefined ? {} : { member };
    context.body = { error: { code, message: text, ...named, ...stored, request_id: context.state.requestId } };
  });
}

function refusalOf(thrown: unknown): Refusal {
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
  const message = 'An unexpected error on the server. Try again, and quote the request id when you report it.';
  return { code: 'internal_error', status: 500, message };
}

const causeOf = (thrown: unknown): unknown => (thrown instanceof Error ? (thrown.cause ?? thrown) : thrown);
