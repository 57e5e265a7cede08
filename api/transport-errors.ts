import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { ApiError } from '../shared/errors.js';
import { errorEnvelope, requestIdOf } from './middleware/error-reply.js';

/** What Node's HTTP parser refuses, in words. */
const reasons: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: 'The headers are too large.',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request did not arrive in time.',
};

/**
 * Answers what the HTTP parser refuses (bad framing, headers too large or too slow) with 400 in the envelope, and closes
 * the connection; other connections are not touched.
 */
export function answerTransportErrors(server: Server, docsUrl: () => string): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (!socket.writable || error.code === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    const message = reasons[error.code ?? ''] ?? 'The request is not valid HTTP.';
    const body = JSON.stringify(errorEnvelope(new ApiError('refusedRequest', message), docsUrl()));
    const head = [
      'HTTP/1.1 400 Bad Request',
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      `X-Request-Id: ${requestIdOf(undefined)}`,
      'Connection: close',
    ].join('\r\n');
    socket.end(`${head}\r\n\r\n${body}`);
  });
}
