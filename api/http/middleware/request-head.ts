import type { IncomingMessage } from 'node:http';
import type { Middleware } from 'koa';
import { ApiError } from '../../../shared/contract/errors.js';

/**
 * Refuses what is valid for Node's HTTP parser and yet no request: without its one Host header (RFC 9112, 3.2), for an
 * address that cannot be taken apart, on which everything further in would fail, or with a transfer coding beside
 * `chunked` (RFC 9112, 6.1): nobody has undone it, so that the body is not what the caller wrote.
 * @throws (the middleware) ApiError refusedRequest, and the connection is closed
 */
export function checkRequestHead(): Middleware {
  return async ({ req }, next) => {
    const hosts = hostCount(req);
    if (hosts > 1 || (hosts === 0 && req.httpVersion !== '1.0')) {
      throw refused('The request must have one Host header.');
    }
    if (!isTarget(req.url ?? '')) throw refused('The address in the request line is not valid.');
    const coding = req.headers['transfer-encoding'] ?? 'chunked';
    if (coding.toLowerCase() !== 'chunked') {
      throw refused(
        'The Transfer-Encoding must be chunked or absent: send a compressed body with Content-Encoding: gzip.',
      );
    }
    await next();
  };
}

/** A path, as nearly every client sends, `*`, or a whole address, as proxies do. */
const isTarget = (target: string): boolean =>
  target.startsWith('/') || target === '*' || URL.canParse(target);

function hostCount({ rawHeaders }: IncomingMessage): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count;
}

const refused = (message: string): ApiError =>
  new ApiError('refusedRequest', message, { headers: { Connection: 'close' } });
