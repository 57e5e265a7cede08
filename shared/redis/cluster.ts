import { Cluster, type Redis, type RedisOptions } from 'ioredis';

const clusterUrl = /^redis(s?)-cluster:\/\/(?:([^:@/]*)(?::([^@/]*))?@)?([^@/]+)\/?$/;
const defaultPort = 6379;

/** Where a cluster is reached, and as whom. */
export interface ClusterAddress {
  /** Some of its nodes; one that answers tells of the others. */
  readonly nodes: readonly { readonly host: string; readonly port: number }[];
  readonly username?: string;
  readonly password?: string;
  readonly tls: boolean;
}

/**
 * Reads `redis-cluster://user:password@host:port,host:port` (`rediss-cluster:` for TLS).
 * @returns undefined for an address of another kind
 * @throws Error when it is one of a cluster and cannot be read
 */
export function clusterAddressOf(url: string): ClusterAddress | undefined {
  if (!/^rediss?-cluster:/.test(url)) return undefined;
  const [, secure, username = '', password = '', hosts] = clusterUrl.exec(url) ?? [];
  const nodes = (hosts ?? '').split(',').map((entry) => {
    const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d+))?$/.exec(entry.trim()) ?? [];
    const host = bracketed ?? plain;
    if (host === undefined || Number(port ?? defaultPort) > 65_535)
      throw new Error('The address of a Redis Cluster must be as redis-cluster://host:port,host:port');
    return { host, port: Number(port ?? defaultPort) };
  });
  return {
    nodes,
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    tls: secure === 's',
  };
}

/**
 * Connects to a cluster. It takes the same commands as one Redis, each sent to the node that has its keys, and so passes
 * for one; `mastersOf` tells them apart.
 */
export function connectCluster(
  { nodes, username, password, tls }: ClusterAddress,
  { retryStrategy, enableOfflineQueue, ...shared }: RedisOptions,
): Redis {
  const retryDelayMs = (attempt: number) => Number(retryStrategy?.(attempt));
  const cluster = new Cluster([...nodes], {
    clusterRetryStrategy: retryDelayMs,
    ...(enableOfflineQueue === undefined ? {} : { enableOfflineQueue }),
    // A certificate names the host, not its address.
    ...(tls
      ? {
          dnsLookup: (address: string, callback: (error: null, address: string) => void) =>
            callback(null, address),
        }
      : {}),
    redisOptions: {
      ...shared,
      ...(username === undefined ? {} : { username }),
      ...(password === undefined ? {} : { password }),
      ...(tls ? { tls: {} } : {}),
      // Scripts of several slots would share a pipeline, which a cluster refuses.
      enableAutoPipelining: false,
      replyMapping: 'legacy',
    },
  });
  return cluster as unknown as Redis;
}

/** The servers that take writes: the one, or each master of a cluster. */
export function mastersOf(redis: Redis): readonly Redis[] {
  const maybeCluster: unknown = redis;
  return maybeCluster instanceof Cluster ? maybeCluster.nodes('master') : [redis];
}
