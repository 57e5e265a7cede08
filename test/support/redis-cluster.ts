import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from '../../scripts/local-servers/loopback-port.js';
import { startRedis } from '../../scripts/local-servers/redis-server.js';
import type { LocalServer } from '../../scripts/local-servers/server-process.js';
import { eventually } from './eventually.js';

/** Three Redis servers that are one cluster. */
export interface RedisCluster {
  /** Names all nodes. */
  readonly url: string;
  readonly nodes: readonly LocalServer[];
  /** Kills a node and starts it again, with nothing but its place in the cluster. */
  restart(index: number): Promise<void>;
  stop(): Promise<void>;
}

const nodeCount = 3;
const slotCount = 16_384;
const formedWithinMs = 20_000;

/** Starts a cluster of three masters on loopback, and waits until each of them knows the others and takes commands. */
export async function startRedisCluster({
  directory,
}: {
  readonly directory: string;
}): Promise<RedisCluster> {
  const busPorts = await Promise.all(Array.from({ length: nodeCount }, freePort));
  const startNode = (index: number, port?: number) =>
    startRedis({
      directory: join(directory, `node-${index}`),
      port,
      appendOnly: false,
      extraArguments: ['--cluster-enabled', 'yes', '--cluster-port', String(busPorts[index])],
    });
  const nodes = await Promise.all(busPorts.map((_, index) => startNode(index)));
  const connections = nodes.map(({ url }) => new Redis(url));
  const stop = async () => {
    await Promise.all(nodes.map((node) => node.stop()));
  };
  try {
    await form(connections, { nodes, busPorts });
  } catch (error) {
    await stop();
    throw error;
  } finally {
    for (const connection of connections) connection.disconnect();
  }
  const hosts = nodes.map(({ port }) => `127.0.0.1:${port}`).join(',');
  const restart = async (index: number) => {
    const node = nodes[index];
    if (node === undefined) throw new RangeError(`there is no node ${index}`);
    node.process.kill('SIGKILL');
    await node.stop();
    nodes[index] = await startNode(index, node.port);
  };
  return { url: `redis-cluster://${hosts}`, nodes, restart, stop };
}

async function form(
  connections: readonly Redis[],
  { nodes, busPorts }: { readonly nodes: readonly LocalServer[]; readonly busPorts: readonly number[] },
): Promise<void> {
  for (const [index, connection] of connections.entries()) {
    const [first, end] = [index, index + 1].map((part) => Math.floor((part * slotCount) / nodeCount));
    await connection.call('CLUSTER', 'ADDSLOTSRANGE', String(first), String((end ?? slotCount) - 1));
    await connection.call('CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1));
  }
  for (const [index, { port }] of nodes.entries())
    if (index > 0)
      await connections[0]?.call('CLUSTER', 'MEET', '127.0.0.1', String(port), String(busPorts[index]));
  await eventually(async () => {
    for (const connection of connections) {
      const state = String(await connection.call('CLUSTER', 'INFO'));
      for (const fact of [
        'cluster_state:ok',
        `cluster_known_nodes:${nodeCount}`,
        `cluster_slots_ok:${slotCount}`,
      ])
        if (!state.includes(fact)) throw new Error(`not ${fact} yet:\n${state}`);
    }
  }, formedWithinMs);
}
