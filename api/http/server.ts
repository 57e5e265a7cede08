import { createServer, type RequestListener, type Server } from 'node:http';
import { isIPv6 } from 'node:net';
import { listen } from '../../shared/process/admin-server.js';
import { answerTransportErrors } from './transport-errors.js';

/** Ms for the headers of a request to arrive, unless the body timeout is shorter. */
const maxHeadersMs = 10_000;

export interface ServerOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  readonly bodyTimeoutMs: number;
  readonly docsUrl: () => string;
}

/** Starts the HTTP server of a gateway. Resolves when it accepts connections. */
export async function startServer(
  listener: RequestListener,
  { host, port, bodyTimeoutMs, docsUrl }: ServerOptions,
): Promise<{ readonly server: Server; readonly url: string }> {
  const server = createServer(
    {
      keepAliveTimeout: 65_000,
      headersTimeout: Math.min(maxHeadersMs, bodyTimeoutMs),
      // `readBody` has a timeout for bodies.
      requestTimeout: 0,
      connectionsCheckingInterval: Math.min(1_000, bodyTimeoutMs),
      // `checkRequestHead` refuses a request without Host, with the error envelope.
      requireHostHeader: false,
    },
    listener,
  );
  // Node would drop headers after the thousandth without an error. Their size is limited already.
  server.maxHeadersCount = 0;
  answerTransportErrors(server, docsUrl);
  await listen(server, host, port);
  const address = server.address();
  const boundPort = typeof address === 'object' && address !== null ? address.port : port;
  return { server, url: ownUrlOf(host, boundPort) };
}

/** A server can listen on these hosts, but clients cannot connect to them. */
const wildcardHosts: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/** The URL of the gateway itself, for when BASE_URL is not set. */
export function ownUrlOf(host: string, port: number): string {
  if (wildcardHosts.has(host)) return `http://localhost:${port}`;
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}
