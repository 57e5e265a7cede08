import { retryAtStart } from '../../async/retry.js';
import type { Logger } from '../../process/logger.js';
import type { Redis } from '../../redis/connect.js';
import { checkRedis } from '../../redis/health.js';
import { claimLease, claimRedis } from '../../redis/owner.js';
import type { Db, Mongo } from './connect.js';
import { installationId } from './installation-id.js';
import { isMissingRight, prepareDatabase, withRights } from './prepare-database.js';

/** Runs one claim. It may repeat the claim, or pass over a failure. */
export type Attempt = (claim: () => Promise<void>) => Promise<void>;

export interface ServersOptions {
  /** For commands. It is connected. */
  readonly redis: Redis;
  readonly connectMongo: () => Promise<Mongo>;
  /** Refuses a database before anything is written to it. */
  readonly checkDatabase?: ((database: Db) => Promise<void>) | undefined;
  /** The length of this process's leases. */
  readonly leaseMs: number;
  readonly logger: Pick<Logger, 'warn'>;
  /** Runs the first claims; `retryAtStart` by default. */
  readonly attempt?: Attempt;
}

export interface ClaimedServers {
  readonly mongo: Mongo;
  /** Claims Redis and the length of leases once more. */
  readonly claim: (attempt: Attempt) => Promise<void>;
}

/**
 * Makes the servers of a starting process ready for it:
 * 1. checks that Redis can be used;
 * 2. connects to MongoDB, and creates the collections and indexes of an empty database;
 * 3. claims Redis for this database, and the length of leases for all its processes.
 * @throws UnusableServer; errors of both servers, also those that `attempt` throws
 */
export async function claimServers(options: ServersOptions): Promise<ClaimedServers> {
  const { redis, connectMongo, checkDatabase, leaseMs, logger, attempt: first = retryAtStart } = options;
  await retryAtStart(() => checkRedis(redis, logger));
  const mongo = await connectMongo();
  await checkDatabase?.(mongo.database);
  await prepareDatabase(mongo.database);
  // The first write to a database that was prepared before: it shows a missing right.
  const installation = await withRights(() =>
    retryAtStart(() => installationId(mongo.database), { isFinal: isMissingRight }),
  );
  const claim = async (attempt: Attempt): Promise<void> => {
    await attempt(() => claimRedis(redis, installation));
    await attempt(() => claimLease(redis, leaseMs));
  };
  await claim(first);
  return { mongo, claim };
}
