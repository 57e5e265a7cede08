import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import {
  acceptsConnections,
  findMongod,
  type LocalServer,
  startServer,
} from '../../../scripts/servers/server-process.js';

/**
 * Starts a mongod with these options on a free port of loopback, and waits until it accepts connections.
 * @param directory for its data and its log
 */
export async function mongodWith(directory: string, options: readonly string[]): Promise<LocalServer> {
  const dataDirectory = await mkdtemp(join(directory, 'db-'));
  const kind = {
    program: await findMongod(),
    commandLine: (port: number) => [
      ...['--port', String(port), '--bind_ip', '127.0.0.1', '--nounixsocket', '--dbpath', dataDirectory],
      ...['--wiredTigerCacheSizeGB', '0.25', '--quiet', ...options],
    ],
    logFile: `${dataDirectory}.log`,
    ready: async ({ port, signal }: { port: number; signal: AbortSignal }) => {
      while (!(await acceptsConnections(port))) await pause(20, undefined, { signal });
      return `mongodb://127.0.0.1:${port}/leadscore`;
    },
  };
  return startServer(kind, undefined);
}
