/** All Redis keys of Leadscore. Braces are hash tags: the keys of one script share a tag, as Redis Cluster requires. */

/** The two monthly counters of an organisation: live keys and test keys. */
export type UsageBucket = 'live' | 'test';

/** Identifies one monthly counter. `month` is `YYYY-MM`, UTC. */
export interface UsageCounter {
  readonly organisationId: string;
  readonly bucket: UsageBucket;
  readonly month: string;
}

/** Prefix of all keys of queues; also BullMQ's prefix. */
export const queuePrefix = '{leadscore}';

/**
 * Hash of one monthly counter:
 * - `used`, `leased`: records.
 * - `counted_at`: the Redis ms at which `used` was last set from the ledger.
 * - `recount_at`: the Redis ms from which a recount is due; absent when none is.
 * - `run`: the run of Redis in which `used` was set from the ledger. In another run the counter is not trusted.
 */
export const usageKey = ({ organisationId, bucket, month }: UsageCounter): string =>
  `{${organisationId}}:usage:${bucket}:${month}`;

/** Matches every `usageKey`. */
export const anyUsageKey = '{*}:usage:*';

/** Sorted set of one counter's open leases: call ids, scored by the Redis ms of their expiry. */
export const leasesKey = ({ organisationId, bucket, month }: UsageCounter): string =>
  `{${organisationId}}:leases:${bucket}:${month}`;

/** List of the calls of one counter that were settled or released since its recount began; see begin-recount.lua. */
export const endedCallsKey = ({ organisationId, bucket, month }: UsageCounter): string =>
  `{${organisationId}}:ended:${bucket}:${month}`;

/** State of one call's reservation; see reserve.lua. */
export const callKey = (organisationId: string, callId: string): string => `{${organisationId}}:call:${callId}`;

/** Hash of the latest scores of an organisation's leads, by crm_id; read-scores.lua defines its fields. */
export const latestScoresKey = (organisationId: string): string => `{${organisationId}}:leads`;

/** Matches every `latestScoresKey`. */
export const anyLatestScoresKey = '{*}:leads';

/** Lock of the process that sets a counter from the ledger; its value is a random token. */
export const rebuildLockKey = ({ organisationId, bucket, month }: UsageCounter): string =>
  `{${organisationId}}:rebuild:${bucket}:${month}`;

/** Sorted set of counters that may have leases: `organisation bucket month`, scored by the Redis ms of their last use. */
export const activeCountersKey = 'leadscore:active-counters';

/**
 * Hash of calls to void, by call id: `organisation bucket month`; see shared/quota/voids.ts. On the cluster node of
 * the active counters: the sweep needs both.
 */
export const callsToVoidKey = `{${activeCountersKey}}:to-void`;

/** The run of Redis that the sweep saw last: its id, a space, and the Redis ms of its beginning (0 for the first run). */
export const redisRunKey = 'leadscore:redis-run';

/** Lock of the pool that began the latest sweep; its TTL keeps other pools from beginning one. */
export const sweepTurnKey = 'leadscore:sweep-turn';

/** Length in ms of the leases of the running processes; see shared/redis/owner.ts. */
export const leaseLengthKey = 'leadscore:lease-ms';

/** Id of the database that has claimed this Redis; see shared/redis/owner.ts. */
export const installationKey = 'leadscore:installation';

/** Calls of a key that share a rate. */
export type RateWindow = 'scoring' | 'reading' | 'erasing' | 'outcomes';

/** Sorted set of a key's accepted calls in the last second, scored by Redis time in microseconds. */
export const rateWindowKey = (organisationId: string, keyId: string, window: RateWindow): string =>
  `{${organisationId}}:rate:${window}:${keyId}`;

/** Payload of one queued chunk; empty when the job has it. Deleting the key cancels the chunk. */
export const payloadKey = (chunkId: string): string => `${queuePrefix}:payload:${chunkId}`;

/** Stream on which one gateway receives the replies to its chunks. */
export const replyStreamKey = (gatewayId: string): string => `${queuePrefix}:replies:${gatewayId}`;

/** Pub/sub channel of changes; see changes.ts. */
export const changesChannel = 'leadscore:changes';

/** Claim of the call that runs under an Idempotency-Key; `digest` is the digest of the key. */
export const replayClaimKey = (organisationId: string, bucket: UsageBucket, digest: string): string =>
  `{${organisationId}}:claim:${bucket}:${digest}`;

/** Hash of the number of worker deaths by `<model>:<version>`. */
export const modelStrikesKey = `${queuePrefix}:strikes`;
