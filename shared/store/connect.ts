import {
  type ClientSession,
  type Db,
  type Document,
  MongoClient,
  MongoServerError,
  MongoServerSelectionError,
  ReadPreference,
} from 'mongodb';
import { messageOf } from '../errors.js';
import { startStep, Unfit } from '../start-step.js';
import { missingRights } from './missing-rights.js';

export type { ClientSession, Db, MongoClient } from 'mongodb';

/** How a write takes part in a transaction. */
export interface WriteOptions {
  readonly session: ClientSession;
  /** Ends the write when its time is over; the driver's own `timeoutMS` does nothing. */
  readonly signal: AbortSignal;
}

/** A connection to MongoDB and its database. */
export interface Mongo {
  readonly client: MongoClient;
  readonly database: Db;
}

export interface MongoConnectionOptions {
  /** What the connection is for, as MongoDB's log shows it. */
  readonly name: string;
  /** Connections of this process. */
  readonly maxPoolSize?: number;
  /** How long to wait for a server that takes writes, and lets itself be read. */
  readonly longestWaitMs?: number;
}

const defaultDatabaseName = 'leadscore';
/** Authentication failed; there is no such mechanism; what Atlas says for either. */
const lockedOut: ReadonlySet<number> = new Set([18, 334, 8000]);

const noReplicaSet =
  'MONGODB_URL names a MongoDB that is no replica set: start it with --replSet and run rs.initiate()';
const notInitiated = 'MONGODB_URL names a MongoDB whose replica set does not exist yet: run rs.initiate()';
const anotherReplicaSet =
  'MongoDB answered, but is no member of the replica set that MONGODB_URL names: check replicaSet=, and that the server ' +
  'is started with --replSet and rs.initiate() was run';

/**
 * Connects to MongoDB and makes sure that it answers, has transactions, and lets this process read. The database is the one
 * that the address names, else `leadscore`. Reads go to the primary, whatever the address says: a transaction cannot read
 * elsewhere.
 * @param url MONGODB_URL
 * @throws Error saying what to check, and never a password
 */
export async function connectMongo(
  url: string,
  { name, maxPoolSize = 20, longestWaitMs = 10_000 }: MongoConnectionOptions,
): Promise<Mongo> {
  const client = clientOf(url, { name, maxPoolSize, longestWaitMs });
  try {
    const database = await startStep(() => opened(client, AbortSignal.timeout(longestWaitMs)), {
      longestWaitMs,
      isFinal,
    });
    return { client, database };
  } catch (error) {
    await client.close();
    throw error instanceof Unfit ? error : new Error(explained(error, url), { cause: error });
  }
}

async function opened(client: MongoClient, signal: AbortSignal): Promise<Db> {
  await client.connect();
  requireTransactions(await client.db('admin').command({ hello: 1 }, { signal }));
  const database = client.db(databaseName(client));
  // It says hello to everybody.
  await database.collection('settings').findOne({}, { projection: { _id: 1 }, signal });
  return database;
}

function clientOf(
  url: string,
  { name, maxPoolSize, longestWaitMs }: Required<MongoConnectionOptions>,
): MongoClient {
  try {
    return new MongoClient(url, {
      appName: name,
      maxPoolSize,
      serverSelectionTimeoutMS: longestWaitMs,
      ignoreUndefined: true,
      retryWrites: true,
      readPreference: ReadPreference.primary,
    });
  } catch (error) {
    // Without its cause: what the driver says of an address may show it.
    throw new Error(`MONGODB_URL cannot be used: ${withoutSecrets(messageOf(error), url)}`);
  }
}

function requireTransactions({ setName, msg, isreplicaset }: Document): void {
  if (setName !== undefined || msg === 'isdbgrid') return;
  throw new Unfit(isreplicaset === true ? notInitiated : noReplicaSet);
}

/** Whether MongoDB has said what will not change by itself: that it does not let this process in. */
const isFinal = (error: unknown): boolean => isLockedOut(error) || missingRights(error) !== undefined;

const isLockedOut = (error: unknown): boolean =>
  error instanceof MongoServerError && lockedOut.has(Number(error.code));

/** What went wrong, and what to do about it. */
function explained(error: unknown, url: string): string {
  const reason = withoutSecrets(messageOf(error), url);
  const missing = missingRights(error);
  if (missing !== undefined) return missing;
  if (isLockedOut(error))
    return `MongoDB did not let this process in: check the user and the password in MONGODB_URL (${reason})`;
  if (error instanceof MongoServerError) return `MongoDB answered, and cannot be used: ${reason}`;
  const topology = error instanceof MongoServerSelectionError ? error.reason : undefined;
  const servers = [...(topology?.servers.values() ?? [])];
  // The driver drops a server that is of no replica set, or of another.
  if (topology?.type === 'ReplicaSetNoPrimary' && servers.length === 0) return anotherReplicaSet;
  if (servers.some(({ type }) => type === 'RSGhost')) return notInitiated;
  if (servers.some(({ type }) => type.startsWith('RS')))
    return `MongoDB answered, but has no primary that takes writes: check its replica set (${reason})`;
  return `MongoDB did not answer: check MONGODB_URL, and that the server is running as a replica set (${reason})`;
}

/** A message without the password and the values of options that an address holds, where they stand as words. */
function withoutSecrets(message: string, url: string): string {
  const password = /^[^:]*:\/\/[^:@]*:([^@]*)@/.exec(url)?.[1] ?? '';
  const values = [...url.matchAll(/[?&][^=&]*=([^&]*)/g)].map(([, value = '']) => value);
  return [password, ...values]
    .flatMap((value) => [value, decoded(value)])
    .filter((value) => value !== '')
    .sort((one, other) => other.length - one.length)
    .reduce((text, value) => text.split(new RegExp(`(?<!\\w)${escaped(value)}(?!\\w)`)).join('...'), message);
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function databaseName(client: MongoClient): string {
  const named = client.options.dbName;
  return named === undefined || named === 'test' ? defaultDatabaseName : named;
}
