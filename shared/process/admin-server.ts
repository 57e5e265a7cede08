import { createServer, type Server } from 'node:http';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { messageOf } from '../contract/errors.js';
import type { Stoppable } from './lifecycle.js';

export interface AdminServerOptions {
  readonly host: string;
  readonly port: number;
  readonly registry: Registry;
  readonly readiness: Readiness;
}

/**
 * The reason why the process cannot do its work now; undefined when it can.
 * @param except names a reason to ignore, if the process knows it
 */
export type Readiness = (except: string | null) => Promise<string | undefined>;

/** The reason that a request for `/readyz?except=REASON` ignores. */
export const exceptOf = (url: string): string | null => new URLSearchParams(url.split('?')[1]).get('except');

const text = 'text/plain; charset=utf-8';

/**
 * Ms between two samples of the delay of the event loop. Each wakes the process: at prom-client's 10 ms, three idle
 * processes took 13 CPU-ms a second. A delay of more than this is always seen.
 */
const loopSampleMs = 250;

/** A registry with Node's own metrics. */
export function createMetrics(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: loopSampleMs });
  return registry;
}

/**
 * Serves operators `/healthz` (the process lives), `/readyz` (it can do its work) and `/metrics` (Prometheus).
 * @throws Error that names the address when the server cannot listen on it
 */
export async function startAdminServer(options: AdminServerOptions): Promise<Stoppable & { readonly port: number }> {
  const server = createServer((request, response) => {
    void respond(request.url ?? '/', options)
      // A collector that throws must neither end the process nor leave the request unanswered.
      .catch((error: unknown) => ({ status: 500, type: text, body: `${messageOf(error)}\n` }))
      .then(({ status, type, body }) => {
        response.writeHead(status, { 'content-type': type }).end(body);
      });
  });
  await listen(server, options.host, options.port);
  const address = server.address();
  return {
    name: 'admin server',
    port: typeof address === 'object' && address !== null ? address.port : options.port,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Listens on an address. @throws Error that names the address and says what to check */
export async function listen(server: Server, host: string, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const hint = error.code === 'EADDRINUSE' ? 'is something else running there?' : 'check HOST and the port';
      reject(new Error(`cannot listen on ${host}:${port} (${error.message}): ${hint}`));
    });
    server.listen(port, host, () => resolve());
  });
}

async function respond(
  url: string,
  { registry, readiness }: AdminServerOptions,
): Promise<{ status: number; type: string; body: string }> {
  const [path] = url.split('?');
  if (path === '/healthz') return { status: 200, type: text, body: 'ok\n' };
  if (path === '/metrics') return { status: 200, type: registry.contentType, body: await registry.metrics() };
  if (path !== '/readyz') return { status: 404, type: text, body: 'try /healthz, /readyz or /metrics\n' };
  const reason = await readiness(exceptOf(url));
  return reason === undefined
    ? { status: 200, type: text, body: 'ready\n' }
    : { status: 503, type: text, body: `${reason}\n` };
}
