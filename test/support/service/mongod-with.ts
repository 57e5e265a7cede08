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
 * A mongod on a free port of loopback that was started with these options and nothing else; it takes connections.
 * @param directory gets its data and its log
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
