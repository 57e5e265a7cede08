import {
  type ClientSession,
  type CreateCollectionOptions,
  type Db,
  type Document,
  MongoBulkWriteError,
  MongoClient,
  MongoServerError,
  MongoServerSelectionError,
  ReadPreference,
} from 'mongodb';
import { retryAtStart, UnusableServer } from '../../async/retry.js';
import { withSignal } from '../../async/timeouts.js';
import { messageOf } from '../../contract/errors.js';
import type { Outage } from '../../process/outage.js';

export type { ClientSession, Db, MongoClient } from 'mongodb';

/** Options of a write within a transaction. */
export interface WriteOptions {
  readonly session: ClientSession;
  /** Aborts the write at its deadline; the driver's own `timeoutMS` has no effect. */
  readonly signal: AbortSignal;
}

/** The connections of this process to MongoDB, and its database. */
export interface Mongo {
  readonly client: MongoClient;
  readonly database: Db;
}

export interface MongoConnectionOptions {
  /** Name of the client in MongoDB's log. */
  readonly name: string;
  /** `defaultPoolSize` by default. */
  readonly maxPoolSize?: number;
  /** Time limit for finding a primary that answers reads; 10 s by default. */
  readonly maxWaitMs?: number;
  /** Learns when MongoDB loses its primary, and when one answers. */
  readonly outage?: Pick<Outage, 'failed' | 'answered'>;
}

/** Connections of a process to MongoDB. */
export const defaultPoolSize = 20;
/**
 * How often the driver looks whether a pool has fewer connections than it should. Here it never has: the smallest
 * number is none. The driver looks ten times a second, and has no public option for it. Lost connections are found when
 * used.
 */
const poolLook = { minPoolSizeCheckFrequencyMS: 60_000 };
const defaultDatabaseName = 'leadscore';
/** AuthenticationFailed, MechanismUnavailable, and Atlas's code for either. */
const loginErrors: ReadonlySet<number> = new Set([18, 334, 8000]);

const noReplicaSet =
  'MONGODB_URL names a MongoDB that is not a replica set: start it with --replSet and run rs.initiate()';
const notInitiated = 'MONGODB_URL names a MongoDB whose replica set is not initiated: run rs.initiate()';
const anotherReplicaSet =
  'MongoDB answered, but is not a member of the replica set that MONGODB_URL names: check replicaSet=, and that the ' +
  'server was started with --replSet and initiated with rs.initiate()';

/**
 * Connects to MongoDB and checks that it answers, has transactions, and lets this process read. The database is the one
 * in the URL, else `leadscore`. Reads go to the primary even if the URL says otherwise, because a transaction cannot
 * read from a secondary.
 * @param url MONGODB_URL
 * @throws Error that says what to check, without any password
 */
export async function connectMongo(
  url: string,
  { name, maxPoolSize = defaultPoolSize, maxWaitMs = 10_000, outage }: MongoConnectionOptions,
): Promise<Mongo> {
  const client = clientOf(url, { name, maxPoolSize, maxWaitMs });
  try {
    const database = await retryAtStart(() => opened(client, AbortSignal.timeout(maxWaitMs)), {
      maxWaitMs,
      isFinal,
    });
    if (outage !== undefined) followPrimary(client, outage);
    return { client, database };
  } catch (error) {
    await client.close();
    throw error instanceof UnusableServer ? error : new Error(explained(error, url), { cause: error });
  }
}

async function opened(client: MongoClient, signal: AbortSignal): Promise<Db> {
  await client.connect();
  requireTransactions(await client.db('admin').command({ hello: 1 }, { signal }));
  const database = client.db(databaseName(client));
  // The server answers `hello` to any user, so only a read shows a missing right.
  await database.collection('settings').findOne({}, { projection: { _id: 1 }, signal });
  return database;
}

/** Reports to an outage when the primary or the last mongos goes, and when one answers. */
function followPrimary(client: MongoClient, outage: NonNullable<MongoConnectionOptions['outage']>): void {
  let writable: ReadonlySet<string> | undefined;
  client.on('topologyDescriptionChanged', ({ newDescription: { servers } }) => {
    const all = [...servers.values()];
    const found = new Set(all.filter(({ isWritable }) => isWritable).map(({ address }) => address));
    // A client that is closed drops all servers.
    if (all.length > 0 && found.size === 0 && writable?.size !== 0)
      outage.failed(all.find(({ error }) => error !== null)?.error ?? new Error('no primary'), 'connection');
    if (found.size > 0 && writable?.size === 0) outage.answered();
    writable = found;
  });
  client.on('serverHeartbeatSucceeded', ({ connectionId }) => {
    if (writable === undefined || writable.has(connectionId)) outage.answered();
  });
}

function clientOf(
  url: string,
  { name, maxPoolSize, maxWaitMs }: Omit<Required<MongoConnectionOptions>, 'outage'>,
): MongoClient {
  try {
    const client = new MongoClient(url, {
      appName: name,
      maxPoolSize,
      serverSelectionTimeoutMS: maxWaitMs,
      ignoreUndefined: true,
      retryWrites: true,
      readPreference: ReadPreference.primary,
    });
    // The constructor refuses options that it does not know, but pools get them.
    Object.assign(client.options, poolLook);
    return client;
  } catch (error) {
    // No `cause`: the driver's message may show the URL with its password.
    throw new Error(`MONGODB_URL cannot be used: ${withoutSecrets(messageOf(error), url)}`);
  }
}

