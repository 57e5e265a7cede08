import { randomUUID } from 'node:crypto';
import type { Context, Middleware } from 'koa';
import { ApiError, messageOf } from '../../../shared/contract/errors.js';
import type { Logger } from '../../../shared/process/logger.js';
import { CallerGone } from '../../request/read-body.js';
import { errorEnvelope } from '../../schemas/error.js';
import type { RefusedCalls } from '../refused-calls.js';

const ownRequestId = /^[A-Za-z0-9._:-]{1,128}$/;

/** The caller's X-Request-Id when it has an allowed form, else a new one. */
export const requestIdOf = (sent: string | undefined): string =>
  sent !== undefined && ownRequestId.test(sent) ? sent : randomUUID();

/** Sets X-Request-Id on every reply, and answers errors of later middleware and routes with the envelope. */
export function errorReply({
  logger,
  docsUrl,
  refusedCalls,
}: {
  readonly logger: Logger;
  readonly docsUrl: () => string;
  readonly refusedCalls: Pick<RefusedCalls, 'noteReply'>;
}): Middleware {
  return answeringErrors((context, thrown) => {
    const error = asApiError(thrown);
    if (error.entry.status >= 500) logFailure(logger, context, thrown, error.options.cause ?? thrown);
    context.state.errorCode = error.entry.code;
    context.status = error.entry.status;
    refusedCalls.noteReply(context, error.entry.code);
    context.type = 'application/json';
    context.body = JSON.stringify(errorEnvelope(error, docsUrl()));
    // HTTP requires it on every 401 (RFC 9110, 11.6.1).
    if (context.status === 401) context.set('WWW-Authenticate', 'Bearer');
    for (const [name, value] of Object.entries(error.options.headers ?? {})) context.set(name, value);
    const { retryAfterSeconds } = error.options;
    if (retryAfterSeconds !== undefined) context.set('Retry-After', String(retryAfterSeconds));
  });
}

/** Sets X-Request-Id on every reply, and hands errors of later middleware to `answer` while the caller is there. */
export function answeringErrors(answer: (context: Context, thrown: unknown) => void): Middleware {
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
      answer(context, thrown);
    }
  };
}

/** Logs a failure with its route, not with the path, which may name a lead. */
export function logFailure(logger: Logger, context: Context, thrown: unknown, error: unknown): void {
  const requestId: unknown = context.state.requestId;
  const route: unknown = context._matchedRoute;
  logger.error({ requestId, route, error }, messageOf(thrown));
}

function asApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  const message = 'An unexpected error on the server. The call was not counted.';
  return new ApiError('internalError', message, { cause: thrown, retryAfterSeconds: 1 });
}
