import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Db, MongoClient, MongoNetworkError, MongoServerError } from 'mongodb';
import { acceptsConnections, deathOf, findMongod, type LocalServer, startServer } from './server-process.js';

const replicaSet = 'rs0';
const retryMs = 20;
const minCacheGB = 0.25; // mongod's own minimum
/** Options of mongod that `docker-compose.yml` and docs/operating.md have too. */
export const mongodOptions = {
  /**
   * Longest time until mongod writes its journal, by default 100 ms. A majority write has the journal written at once,
   * so it neither waits longer nor is lost.
   */
  journal: '--journalCommitInterval=500',
  /**
   * Shares of the cache that changed pages may take, in percent; by default 5 and 20. Leads are scattered over their
   * index, so WiredTiger would write its pages back again and again between two checkpoints.
   */
  changedPages: '--wiredTigerEngineConfigString=eviction_dirty_target=30,eviction_dirty_trigger=50',
} as const;

/** Error codes of MongoDB: https://github.com/mongodb/mongo/blob/master/src/mongo/base/error_codes.yml */
const errorCodes = { AlreadyInitialized: 23, InvalidReplicaSetConfig: 93, NotYetInitialized: 94 } as const;

export interface MongoOptions {
  /** Data and log; created when missing. A second start on it finds the data. */
  readonly directory: string;
  /** A free port by default. It may differ from the directory's last port. */
  readonly port?: number | undefined;
  /** WiredTiger's cache; 0.25 by default. */
  readonly cacheSizeGB?: number | undefined;
  /** Whether tests can set fail points. */
  readonly withFailPoints?: boolean;
  /**
   * Whether a write is confirmed before the journal is on the disk. Each write is faster, and lost if mongod is killed
   * within 100 ms. Only a first start applies it.
   */
  readonly confirmsFromMemory?: boolean;
}

/**
 * Starts a real mongod on loopback and waits until it is a writable primary. It is a replica set of one member, because
 * transactions need one.
 * @throws Error when no mongod is found, or with the end of its log when it does not start
 */
export async function startMongo(options: MongoOptions): Promise<LocalServer> {
  const { directory, port, cacheSizeGB = minCacheGB, withFailPoints = false, confirmsFromMemory = false } = options;
  const dataDirectory = join(directory, 'db');
  await mkdir(dataDirectory, { recursive: true, mode: 0o700 });
  const program = await findMongod();
  const commandLine = (chosenPort: number): string[] => [
    ...['--port', String(chosenPort), '--bind_ip', '127.0.0.1', '--nounixsocket', '--dbpath', dataDirectory],
    ...['--replSet', replicaSet, '--oplogSize', '128', '--wiredTigerCacheSizeGB', String(cacheSizeGB), '--quiet'],
    mongodOptions.changedPages,
    ...['--setParameter', 'diagnosticDataCollectionEnabled=false'],
    ...['--setParameter', 'shutdownTimeoutMillisForSignaledShutdown=100'], // no other member can take over
    ...(withFailPoints ? ['--setParameter', 'enableTestCommands=1'] : []),
    ...(confirmsFromMemory ? [] : [mongodOptions.journal]),
  ];
  const ready = (server: StartedMongod) =>
    mongoReady(server, { writeConcernMajorityJournalDefault: !confirmsFromMemory });
  return startServer({ program, commandLine, logFile: join(directory, 'mongod.log'), ready }, port);
}

interface StartedMongod {
  readonly port: number;
  readonly pid: number;
  readonly signal: AbortSignal;
}

/** Members of the configuration of a replica set. */
interface ReplicaSetOptions {
  readonly writeConcernMajorityJournalDefault: boolean;
}

async function mongoReady(server: StartedMongod, options: ReplicaSetOptions): Promise<string> {
  const address = `127.0.0.1:${server.port}`;
  while (!(await acceptsConnections(server.port))) await pause(retryMs, undefined, { signal: server.signal });
  const client = new MongoClient(`mongodb://${address}/?directConnection=true`, {
    serverSelectionTimeoutMS: 5000,
  });
  try {
    const admin = client.db('admin');
    while (!(await isReady(server, { admin, address, options }))) {
      await pause(retryMs, undefined, { signal: server.signal });
    }
    return `mongodb://${address}/?replicaSet=${replicaSet}`;
  } finally {
    await client.close();
  }
}

/**
 * Whether mongod can be written to. If not, sends what it needs for that.
 * @throws Error when another mongod answers on the port; errors of MongoDB
 */
async function isReady(server: StartedMongod, set: SettledSet): Promise<boolean> {
  try {
    const { pid } = await set.admin.command({ serverStatus: 1 });
    // Another mongod took the port: this one is about to end.
    if (Number(pid) !== server.pid) await deathOf(server.signal);
    if (await isWritablePrimary(set.admin)) return true;
    await settleReplicaSet(set);
  } catch (error) {
    // mongod closes all connections once it knows that its configuration has another address.
    if (!(error instanceof MongoNetworkError)) throw error;
  }
  return false;
}

async function isWritablePrimary(admin: Db): Promise<boolean> {
  const reply = await admin.command({ hello: 1 });
  return reply.isWritablePrimary === true;
}

interface SettledSet {
  readonly admin: Db;
  readonly address: string;
  readonly options: ReplicaSetOptions;
}

/** Sends the first configuration or the new address, if mongod needs one to become primary. */
async function settleReplicaSet({ admin, address, options }: SettledSet): Promise<void> {
  const members = [{ _id: 0, host: address }];
  try {
    await admin.command({ replSetGetStatus: 1 });
  } catch (error) {
    if (!(error instanceof MongoServerError)) throw error;
    if (error.code === errorCodes.NotYetInitialized) await initiate({ admin, members, options });
    else if (error.code === errorCodes.InvalidReplicaSetConfig) await moveMember({ admin, members });
    else throw error;
  }
}

type Members = { _id: number; host: string }[];

interface FirstConfiguration {
  readonly admin: Db;
  readonly members: Members;
  readonly options: ReplicaSetOptions;
}

async function initiate({ admin, members, options }: FirstConfiguration): Promise<void> {
  try {
    await admin.command({ replSetInitiate: { _id: replicaSet, members, ...options } });
  } catch (error) {
    // A mongod that is still reading its configuration also reports NotYetInitialized.
    if (!(error instanceof MongoServerError && error.code === errorCodes.AlreadyInitialized)) throw error;
  }
}

async function moveMember({ admin, members }: { admin: Db; members: Members }): Promise<void> {
  const { config } = await admin.command({ replSetGetConfig: 1 });
  await admin.command({ replSetReconfig: { ...config, version: config.version + 1, members }, force: true });
}
