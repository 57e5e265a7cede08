import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ApiError } from '../../shared/contract/errors.js';
import { errorEnvelope, requestIdOf } from './middleware/error-reply.js';

/** What Node's HTTP parser refuses, in words. */
const reasons: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: 'The headers are too large.',
  HPE_PAUSED_H2_UPGRADE: 'The request is not valid HTTP/1.1: HTTP/2 is not served here.',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request did not arrive in time.',
};

/** What Node's HTTP parser says; `reason` is one of its own texts, with nothing of the request in it. */
interface ParserError extends NodeJS.ErrnoException {
  readonly reason?: unknown;
}

const notHttp = ({ code, reason }: ParserError): string =>
  code?.startsWith('HPE_') && typeof reason === 'string' && reason !== ''
    ? `The request is not valid HTTP: ${reason}.`
    : 'The request is not valid HTTP.';

/** For the caller to read the answer before the connection is cut, in ms. */
const lingerMs = 2_000;

/** The newest exchange on a connection. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The answer to the call before it. */
  readonly before: ServerResponse | undefined;
}

/**
 * Answers what never becomes a request with 400 in the envelope, and closes the connection; others are not touched:
 * 1. what the HTTP parser refuses: bad framing, headers too large or too slow; when calls that came before it on the same
 *    connection are still under way, after their answers, so that no caller takes it for the answer to another call;
 * 2. `CONNECT`, which Node would leave without an answer; likewise.
 * A connection on which nothing came in time is closed without a word.
 * An `Expect` that is not `100-continue` is passed over, where Node would answer 417 with an empty body.
 */
export function answerTransportErrors(server: Server, docsUrl: () => string): void {
  const newest = new WeakMap<Duplex, Exchange>();
  /** What is on them still is thrown away: were they cut at once, a caller who still sends could not read the answer. */
  const refused = new WeakSet<Duplex>();
  server.prependListener('request', (request, response) => {
    const before = newest.get(request.socket)?.response;
    newest.set(request.socket, { request, response, before });
  });
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));

  const refuse = (socket: Duplex, message: string) => {
    if (!socket.writable) {
      socket.destroy();
      return;
    }
    endSoon(socket, refusal(message, docsUrl()));
  };

  server.on('clientError', (error: ParserError, socket) => {
    if (error.code === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    // Comes again with all that is sent after it.
    if (refused.has(socket)) return;
    refused.add(socket);
    // Opened in advance, and never used: an answer would be taken for that to the request that may be on its way.
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && isUnused(socket)) {
      endSoon(socket);
      return;
    }
    const message = reasons[error.code ?? ''] ?? notHttp(error);
    const { request, response, before } = newest.get(socket) ?? {};
    const isOwnBody = request?.complete === false;
    afterAnswer(isOwnBody ? before : response, () => {
      // The body of a call that has had its answer: there is nothing more to say.
      if (isOwnBody && response?.headersSent === true) afterAnswer(response, () => endSoon(socket));
      else refuse(socket, message);
    });
  });

  server.on('connect', (_request, socket) => {
    socket.on('error', () => socket.destroy());
    afterAnswer(newest.get(socket)?.response, () => refuse(socket, 'CONNECT is not served here.'));
  });
}

/** Does something when an answer has been sent, or there is none to wait for. */
function afterAnswer(response: ServerResponse | undefined, act: () => void): void {
  if (response === undefined || response.writableFinished) act();
  else response.once('finish', act);
}

/** Whether nothing has ever come on a connection. */
const isUnused = (socket: Duplex): boolean => socket instanceof Socket && socket.bytesRead === 0;

/** Ends a connection, and cuts it when its caller does not. */
function endSoon(socket: Duplex, lastText = ''): void {
  socket.end(lastText);
  const cut = setTimeout(() => socket.destroy(), lingerMs);
  socket.once('close', () => clearTimeout(cut));
}

function refusal(message: string, docsUrl: string): string {
  const body = JSON.stringify(errorEnvelope(new ApiError('refusedRequest', message), docsUrl));
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
