import { callIdGenerator } from '../../../shared/contract/identifiers.js';
import { memberOf } from '../../../shared/quota/leases.js';
import { Quota } from '../../../shared/quota/quota.js';
import { redisNowMs } from '../../../shared/redis/connect.js';
import { dueCountersKey } from '../../../shared/redis/keys.js';
import type { TestWorkspace } from '../service/workspace.js';

const leaseMs = 50;

/**
 * Reserves records and never settles, like a gateway that dies. The lease expires after 50 ms.
 * @returns the call's id
 */
export async function holdAndDie(own: TestWorkspace, records: number): Promise<string> {
  const { redis, stores, clock } = own.service;
  const quota = new Quota({ redis, ledger: stores.ledger, leaseMs, clock });
  const callId = callIdGenerator()(clock.now(), own.id);
  const deadlineRedisMs = (await redisNowMs(redis)) + 1_000;
  await quota.reserve({ counter: own.counter(), callId, records, stop: 1_000, deadlineRedisMs });
  // Visits follow each other by up to a lease of the pool, which is longer than this one.
  await redis.zrem(dueCountersKey, memberOf(own.counter()));
  return callId;
}
