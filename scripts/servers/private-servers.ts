import { once } from 'node:events';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { randomBase62 } from '../../shared/contract/identifiers.js';
import { projectFile } from '../../shared/process/project-root.js';
import { startMongo } from './mongo-server.js';
import { startRedis } from './redis/redis-server.js';
import { endServer, isAlive, isRunningOn, type LocalServer } from './server-process.js';

export interface PrivateServersOptions {
  /** Their data; created when missing. Only one process at a time can run servers on it. */
  readonly directory: string;
  /** Keeps the directory when the servers stop. */
  readonly keep: boolean;
  /** By default that of the directory, which is random and made once. */
  readonly keyPepper?: string | undefined;
  /** A Redis that runs already: none is started. */
  readonly redisUrl?: string | undefined;
  /** A MongoDB that runs already: none is started. */
  readonly mongoUrl?: string | undefined;
}

interface DatabaseUrls {
  readonly redisUrl: string;
  readonly mongoUrl: string;
}

/** Servers with the `KEY_PEPPER` of the keys that are stored there. */
export interface ServersWithPepper extends DatabaseUrls {
  readonly keyPepper: string;
}

/** Servers that this process owns. */
export interface PrivateServers extends ServersWithPepper {
  /** Resolves when a started server ends, also by `stop`, with its name and exit code or signal. */
  readonly ended: Promise<string>;
  /** Stops the started servers. Idempotent. */
  stop(): Promise<void>;
}

/**
 * Starts a Redis (append-only file on) and a MongoDB (replica set of one) on loopback for this process. Writes their
 * URLs into the directory, for `readPrivateServers` and as `settingsFile`. Ends servers that a crashed process left
 * there.
 * @throws Error when another live process runs servers on the directory, or a server does not start
 */
export async function privateServers(options: PrivateServersOptions): Promise<PrivateServers> {
  const directory = resolve(options.directory);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const ownerPid = await endLeftoverServers(directory);
  if (ownerPid !== undefined) {
    throw new Error(
      `Leadscore already runs on ${directory} (process ${ownerPid}). Stop it first, or set REDIS_URL and MONGODB_URL.`,
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
    // mongod first: it locks its directory, so the second of two simultaneous starts fails here.
    const mongoUrl =
      options.mongoUrl ?? (await started('MongoDB', startMongo({ directory: join(directory, 'mongo') })));
    const redisUrl = options.redisUrl ?? (await started('Redis', startRedis({ directory: join(directory, 'redis') })));
    const keyPepper = options.keyPepper ?? (await pepperOf(directory));
    const serverPids = servers.map((server) => server.pid);
    const record = { redisUrl, mongoUrl, keyPepper, ownerPid: process.pid, serverPids, startedAtMs: Date.now() };
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
      keyPepper,
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
 * The servers that `npm start` or a kept demo runs on this machine, for the CLI. Removes stale records.
 * @param folder holds the data directories; the project's `.local` by default
 * @returns the newest servers; undefined when none run
 */
export async function readPrivateServers(folder = projectFile('.local')): Promise<ServersWithPepper | undefined> {
  const [latest] = await runningServerRecords(folder);
  return latest && { redisUrl: latest.redisUrl, mongoUrl: latest.mongoUrl, keyPepper: latest.keyPepper };
}

/** The pepper of a data directory: random, made once. */
async function pepperOf(directory: string): Promise<string> {
  const file = join(directory, 'pepper');
  const known = await readFile(file, 'utf8').catch(() => '');
  if (known.length === pepperCharacters) return known;
  const made = randomBase62(pepperCharacters);
  await writeFile(file, made, { mode: 0o600 });
  return made;
}

const pepperCharacters = 43; // 256 bits

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

/** The servers that run on a data directory: its file `servers.json`. */
export interface ServerRecord {
  readonly redisUrl: string;
  readonly mongoUrl: string;
  readonly keyPepper: string;
  /** The process that started the servers and will stop them. */
  readonly ownerPid: number;
  /** Only servers that the owner started. */
  readonly serverPids: readonly number[];
  readonly startedAtMs: number;
}

const recordFile = (directory: string): string => join(directory, 'servers.json');

/** The settings with which another process joins the servers, as assignments of a shell. Exists while they run. */
export const settingsFile = (directory: string): string => join(directory, 'servers.env');

/** Both files are readable by this user only: they hold the pepper. */
async function writeServerRecord(directory: string, record: ServerRecord): Promise<void> {
  const { redisUrl, mongoUrl, keyPepper } = record;
  const settings = { REDIS_URL: redisUrl, MONGODB_URL: mongoUrl, KEY_PEPPER: keyPepper };
  const lines = Object.entries(settings).map(([name, value]) => `${name}='${value.replaceAll("'", `'\\''`)}'\n`);
  await rm(settingsFile(directory), { force: true }); // a file that exists would keep its mode
  await writeFile(settingsFile(directory), lines.join(''), { mode: 0o600 });
  const part = `${recordFile(directory)}.${process.pid}.part`;
  await writeFile(part, `${JSON.stringify(record, undefined, 2)}\n`, { mode: 0o600 });
  await rename(part, recordFile(directory));
}

/** The last record of a directory. It may be stale. Undefined when it is missing or cannot be read. */
export async function readServerRecord(directory: string): Promise<ServerRecord | undefined> {
  try {
    const record: unknown = JSON.parse(await readFile(recordFile(directory), 'utf8'));
    return isServerRecord(record) ? record : undefined;
  } catch {
    return undefined;
  }
}

async function removeServerRecord(directory: string): Promise<void> {
  for (const file of [recordFile(directory), settingsFile(directory)]) await rm(file, { force: true });
}

/**
 * The records of all servers that run on data directories inside a folder, newest first. Removes stale records.
 * @param folder may be missing
 */
async function runningServerRecords(folder: string): Promise<ServerRecord[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const running: ServerRecord[] = [];
  for (const entry of entries.filter((each) => each.isDirectory())) {
    const directory = join(folder, entry.name);
    const record = await readServerRecord(directory);
    if (record === undefined) continue;
    const alive = await Promise.all(record.serverPids.map((pid) => isRunningOn({ pid, directory })));
    if (alive.every(Boolean)) running.push(record);
    else if (!alive.some(Boolean)) await removeServerRecord(directory);
  }
  return running.sort((one, other) => other.startedAtMs - one.startedAtMs);
}

function isServerRecord(value: unknown): value is ServerRecord {
  if (typeof value !== 'object' || value === null) return false;
  const record: Partial<Record<keyof ServerRecord, unknown>> = value;
  return (
    typeof record.redisUrl === 'string' &&
    typeof record.mongoUrl === 'string' &&
    typeof record.keyPepper === 'string' &&
    typeof record.ownerPid === 'number' &&
    typeof record.startedAtMs === 'number' &&
    Array.isArray(record.serverPids) &&
    record.serverPids.every((pid) => Number.isInteger(pid) && pid > 1)
  );
}
