import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Db, MongoClient, MongoServerError } from 'mongodb';
import { findMongod } from './find-server-program.js';
import { acceptsConnections } from './loopback-port.js';
import { deathOf, type LocalServer, startServer } from './server-process.js';

const REPLICA_SET = 'rs0';
const RETRY_MS = 20;
const SMALLEST_CACHE_GB = 0.25;

/** Error codes of MongoDB: https://github.com/mongodb/mongo/blob/master/src/mongo/base/error_codes.yml */
const ALREADY_INITIALIZED = 23;
const INVALID_REPLICA_SET_CONFIG = 93;
const NOT_YET_INITIALIZED = 94;

/** What a MongoDB of one's own can be told. */
export interface MongoOptions {
  /** Its data and its log; made when missing. A mongod that is started again on it finds its data. */
  readonly directory: string;
  /** A free one when left out; it may differ from the one that the directory was last used with. */
  readonly port?: number | undefined;
  /** WiredTiger's cache; the smallest that mongod allows (0.25) when left out. */
  readonly cacheSizeGB?: number | undefined;
}

/**
 * Starts a real mongod on loopback as a replica set of one member (so that it has transactions), and waits until it
 * is a primary that takes writes.
 * @throws Error when there is no mongod, or with the end of its log when it does not come up
 */
export async function startMongo(options: MongoOptions): Promise<LocalServer> {
  const { directory, port, cacheSizeGB = SMALLEST_CACHE_GB } = options;
  const dataDirectory = join(directory, 'db');
  await mkdir(dataDirectory, { recursive: true, mode: 0o700 });
  const program = await findMongod();
  const commandLine = (chosenPort: number): string[] => [
    ...['--port', String(chosenPort), '--bind_ip', '127.0.0.1', '--nounixsocket', '--dbpath', dataDirectory],
    ...[
      '--replSet',
      REPLICA_SET,
      '--oplogSize',
      '128',
      '--wiredTigerCacheSizeGB',
      String(cacheSizeGB),
      '--quiet',
    ],
    ...['--setParameter', 'diagnosticDataCollectionEnabled=false'],
    ...['--setParameter', 'shutdownTimeoutMillisForSignaledShutdown=100'], // there is nobody to hand over to
  ];
  return startServer(
    { program, commandLine, logFile: join(directory, 'mongod.log'), ready: mongoReady },
    port,
  );
}

async function mongoReady(server: { port: number; pid: number; signal: AbortSignal }): Promise<string> {
  const address = `127.0.0.1:${server.port}`;
  while (!(await acceptsConnections(server.port)))
    await pause(RETRY_MS, undefined, { signal: server.signal });
  const client = new MongoClient(`mongodb://${address}/?directConnection=true`, {
    serverSelectionTimeoutMS: 5000,
  });
  try {
    const admin = client.db('admin');
    const { pid } = await admin.command({ serverStatus: 1 });
    // the port was taken by another mongod: ours is about to end
    if (Number(pid) !== server.pid) await deathOf(server.signal);
    while (!(await isWritablePrimary(admin))) {
      await settleReplicaSet({ admin, address });
      await pause(RETRY_MS, undefined, { signal: server.signal });
    }
    return `mongodb://${address}/?replicaSet=${REPLICA_SET}`;
  } finally {
    await client.close();
  }
}

async function isWritablePrimary(admin: Db): Promise<boolean> {
  const reply = await admin.command({ hello: 1 });
  return reply.isWritablePrimary === true;
}

/** Does what a mongod that is not primary yet may be waiting for: a first configuration, or its new address. */
async function settleReplicaSet({ admin, address }: { admin: Db; address: string }): Promise<void> {
  const members = [{ _id: 0, host: address }];
  try {
    await admin.command({ replSetGetStatus: 1 });
  } catch (error) {
    if (!(error instanceof MongoServerError)) throw error;
    if (error.code === NOT_YET_INITIALIZED) await initiate({ admin, members });
    else if (error.code === INVALID_REPLICA_SET_CONFIG) await moveMember({ admin, members });
    else throw error;
  }
}

type Members = { _id: number; host: string }[];

async function initiate({ admin, members }: { admin: Db; members: Members }): Promise<void> {
  try {
    await admin.command({ replSetInitiate: { _id: REPLICA_SET, members } });
  } catch (error) {
    // a mongod that has not read its configuration back yet also calls itself uninitialized
    if (!(error instanceof MongoServerError && error.code === ALREADY_INITIALIZED)) throw error;
  }
}

async function moveMember({ admin, members }: { admin: Db; members: Members }): Promise<void> {
  const { config } = await admin.command({ replSetGetConfig: 1 });
  await admin.command({ replSetReconfig: { ...config, version: config.version + 1, members }, force: true });
}
