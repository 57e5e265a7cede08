import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { deathOf, findRedisServer, type LocalServer, startServer } from '../server-process.js';

const retryMs = 20;

export interface RedisOptions {
  /** Data and log; created when missing. A second start on it finds the data (with AOF). */
  readonly directory: string;
  /** A free port by default. */
  readonly port?: number | undefined;
  /** Appends every write to a file; true by default. */
  readonly appendOnly?: boolean | undefined;
  /** Options of redis-server, as `['--maxmemory', '32mb']`; they override the options here. */
  readonly extraArguments?: readonly string[] | undefined;
}

/**
 * Starts a real Redis on loopback with the `noeviction` policy, which the product requires, and waits until it answers.
 * @throws Error when no redis-server is found, or with the end of its log when it does not start
 */
export async function startRedis(options: RedisOptions): Promise<LocalServer> {
  const { directory, port, appendOnly = true, extraArguments = [] } = options;
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const program = await findRedisServer();
  const commandLine = (chosenPort: number): string[] => [
    ...['--port', String(chosenPort), '--bind', '127.0.0.1', '--dir', directory],
    ...['--appendonly', appendOnly ? 'yes' : 'no', '--save', '', '--maxmemory-policy', 'noeviction'],
    ...['--daemonize', 'no', '--set-proc-title', 'no'], // `isRunningOn` reads the command line
    ...extraArguments,
  ];
  return startServer({ program, commandLine, logFile: join(directory, 'redis.log'), ready: redisReady }, port);
}

/** Waits until the Redis with this process id has loaded its data and answers. */
async function redisReady(server: { port: number; pid: number; signal: AbortSignal }): Promise<string> {
  const redis = new Redis({
    host: '127.0.0.1',
    port: server.port,
    maxRetriesPerRequest: null,
    retryStrategy: () => (server.signal.aborted ? null : retryMs),
  });
  redis.on('error', () => undefined); // connections are refused until it listens; retryStrategy retries
  try {
    const information = await redis.info('server');
    // Another Redis took the port: this one is about to end.
    if (!information.includes(`process_id:${server.pid}\r`)) await deathOf(server.signal);
    return `redis://127.0.0.1:${server.port}`;
  } finally {
    redis.disconnect();
  }
}
