import type { IncomingMessage } from 'node:http';
import type { Middleware } from 'koa';
import { ApiError } from '../../../shared/contract/errors.js';

/**
 * Refuses requests that Node's HTTP parser accepts:
 *
 * - without exactly one Host header (RFC 9112, 3.2);
 * - with a target that is not a URL: later code would fail on it;
 * - with a transfer coding other than `chunked` (RFC 9112, 6.1): Node does not decode it.
 * @throws (the middleware) ApiError refusedRequest, which closes the connection
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
        'The Transfer-Encoding must be chunked or absent: ' + 'send a compressed body with Content-Encoding: gzip.',
      );
    }
    await next();
  };
}

/** Nearly all clients send a path. Proxies send a whole URL. */
const isTarget = (target: string): boolean => target.startsWith('/') || target === '*' || URL.canParse(target);

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
