import { join } from 'node:path';
import { Redis } from 'ioredis';
import { retry } from '../../../shared/async/retry.js';
import { settledOrThrow } from '../../../shared/async/timeouts.js';
import { freePort, type LocalServer } from '../server-process.js';
import { startRedis } from './redis-server.js';

export interface RedisClusterOptions {
  readonly directory: string;
  /** Whether each master has a replica, which is promoted some seconds after the master's death. */
  readonly withReplicas?: boolean;
  /** With a certificate, each node also listens on a TLS port, and replication uses TLS. */
  readonly certificate?: Certificate;
  /** Whether a node that starts again finds its data; false by default. */
  readonly appendOnly?: boolean;
}

/** The files of a certificate and of its key. */
interface Certificate {
  readonly certFile: string;
  readonly keyFile: string;
}

/** A Redis Cluster of three masters and their replicas. */
export interface RedisCluster {
  /** The addresses of all nodes. */
  readonly url: string;
  /** The same, with TLS; undefined without a certificate. */
  readonly tlsUrl: string | undefined;
  /** The masters at the time when the cluster was formed. */
  readonly nodes: readonly LocalServer[];
  /** Kills a node and starts it again, with its id and its slots. */
  restart(index: number): Promise<void>;
  /** Starts a killed node again. */
  revive(index: number): Promise<LocalServer>;
  /** The folder of a node's data, without its id and its slots. */
  dataOf(index: number): string;
  stop(): Promise<void>;
}

const masterCount = 3;
const nodeTimeoutMs = 2_000; // a node that is silent for longer has failed
const slotCount = 16_384;
const formedWithinMs = 20_000;

/** Starts a cluster of three masters on loopback, and waits until all of them accept commands. */
export async function startRedisCluster(options: RedisClusterOptions): Promise<RedisCluster> {
  const { directory, withReplicas = false, certificate, appendOnly = false } = options;
  const indexes = Array.from({ length: withReplicas ? 2 * masterCount : masterCount }, (_, index) => index);
  const busPorts = await Promise.all(indexes.map(freePort));
  const tlsPorts = certificate === undefined ? [] : await Promise.all(indexes.map(freePort));
  const startNode = (index: number, port?: number) =>
    startRedis({
      directory: join(directory, `node-${index}`),
      port,
      appendOnly,
      extraArguments: [
        ...['--cluster-enabled', 'yes', '--cluster-port', String(busPorts[index])],
        ...['--cluster-node-timeout', String(nodeTimeoutMs)],
        ...(certificate === undefined ? [] : tlsArguments(certificate, tlsPorts[index])),
      ],
    });
  const all: LocalServer[] = [];
  const connections: Redis[] = [];
  const stop = async () => {
    await Promise.all(all.map((node) => node.stop()));
  };
  try {
    await settledOrThrow(indexes.map(async (index) => (all[index] = await startNode(index))));
    connections.push(...all.map(({ url }) => new Redis(url)));
    await form(connections, { nodes: all, busPorts });
  } catch (error) {
    await stop();
    throw error;
  } finally {
    for (const connection of connections) connection.disconnect();
  }
  const nodeAt = (index: number): LocalServer => {
    const node = all[index];
    if (node === undefined) throw new RangeError(`the cluster has no node ${index}`);
    return node;
  };
  const revive = async (index: number) => {
    const node = await startNode(index, nodeAt(index).port);
    all[index] = node;
    return node;
  };
  const restart = async (index: number) => {
    const node = nodeAt(index);
    node.process.kill('SIGKILL');
    await node.stop();
    await revive(index);
  };
  return {
    url: `redis-cluster://${hosts(all.map(({ port }) => port))}`,
    tlsUrl: certificate === undefined ? undefined : `rediss-cluster://${hosts(tlsPorts)}`,
    get nodes() {
      return all.slice(0, masterCount); // includes restarted nodes
    },
    restart,
    revive,
    dataOf: (index) => join(directory, `node-${index}`, 'appendonlydir'),
    stop,
  };
}

const hosts = (ports: readonly number[]): string => ports.map((port) => `127.0.0.1:${port}`).join(',');

const tlsArguments = ({ certFile, keyFile }: Certificate, port: number | undefined): string[] => [
  ...['--tls-port', String(port), '--tls-cert-file', certFile, '--tls-key-file', keyFile],
  ...['--tls-ca-cert-file', certFile, '--tls-auth-clients', 'no'],
  ...['--tls-replication', 'yes', '--tls-cluster', 'yes'],
];

/** The first master of a key's slot, before any failover. Each master has a third of the slots. */
export async function nodeOfKey({ nodes }: RedisCluster, redis: Redis, key: string): Promise<LocalServer> {
  const slot = await redis.cluster('KEYSLOT', key);
  const node = nodes[Math.floor((slot * masterCount) / slotCount)];
  if (node === undefined) throw new Error(`no node has slot ${slot}`);
  return node;
}

async function form(
  connections: readonly Redis[],
  { nodes, busPorts }: { readonly nodes: readonly LocalServer[]; readonly busPorts: readonly number[] },
): Promise<void> {
  for (const [index, connection] of connections.slice(0, masterCount).entries()) {
    const [first, end] = [index, index + 1].map((part) => Math.floor((part * slotCount) / masterCount));
    await connection.call('CLUSTER', 'ADDSLOTSRANGE', String(first), String((end ?? slotCount) - 1));
    await connection.call('CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1));
  }
  for (const [index, { port }] of nodes.entries())
    if (index > 0) await connections[0]?.call('CLUSTER', 'MEET', '127.0.0.1', String(port), String(busPorts[index]));
  const knowEachOther = ['cluster_state:ok', `cluster_known_nodes:${nodes.length}`, `cluster_slots_ok:${slotCount}`];
  for (const connection of connections) await reports(() => connection.call('CLUSTER', 'INFO'), knowEachOther);
  for (const [index, replica] of connections.slice(masterCount).entries()) {
    await replica.call('CLUSTER', 'REPLICATE', String(await connections[index]?.call('CLUSTER', 'MYID')));
    await reports(() => replica.info('replication'), ['role:slave', 'master_link_status:up']);
  }
}

/** Waits until a server's report contains all of these facts. */
async function reports(ask: () => Promise<unknown>, facts: readonly string[]): Promise<void> {
  const check = async (): Promise<void> => {
    const state = String(await ask());
    for (const fact of facts) if (!state.includes(fact)) throw new Error(`not ${fact} yet:\n${state}`);
  };
  await retry(check, { firstDelayMs: 5, maxDelayMs: 50, isRetryable: () => true, limitMs: formedWithinMs });
}