function requireTransactions({ setName, msg, isreplicaset }: Document): void {
  if (setName !== undefined || msg === 'isdbgrid') return;
  throw new UnusableServer(isreplicaset === true ? notInitiated : noReplicaSet);
}

/** Waiting does not help when MongoDB refuses the login or a right. */
const isFinal = (error: unknown): boolean => isLoginError(error) || missingRights(error) !== undefined;

const isLoginError = (error: unknown): boolean =>
  error instanceof MongoServerError && loginErrors.has(Number(error.code));

function explained(error: unknown, url: string): string {
  const reason = withoutSecrets(messageOf(error), url);
  const missing = missingRights(error);
  if (missing !== undefined) return missing;
  if (isLoginError(error))
    return `MongoDB did not let this process in: check the user and the password in MONGODB_URL (${reason})`;
  if (error instanceof MongoServerError) return `MongoDB answered with an error: ${reason}`;
  const topology = error instanceof MongoServerSelectionError ? error.reason : undefined;
  const servers = [...(topology?.servers.values() ?? [])];
  // The driver drops servers that belong to no replica set or to another one.
  if (topology?.type === 'ReplicaSetNoPrimary' && servers.length === 0) return anotherReplicaSet;
  if (servers.some(({ type }) => type === 'RSGhost')) return notInitiated;
  if (servers.some(({ type }) => type.startsWith('RS')))
    return `MongoDB answered, but has no primary that takes writes: check its replica set (${reason})`;
  return `MongoDB did not answer: check MONGODB_URL, and that the server is running as a replica set (${reason})`;
}

/** Removes the password and the option values of a URL from a message, where they are whole words. */
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

/**
 * Selects some documents of a clustered collection by `_id`. For `$in` alone MongoDB scans the whole collection; the
 * bounds limit the scan to what lies between the ids.
 */
export function amongIds(ids: readonly string[]): { $in: string[]; $gte: string; $lte: string } {
  const sorted = [...ids].sort();
  return { $in: sorted, $gte: sorted[0] ?? '', $lte: sorted.at(-1) ?? '' };
}

/** Creates a collection clustered by `_id`, unless it exists. */
export const createClustered = (database: Db, name: string): Promise<void> =>
  createUnlessExists(database, name, { clusteredIndex: { key: { _id: 1 }, unique: true } });

/** Creates a collection, unless it exists. */
export async function createUnlessExists(database: Db, name: string, options: CreateCollectionOptions): Promise<void> {
  try {
    await database.createCollection(name, options);
  } catch (error) {
    if (!(error instanceof MongoServerError && error.code === collectionExists)) throw error;
  }
}

/** MongoDB's error codes. */
const unauthorized = 13;
const collectionExists = 48;
export const maxTimeExpired = 50;
export const duplicateKey = 11_000;

/** A call to MongoDB timed out. Logs show its message, which therefore says what to check. */
export class MongoTimeout extends Error {
  override name = 'MongoTimeout';

  constructor() {
    super('MongoDB did not answer in time: check that it is running, has a primary, and is not overloaded');
  }
}

/**
 * Limits the time of one call to MongoDB. A frozen server keeps its connections open, so a call without limit may hang
 * for ever. The driver's `timeoutMS` option has no effect as of 7.8.
 * @param work passes the signal to the driver's `signal` option or to a stream, so that the connection is closed too
 * @throws MongoTimeout after `timeoutMs`, even when the work ignores the signal; before that, its own error
 */
export function withMongoTimeout<Result>(
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const signal = AbortSignal.timeout(timeoutMs);
  return withMongoSignal(signal, work(signal));
}

/**
 * Waits for a call to MongoDB until the signal of its time limit is aborted.
 * @throws MongoTimeout after the abort; before that, the error of the call
 */
export async function withMongoSignal<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result> {
  try {
    return await withSignal(signal, work);
  } catch (error) {
    // The driver's own abort error does not say what to check.
    throw signal.aborted ? new MongoTimeout() : error;
  }
}

/**
 * The indexes of the writes of an unordered bulk that MongoDB refused; it stored the others.
 * @throws the error if it does not tell
 */
export function refusedWrites(error: unknown): ReadonlySet<number> {
  const refused = error instanceof MongoBulkWriteError ? [error.writeErrors].flat().map(({ index }) => index) : [];
  if (refused.length === 0) throw error;
  return new Set(refused);
}

/** The remedy when MongoDB lacks a login or the user lacks a right; undefined for any other error. */
export function missingRights(error: unknown): string | undefined {
  if (!(error instanceof MongoServerError) || error.code !== unauthorized) return undefined;
  return /requires authentication/i.test(error.message)
    ? 'MongoDB asks for a user and a password: put them into MONGODB_URL, as mongodb://user:password@host:port/database'
    : 'MongoDB does not let the user in MONGODB_URL work on its database: give it the role readWrite there';
}
