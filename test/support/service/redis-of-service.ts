import { Redis } from 'ioredis';
import { startRedis } from '../../../scripts/servers/redis-server.js';
import type { LocalServer } from '../../../scripts/servers/server-process.js';
import { createLogger } from '../../../shared/process/logger.js';
import { connectionReady, connectRedis } from '../../../shared/redis/connect.js';
import { type RedisCluster, startRedisCluster } from './redis-cluster.js';

/** The Redis of one running service. */
export interface ServiceRedis {
  readonly url: string;
  /** The server; of a cluster the first. */
  readonly server: LocalServer;
  /** A connection to all of it. */
  readonly redis: Redis;
  /** A connection to each server: what is asked of all keys is asked of each. */
  readonly nodes: readonly Redis[];
  stop(): Promise<void>;
}

let onCluster = false;

/** Services that are started from now on in this process have a cluster of three. For `on-redis-cluster`. */
export function useRedisCluster(): void {
  onCluster = true;
}

/** Starts a Redis for one service, or a cluster where that is what is tested. */
export async function startServiceRedis({ directory }: { readonly directory: string }): Promise<ServiceRedis> {
  if (onCluster) return serviceRedisOn(await startRedisCluster({ directory }));
  const server = await startRedis({ directory, appendOnly: false });
  const redis = new Redis(server.url);
  const stop = async () => {
    redis.disconnect();
    await server.stop();
  };
  return { url: server.url, server, redis, nodes: [redis], stop };
}

/** A cluster, for a service, which reaches it with TLS where it has that; it is stopped with the service. */
export async function serviceRedisOn(cluster: RedisCluster): Promise<ServiceRedis> {
  const logger = createLogger('silent', 'test');
  const redis = connectRedis({ url: cluster.url, name: 'leadscore-tests', kind: 'commands', logger });
  const nodes = cluster.nodes.map(({ url }) => new Redis(url));
  for (const node of nodes) node.on('error', () => undefined); // some tests kill them
  const stop = async () => {
    for (const connection of [redis, ...nodes]) connection.disconnect();
    await cluster.stop();
  };
  const [server] = cluster.nodes;
  if (server === undefined) throw new Error('a cluster has nodes');
  await connectionReady(redis);
  return { url: cluster.tlsUrl ?? cluster.url, server, redis, nodes, stop };
}
