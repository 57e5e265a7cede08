import { UnusableServer } from '../../shared/async/retry.js';
import { withTimeout } from '../../shared/async/timeouts.js';
import type { WorkerConfig } from '../../shared/config/config.js';
import { type Clock, machineClock } from '../../shared/contract/dates.js';
import { LatestScores } from '../../shared/latest-scores/latest-scores.js';
import type { Logger } from '../../shared/process/logger.js';
import { leaseMsOf } from '../../shared/quota/leases.js';
import { Quota } from '../../shared/quota/quota.js';
import { connectionReady, connectRedis, type Redis } from '../../shared/redis/connect.js';
import { UsageLedger } from '../../shared/store/calls/usage-ledger.js';
import { type Attempt, claimServers } from '../../shared/store/connection/claim-servers.js';
import { connectMongo, type Mongo } from '../../shared/store/connection/connect.js';

export type UpkeepConfig = WorkerConfig & { readonly redisUrl: string; readonly mongoUrl: string };

/** The servers of upkeep, and the stores that its sweeps and jobs share. */
export interface UpkeepConnections {
  /** For commands. */
  readonly redis: Redis;
  /** For blocking commands. */
  readonly blocking: Redis;
  readonly mongo: Mongo;
  readonly clock: Clock;
  /** Length of the leases of quota. */
  readonly leaseMs: number;
  readonly ledger: UsageLedger;
  readonly quota: Quota;
  readonly latest: LatestScores;
  readonly logger: Logger;
  /** Claims Redis for this installation and its lease. A Redis that is out of memory may refuse. */
  readonly claim: (limitMs: number) => Promise<void>;
  readonly close: () => Promise<void>;
}

const maxClaimMsAtStart = 5_000;

/** Waits for a claim for a limited time. Passes over a refusal: each sweep claims Redis again. */
const boundedAttempt =
  (limitMs: number): Attempt =>
  (claim) =>
    withTimeout(limitMs, claim()).catch((error: unknown) => {
      if (error instanceof UnusableServer) throw error;
    });

/**
 * Connects upkeep to Redis and MongoDB, prepares the database and claims Redis for it.
 * @throws UnusableServer; errors of MongoDB
 */
export async function connectUpkeep(config: UpkeepConfig, logger: Logger): Promise<UpkeepConnections> {
  const { minPatienceMs } = config.timings.redis;
  const connect = (name: string, kind: 'commands' | 'blocking') =>
    connectRedis({ url: config.redisUrl, name: `leadscore-upkeep-${name}`, kind, logger, minPatienceMs });
  const [redis, blocking] = [connect('commands', 'commands'), connect('jobs', 'blocking')];
  await connectionReady(redis);
  const leaseMs = leaseMsOf(config);
  const { mongo, claim } = await claimServers({
    redis,
    connectMongo: () =>
      connectMongo(config.mongoUrl, { name: 'leadscore-upkeep', maxPoolSize: 10, outage: logger.outages.MongoDB }),
    leaseMs,
    logger,
    attempt: boundedAttempt(maxClaimMsAtStart),
  });
  const clock = machineClock(config.clockOffsetMs);
  const ledger = new UsageLedger(mongo.database, clock);
  const quota = new Quota({ redis, ledger, leaseMs, clock });
  const close = async (): Promise<void> => {
    blocking.disconnect();
    redis.disconnect();
    await mongo.client.close();
  };
  return {
    ...{ redis, blocking, mongo, clock, leaseMs, ledger, quota, latest: new LatestScores(redis), logger },
    claim: (limitMs) => claim(boundedAttempt(limitMs)),
    close,
  };
}
