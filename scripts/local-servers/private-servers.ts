import { once } from 'node:events';
import { mkdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { projectFile } from '../../shared/project-root.js';
import { startMongo } from './mongo-server.js';
import { endServer, isAlive, isRunningOn } from './process-command.js';
import { startRedis } from './redis-server.js';
import type { LocalServer } from './server-process.js';
import {
  readServerRecord,
  removeServerRecord,
  runningServerRecords,
  writeServerRecord,
} from './server-record.js';

/** What private servers are wanted, and where. */
export interface PrivateServersOptions {
  /** Where their data is; made when missing. One process at a time can run servers on it. */
  readonly directory: string;
  /** Whether the directory stays when the servers are stopped. */
  readonly keep: boolean;
  /** The URL of a Redis that is there already: it is used, and none is started. */
  readonly redisUrl?: string | undefined;
  /** The URL of a MongoDB that is there already: it is used, and none is started. */
  readonly mongoUrl?: string | undefined;
}

/** The two databases of one installation. */
export interface DatabaseUrls {
  readonly redisUrl: string;
  readonly mongoUrl: string;
}

/** Servers that belong to this process. */
export interface PrivateServers extends DatabaseUrls {
  /** Resolves when one of those that were started ends, also by `stop`: with its name and how it ended. */
  readonly ended: Promise<string>;
  /** Stops those that were started, in good order. Idempotent. */
  stop(): Promise<void>;
}

/**
 * Starts a Redis (append-only file on) and a MongoDB (replica set of one) on loopback for this process, and writes
 * their URLs into the directory for `readPrivateServers`. Servers that a crashed process left on it are ended first.
 * @throws Error when another live process runs servers on the directory, or when one does not start
 */
export async function privateServers(options: PrivateServersOptions): Promise<PrivateServers> {
  const directory = resolve(options.directory);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const ownerPid = await endLeftoverServers(directory);
  if (ownerPid !== undefined) {
    throw new Error(
      `Leadscore already runs on ${directory} (process ${ownerPid}): stop it first, or set REDIS_URL and MONGODB_URL`,
    );
  }

  const servers: LocalServer[] = [];
  const endings: Promise<string>[] = [];
  const started = async (name: string, starting: Promise<LocalServer>): Promise<string> => {
    const server = await starting;
    servers.push(server);
    endings.push(endOf(name, server));
    return server.url;
  };
  const stopServers = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.stop()));
  };

  try {
    // mongod first: it locks its directory, so of two processes that start at once the second ends here
    const mongoUrl =
      options.mongoUrl ?? (await started('MongoDB', startMongo({ directory: join(directory, 'mongo') })));
    const redisUrl =
      options.redisUrl ?? (await started('Redis', startRedis({ directory: join(directory, 'redis') })));
    const serverPids = servers.map((server) => server.pid);
    const record = { redisUrl, mongoUrl, ownerPid: process.pid, serverPids, startedAtMs: Date.now() };
    if (servers.length > 0) await writeServerRecord(directory, record);
    let stopped: Promise<void> | undefined;
    const stop = async (): Promise<void> => {
      await stopServers();
      if (options.keep) await removeServerRecord(directory);
      else await rm(directory, { recursive: true, force: true });
    };
    return {
      redisUrl,
      mongoUrl,
      ended: Promise.race(endings),
      stop: () => {
        stopped ??= stop();
        return stopped;
      },
    };
  } catch (error) {
    await stopServers();
    throw error;
  }
}

/**
 * The databases of the servers that `npm start` or a kept demo runs on this machine at this moment, for the CLI.
 * Removes what ended servers left written down.
 * @param folder holds the data directories; the project's `.local` when left out
 * @returns those started last, or undefined when none run
 */
export async function readPrivateServers(folder = projectFile('.local')): Promise<DatabaseUrls | undefined> {
  const [newest] = await runningServerRecords(folder);
  return newest && { redisUrl: newest.redisUrl, mongoUrl: newest.mongoUrl };
}

/** Resolves with how a server ended, also when that is already so. */
async function endOf(name: string, { process: child }: LocalServer): Promise<string> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return `the private ${name} ended: ${child.signalCode ?? `exit code ${child.exitCode}`}`;
}

/**
 * Ends the servers that a crashed process left running on a directory.
 * @returns the id of a live process whose servers run there; these are left alone
 */
export async function endLeftoverServers(directory: string): Promise<number | undefined> {
  const record = await readServerRecord(directory);
  if (record === undefined) return undefined;
  const running = await Promise.all(record.serverPids.map((pid) => isRunningOn({ pid, directory })));
  if (isAlive(record.ownerPid) && running.some(Boolean)) return record.ownerPid;
  await Promise.all(record.serverPids.map((pid) => endServer({ pid, directory })));
  await removeServerRecord(directory);
  return undefined;
}
