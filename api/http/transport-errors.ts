import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ApiError } from '../../shared/contract/errors.js';
import { errorEnvelope } from '../schemas/error.js';
import { requestIdOf } from './middleware/error-reply.js';
import type { UnusedBytes } from './unused-bytes.js';

/** Messages for errors of Node's HTTP parser that its own words do not explain. */
const messages: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: 'The headers are too large.',
  HPE_PAUSED_H2_UPGRADE: 'The request is not valid HTTP/1.1: HTTP/2 is not served here.',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request did not arrive in time.',
};

/** An error of Node's HTTP parser. `reason` is one of its own texts and quotes nothing of the request. */
interface ParserError extends NodeJS.ErrnoException {
  readonly reason?: unknown;
}

/** How long a refused connection stays open, so that a client that is still sending can read the answer. */
const lingerMs = 2_000;

/**
 * Answers input that never becomes a request with 400 in the error envelope, and closes the connection:
 *
 * - Input that the HTTP parser refuses, and `CONNECT`, which Node leaves without an answer. The refusal follows the
 *   answers to earlier calls on the connection, so that no client takes it for one of those.
 * - A connection that never sent anything is closed without an answer.
 * - An `Expect` other than `100-continue` is ignored. Node would answer 417 without a body.
 */
export function answerTransportErrors(server: Server, docsUrl: () => string, unused: UnusedBytes): void {
  const newest = new WeakMap<Duplex, { request: IncomingMessage; response: ServerResponse }>();
  /** Sockets already refused. The parser reports each later chunk on them as another error. */
  const refused = new WeakSet<Duplex>();
  server.prependListener('request', (request, response) => newest.set(request.socket, { request, response }));
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));

  const refuse = (socket: Duplex, message: string): void => {
    if (socket.writable) endSoon(socket, replyOf(new ApiError('refusedRequest', message), docsUrl()));
    else socket.destroy();
  };

  server.on('clientError', (error: ParserError, socket) => {
    if (error.code === 'ECONNRESET') socket.destroy();
    if (socket.destroyed) return;
    if (refused.has(socket)) {
      discardInTurn(socket, unused);
      return;
    }
    refused.add(socket);
    const { request, response } = newest.get(socket) ?? {};
    const isBody = request?.complete === false;
    // An answer on an unused connection would be taken for the answer to a request that is on its way.
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && isUnused(socket)) endSoon(socket);
    // A response without a socket waits for earlier ones. Its call gets 400 at the body timeout.
    else if (isBody && response?.headersSent === false && response.socket !== null) refuse(socket, messageOf(error));
    else afterAnswer(response, () => (isBody ? endSoon(socket) : refuse(socket, messageOf(error))));
  });

  server.on('connect', (_request, socket) => {
    socket.on('error', () => socket.destroy());
    afterAnswer(newest.get(socket)?.response, () => refuse(socket, 'CONNECT is not served here.'));
  });
}

function messageOf({ code = '', reason }: ParserError): string {
  const stated = code.startsWith('HPE_') && typeof reason === 'string' && reason !== '' ? `: ${reason}` : '';
  return messages[code] ?? `The request is not valid HTTP${stated}.`;
}

function afterAnswer(response: ServerResponse | undefined, act: () => void): void {
  if (response === undefined || response.writableFinished) act();
  else response.once('finish', act);
}

const isUnused = (socket: Duplex): boolean => socket instanceof Socket && socket.bytesRead === 0;

/** Reads no more of a refused connection until its turn. */
function discardInTurn(socket: Duplex, unused: UnusedBytes): void {
  if (!(socket instanceof Socket)) return;
  unused.pauseForTurn(socket, { headers: {}, socket }, lingerMs).catch(() => socket.destroy());
}

/** Ends a connection, and cuts it if the client does not end its side. */
function endSoon(socket: Duplex, lastText = ''): void {
  socket.end(lastText);
  const cut = setTimeout(() => socket.destroy(), lingerMs);
  socket.once('close', () => clearTimeout(cut));
}

function replyOf(error: ApiError, docsUrl: string): string {
  const body = JSON.stringify(errorEnvelope(error, docsUrl));
  const head = [
    'HTTP/1.1 400 Bad Request',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestIdOf(undefined)}`,
    `Date: ${new Date().toUTCString()}`,
    'Connection: close',
  ].join('\r\n');
  return `${head}\r\n\r\n${body}`;
}
