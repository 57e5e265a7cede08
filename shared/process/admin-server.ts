import { createServer, type Server } from 'node:http';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { messageOf } from '../contract/errors.js';
import type { Stoppable } from './lifecycle.js';

export interface AdminServerOptions {
  readonly host: string;
  readonly port: number;
  readonly registry: Registry;
  /** Whether the process can do its work now; a reason when it cannot. */
  readonly readiness: () => Promise<string | undefined>;
}

const text = 'text/plain; charset=utf-8';

/** A registry of metrics with those of Node itself. */
export function createMetrics(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
}

/**
 * Serves `/healthz` (the process lives), `/readyz` (it can do its work) and `/metrics` (Prometheus) for operators.
 * @throws Error naming the address when it is taken
 */
export async function startAdminServer(
  options: AdminServerOptions,
): Promise<Stoppable & { readonly port: number }> {
  const server = createServer((request, response) => {
    void respond(request.url ?? '/', options)
      // What a collector throws must end neither the process nor the wait of whoever asks.
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

/** Listens; the error says which address cannot be listened on. */
export async function listen(server: Server, host: string, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const hint =
        error.code === 'EADDRINUSE' ? 'is something else running there?' : 'check HOST and the port';
      reject(new Error(`cannot listen on ${host}:${port} (${error.message}): ${hint}`));
    });
    server.listen(port, host, () => resolve());
  });
}

async function respond(
  url: string,
  { registry, readiness }: AdminServerOptions,
): Promise<{ status: number; type: string; body: string }> {
  if (url === '/healthz') return { status: 200, type: text, body: 'ok\n' };
  if (url === '/metrics') return { status: 200, type: registry.contentType, body: await registry.metrics() };
  if (url !== '/readyz') return { status: 404, type: text, body: 'try /healthz, /readyz or /metrics\n' };
  const reason = await readiness();
  return reason === undefined
    ? { status: 200, type: text, body: 'ready\n' }
    : { status: 503, type: text, body: `${reason}\n` };
}
