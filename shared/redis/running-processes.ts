import { mastersOf, type Redis } from './connect.js';

export type ProcessKind = 'gateway' | 'pool' | 'bulk' | 'console';

/** The words for one process of a kind, and for several. */
export const processNames = {
  gateway: ['gateway', 'gateways'],
  pool: ['worker pool', 'worker pools'],
  bulk: ['runner', 'runners'],
  console: ['console', 'consoles'],
} as const satisfies Record<ProcessKind, readonly [one: string, more: string]>;
export const processKinds = Object.keys(processNames) as ProcessKind[];

/** The connection that each process has once, and pings. */
const main = 'commands';

/**
 * The name of a connection in CLIENT LIST.
 * @param use undefined for the main connection
 */
export const connectionName = (process: ProcessKind, use: string = main): string => `leadscore-${process}-${use}`;

/** A process pings once a second. A machine that was lost stays in CLIENT LIST for minutes. */
const maxIdleSeconds = 30;

/** Numbers of running processes. */
export type RunningProcesses = Readonly<Record<ProcessKind, number>>;

/**
 * Counts the processes that are connected to this Redis and use its database.
 * @throws the error of Redis, also when it forbids CLIENT LIST
 */
export async function runningProcesses(redis: Redis): Promise<RunningProcesses> {
  const database = redis.options.db ?? 0;
  const lists = await Promise.all(mastersOf(redis).map(async (master) => String(await master.client('LIST'))));
  const count = (kind: ProcessKind) => Math.max(...lists.map((list) => countOf(list, kind, database)));
  return { gateway: count('gateway'), pool: count('pool'), bulk: count('bulk'), console: count('console') };
}

/** Counts the processes of a kind in a reply of CLIENT LIST. */
export function countOf(clientList: string, kind: ProcessKind, database: number): number {
  const clients = clientList.split('\n').map((line) => new Map(line.split(' ').map(nameAndValue)));
  return clients.filter(
    (client) =>
      client.get('name') === connectionName(kind) &&
      client.get('db') === String(database) &&
      Number(client.get('idle')) <= maxIdleSeconds,
  ).length;
}

function nameAndValue(text: string): [name: string, value: string] {
  const [name = '', ...value] = text.split('=');
  return [name, value.join('=')];
}
