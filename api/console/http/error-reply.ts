import type { Middleware } from 'koa';
import { AdminError, adminErrors } from '../../../shared/admin/admin-error.js';
import { ApiError, messageOf } from '../../../shared/contract/errors.js';
import { withoutSecrets } from '../../../shared/contract/identifiers.js';
import type { Logger } from '../../../shared/process/logger.js';
import { requestIdOf } from '../../http/middleware/error-reply.js';
import { CallerGone } from '../../request/receive-call.js';

/** An error as its reply needs it. */
interface Refusal {
  readonly code: string;
  readonly status: number;
  readonly message: string;
  readonly member?: string | undefined;
  readonly retryAfterSeconds?: number | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Sets X-Request-Id on every reply, and answers errors of later middleware with an envelope like the public API's. */
export function errorReply(logger: Logger): Middleware {
  return async (context, next) => {
    const requestId = requestIdOf(context.get('x-request-id') || undefined);
    context.state.requestId = requestId;
    context.set('X-Request-Id', requestId);
    try {
      await next();
    } catch (thrown) {
      if (thrown instanceof CallerGone) {
        context.respond = false;
        context.res.destroy();
        return;
      }
      const { code, status, message, member, retryAfterSeconds, headers = {} } = refusalOf(thrown);
      if (status >= 500) {
        // Not the path, which may name a lead.
        const route: unknown = context._matchedRoute;
        logger.error({ requestId, route, error: causeOf(thrown) }, messageOf(thrown));
      }
      context.status = status;
      context.set('Cache-Control', 'no-store');
      context.set(headers);
      if (retryAfterSeconds !== undefined) context.set('Retry-After', String(retryAfterSeconds));
      const text = withoutSecrets(message).toWellFormed();
      const error = { code, message: text, ...(member === undefined ? {} : { member }), request_id: requestId };
      context.body = { error };
    }
  };
}

function refusalOf(thrown: unknown): Refusal {
  if (thrown instanceof AdminError) {
    const { code, message, options } = thrown;
    const { member, retryAfterSeconds } = options;
    const text = /[.!?]$/.test(message) ? message : `${message}.`;
    return { code, status: adminErrors[code], message: text, member, retryAfterSeconds };
  }
  if (thrown instanceof ApiError) {
    const { entry, message, options } = thrown;
    return { code: entry.code, status: entry.status, message, ...options };
  }
  const message = 'An unexpected error on the server. Try again, and quote the request id when you report it.';
  return { code: 'internal_error', status: 500, message };
}

const causeOf = (thrown: unknown): unknown => (thrown instanceof Error ? (thrown.cause ?? thrown) : thrown);
