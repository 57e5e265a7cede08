import { type ClientSession, type Db, MongoClient } from 'mongodb';

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

const defaultDatabaseName = 'leadscore';

/**
 * Connects to MongoDB and makes sure that it answers. The database is the one that the address names, else `leadscore`.
 * @param url MONGODB_URL
 * @param options.maxPoolSize connections of this process
 * @throws Error saying what to check when the server does not answer within ten seconds
 */
export async function connectMongo(
  url: string,
  { name, maxPoolSize = 20 }: { readonly name: string; readonly maxPoolSize?: number },
): Promise<Mongo> {
  const client = new MongoClient(url, {
    appName: name,
    maxPoolSize,
    serverSelectionTimeoutMS: 10_000,
    ignoreUndefined: true,
    retryWrites: true,
  });
  try {
    await client.connect();
  } catch (error) {
    await client.close();
    throw new Error(
      'MongoDB did not answer: check MONGODB_URL, and that the server is running as a replica set',
      {
        cause: error,
      },
    );
  }
  return { client, database: client.db(databaseName(client)) };
}

function databaseName(client: MongoClient): string {
  const named = client.options.dbName;
  return named === undefined || named === 'test' ? defaultDatabaseName : named;
}
