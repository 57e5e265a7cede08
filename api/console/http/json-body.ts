import type { Context, Middleware } from 'koa';
import bodyParser from 'koa-bodyparser';
import { AdminError } from '../../../shared/admin/admin-error.js';

const limit = '256kb';

/**
 * Reads a JSON object of at most 256 kB into `context.request.body`; an empty one for a request without a body.
 * Compressed bodies are refused, because the parser waits for ever when one breaks off.
 * @throws (the middleware) AdminError invalid_request, too_large
 */
export function jsonBody(): Middleware {
  const parse = bodyParser({ enableTypes: ['json'], jsonLimit: limit, strict: true, onerror: refuse });
  return async (context, next) => {
    // Browsers send `Content-Length: 0` and no type with a POST without a body.
    const isEmpty = context.get('transfer-encoding') === '' && Number(context.get('content-length')) === 0;
    if (!isEmpty && context.is('application/json') !== 'application/json')
      throw invalidBody('Send JSON: the Content-Type must be application/json.');
    if ((context.get('content-encoding') || 'identity') !== 'identity')
      throw invalidBody('The body must not be compressed.');
    await parse(context, async () => {
      if (typeof context.request.body !== 'object' || Array.isArray(context.request.body))
        throw invalidBody('The body must be a JSON object.');
      await next();
    });
  };
}

/** The body of a request that has passed `jsonBody`. */
export const bodyOf = (context: Context): Readonly<Record<string, unknown>> =>
  context.request.body as Readonly<Record<string, unknown>>;

function refuse(error: Error): never {
  if ('type' in error && error.type === 'entity.too.large')
    throw new AdminError('too_large', `The body is larger than ${limit}.`);
  throw new AdminError('invalid_request', 'The body is not valid JSON in UTF-8.', { cause: error });
}

const invalidBody = (message: string): AdminError => new AdminError('invalid_request', message);
