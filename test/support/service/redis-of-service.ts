import { Redis } from 'ioredis';
import { type RedisCluster, startRedisCluster } from '../../../scripts/servers/redis/redis-cluster.js';
import { startRedis } from '../../../scripts/servers/redis/redis-server.js';
import type { LocalServer } from '../../../scripts/servers/server-process.js';
import { createLogger } from '../../../shared/process/logger.js';
import { connectionReady, connectRedis } from '../../../shared/redis/connect.js';

/** The Redis of one running service. */
export interface ServiceRedis {
  readonly url: string;
  /** The server, or the first master of a cluster. */
  readonly server: LocalServer;
  /** A connection to the server or the cluster. */
  readonly redis: Redis;
  /** A connection to each server, for commands on all keys. */
  readonly nodes: readonly Redis[];
  stop(): Promise<void>;
}

let onCluster = false;

/** Later services of this process get a cluster of three masters. For `on-redis-cluster`. */
export function useRedisCluster(): void {
  onCluster = true;
}

/** Starts a Redis for one service: a single server, or a cluster after `useRedisCluster`. */
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

/** Makes a cluster the Redis of a service, with TLS if the cluster has it. The service stops the cluster. */
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
  if (server === undefined) throw new Error('the cluster has no nodes');
  await connectionReady(redis);
  return { url: cluster.tlsUrl ?? cluster.url, server, redis, nodes, stop };
}
