import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Context, Middleware } from 'koa';
import bodyParser from 'koa-bodyparser';
import { AdminError } from '../../../shared/admin/admin-error.js';

const limit = '256kb';
/** A shorter reply fits into one packet as it is. */
const minCompressed = 1_400;
const compress = promisify(gzip);

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

/**
 * Compresses the JSON of replies to GET. Replies to other methods may hold a secret beside what a caller sent: their
 * compressed lengths would tell something about it.
 */
export function compressedReplies(): Middleware {
  return async (context, next) => {
    await next();
    const { body } = context;
    if (context.method !== 'GET' || typeof body !== 'object' || body === null || !isPlain(body)) return;
    const text = JSON.stringify(body);
    const staysText = text.length < minCompressed || context.acceptsEncodings('gzip', 'identity') !== 'gzip';
    context.type = 'json';
    context.vary('Accept-Encoding');
    if (!staysText) context.set('Content-Encoding', 'gzip');
    context.body = staysText ? text : await compress(text, { level: 1 });
  };
}

/** Not a stream or a buffer. */
const isPlain = (body: object): boolean => Object.getPrototypeOf(body) === Object.prototype;
