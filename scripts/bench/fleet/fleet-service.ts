import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { childProcessIds, type ProcessGroups } from '../../servers/process-usage.js';
import { startRedis } from '../../servers/redis/redis-server.js';
import type { Undo } from '../../servers/run-to-end.js';
import { ownSettings, type Settings } from '../../servers/service-process.js';
import { startStack } from '../../servers/stack.js';
import { fleetPepper } from './fleet-accounts.js';

/** Processes of one row. */
export interface Topology {
  readonly gateways: number;
  readonly workers: number;
  /** The setting LANES; its default if undefined. */
  readonly lanes?: number | undefined;
}

/** A running service on one database of the fleet. */
export interface FleetService {
  /** Addresses of the gateways, as `http://127.0.0.1:1234`. */
  readonly gateways: readonly string[];
  readonly redisUrl: string;
  readonly groups: ProcessGroups;
  /** Resolves with the reason and the end of the log when a gateway or the pool ends. */
  readonly ended: Promise<string>;
  /** Idempotent. */
  stop(): Promise<void>;
}

const logLinesShown = 12;

/**
 * Starts an empty Redis, gateways and a worker pool on a database of a running mongod.
 * @param options.directory an empty one for Redis and the log
 * @throws Error with the end of the service's log if the service does not start
 */
export async function startFleetService(options: {
  readonly directory: string;
  readonly mongod: { readonly url: string; readonly pid: number };
  readonly databaseName: string;
  readonly topology: Topology;
}): Promise<FleetService> {
  const { directory, mongod, databaseName, topology } = options;
  const { gateways, workers, lanes } = topology;
  const undoings: Undo[] = [];
  let stopping: Promise<void> | undefined;
  const undoAll = async (): Promise<void> => {
    for (const undo of undoings.reverse()) await undo();
  };
  const stop = (): Promise<void> => {
    stopping ??= undoAll();
    return stopping;
  };
  const redis = await startRedis({ directory });
  undoings.push(() => redis.stop());
  const logFile = join(directory, 'service.log');
  const log = openSync(logFile, 'w', 0o600);
  undoings.push(async () => closeSync(log));
  const endOfLog = async () => (await readFile(logFile, 'utf8')).trimEnd().split('\n').slice(-logLinesShown).join('\n');
  const mongoUrl = mongod.url.replace('/?', `/${databaseName}?`);
  const environment = { ...settings, WORKERS: String(workers), LANES: lanes === undefined ? undefined : String(lanes) };
  try {
    const stack = await startStack({ redisUrl: redis.url, mongoUrl, gateways, log, environment });
    undoings.push(() => stack.stop());
    return {
      gateways: stack.gateways.map(({ url = '' }) => url),
      redisUrl: redis.url,
      groups: {
        gateway: stack.gateways.map(({ pid }) => pid),
        workers: [stack.pool.pid, ...childProcessIds(stack.pool.pid)],
        redis: [redis.pid],
        mongod: [mongod.pid],
      },
      ended: stack.ended.then(async (how) => `${how}\n${await endOfLog()}`),
      stop,
    };
  } catch (error) {
    const end = await endOfLog();
    await stop();
    throw new Error(`the service did not start:\n${end}`, { cause: error });
  }
}

const settings: Settings = {
  ...ownSettings(fleetPepper),
  /** On a busy machine, a slow call shall show in p99 instead of ending the run. */
  REQUEST_TIMEOUT_MS: '60000',
  NODE_OPTIONS: undefined,
};
