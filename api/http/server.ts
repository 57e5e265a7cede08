import { createServer, type RequestListener, type Server } from 'node:http';
import { isIPv6, type Socket } from 'node:net';
import { listen } from '../../shared/process/admin-server.js';
import { answerTransportErrors } from './transport-errors.js';
import type { UnusedBytes } from './unused-bytes.js';

/** Calls that may wait on a connection. Node holds some 5 kB for each, and a client needs 30 bytes to send one. */
const maxWaiting = 1_000;
/**
 * Node parses so much of a body before its handler reads it. It always parses whole reads of the connection, and 64 KiB
 * hold 11,000 chunks of one byte. With the mark of Node 24, 64 KiB, it parsed 70,000 of them in 90 ms of CPU time.
 */
export const maxUnreadBytes = 8 * 1024;
/** Ms for the headers of a request to arrive, unless the body timeout is shorter. */
const maxHeadersMs = 10_000;

export interface ServerOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  readonly bodyTimeoutMs: number;
  readonly docsUrl: () => string;
  readonly unused: UnusedBytes;
}

/** Starts the HTTP server of a gateway. Resolves when it accepts connections. */
export async function startServer(
  listener: RequestListener,
  { host, port, bodyTimeoutMs, docsUrl, unused }: ServerOptions,
): Promise<{ readonly server: Server; readonly url: string }> {
  const server = createServer(
    {
      highWaterMark: maxUnreadBytes,
      keepAliveTimeout: 65_000,
      headersTimeout: Math.min(maxHeadersMs, bodyTimeoutMs),
      // `readBody` has a timeout for bodies.
      requestTimeout: 0,
      connectionsCheckingInterval: Math.min(1_000, bodyTimeoutMs),
      // `checkRequestHead` refuses a request without Host, with the error envelope.
      requireHostHeader: false,
    },
    oneCallAtATime(listener),
  );
  // Node would drop headers after the thousandth without an error. Their size is limited already.
  server.maxHeadersCount = 0;
  answerTransportErrors(server, docsUrl, unused);
  await listen(server, host, port);
  const address = server.address();
  const boundPort = typeof address === 'object' && address !== null ? address.port : port;
  return { server, url: ownUrlOf(host, boundPort) };
}

/**
 * Begins a call when the calls before it on the same connection have been answered. Node begins all calls that a client
 * writes at once (pipelining), although their replies leave in order. Two hundred of them would take the thread in one
 * go, and callers on other connections would wait. A connection with more than `maxWaiting` calls is cut.
 * @returns the listener for an HTTP server
 */
function oneCallAtATime(listener: RequestListener): RequestListener {
  /** The waiting calls of each connection that has a call in progress. */
  const waiting = new WeakMap<Socket, (() => void)[]>();

  return (request, response) => {
    const { socket } = request;
    const begin = (): void => {
      response.once('close', () => {
        const next = waiting.get(socket)?.shift();
        if (next === undefined) waiting.delete(socket);
        else if (socket.writable) next();
      });
      listener(request, response);
    };
    const others = waiting.get(socket);
    if (others === undefined) {
      waiting.set(socket, []);
      begin();
    } else if (others.length < maxWaiting) others.push(begin);
    else socket.destroy();
  };
}

/** A server can listen on these hosts, but clients cannot connect to them. */
const wildcardHosts: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/** The URL of the gateway itself, for when BASE_URL is not set. */
export function ownUrlOf(host: string, port: number): string {
  if (wildcardHosts.has(host)) return `http://localhost:${port}`;
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}
