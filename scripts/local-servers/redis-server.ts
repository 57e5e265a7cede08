import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { findRedisServer } from './find-server-program.js';
import { deathOf, type LocalServer, startServer } from './server-process.js';

const RETRY_MS = 20;

/** What a Redis of one's own can be told. */
export interface RedisOptions {
  /** Its data and its log; made when missing. A Redis that is started again on it finds its data (with AOF). */
  readonly directory: string;
  /** A free one when left out. */
  readonly port?: number | undefined;
  /** Whether every write goes to an append-only file; true when left out. */
  readonly appendOnly?: boolean | undefined;
  /** More of redis-server's own options, as `['--maxmemory', '32mb']`; they win over those given here. */
  readonly extraArguments?: readonly string[] | undefined;
  /** The path of a Unix socket to listen on beside the port. */
  readonly unixSocket?: string | undefined;
}

/**
 * Starts a real Redis on loopback, with the eviction policy that the product needs, and waits until it answers.
 * @throws Error when there is no redis-server, or with the end of its log when it does not come up
 */
export async function startRedis(options: RedisOptions): Promise<LocalServer> {
  const { directory, port, appendOnly = true, extraArguments = [], unixSocket } = options;
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const program = await findRedisServer();
  const commandLine = (chosenPort: number): string[] => [
    ...['--port', String(chosenPort), '--bind', '127.0.0.1', '--dir', directory],
    ...['--appendonly', appendOnly ? 'yes' : 'no', '--save', '', '--maxmemory-policy', 'noeviction'],
    ...['--daemonize', 'no', '--set-proc-title', 'no'], // its command line goes on naming the directory
    ...(unixSocket === undefined ? [] : ['--unixsocket', unixSocket]),
    ...extraArguments,
  ];
  return startServer(
    { program, commandLine, logFile: join(directory, 'redis.log'), ready: redisReady },
    port,
  );
}

/** Waits until the Redis with this process id (not another one that took the port) has loaded its data and answers. */
async function redisReady(server: { port: number; pid: number; signal: AbortSignal }): Promise<string> {
  const redis = new Redis({
    host: '127.0.0.1',
    port: server.port,
    maxRetriesPerRequest: null,
    retryStrategy: () => (server.signal.aborted ? null : RETRY_MS),
  });
  redis.on('error', () => undefined); // refused until it listens: retried above
  try {
    const information = await redis.info('server');
    // the port was taken by another Redis: ours is about to end
    if (!information.includes(`process_id:${server.pid}\r`)) await deathOf(server.signal);
    return `redis://127.0.0.1:${server.port}`;
  } finally {
    redis.disconnect();
  }
}
