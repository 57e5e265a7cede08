/**
 * Every key that Leadscore keeps in Redis, in one place. Braces are hash tags: keys that one script touches together
 * share a tag, so that all of it works on Redis Cluster.
 */

/** Which of an organisation's two monthly counters a call is metered into. */
export type UsageBucket = 'live' | 'test';

/** What identifies one monthly counter. `month` is `YYYY-MM`, UTC. */
export interface UsageCounter {
  readonly organisationId: string;
  readonly bucket: UsageBucket;
  readonly month: string;
}

/** Prefix of everything that is queued; also BullMQ's key prefix. */
export const queuePrefix = '{leadscore}';

/**
 * Hash of one monthly counter: `used` and `leased`, in records; `counted_at`, the Redis ms at which `used` was last taken
 * from the ledger; `recount_at`, the Redis ms from which it should be taken again (absent when nothing asks for it); `run`,
 * the run of Redis in which it was taken from the ledger: in another one it is not believed.
 */
export const usageKey = ({ organisationId, bucket, month }: UsageCounter): string =>
  `{${organisationId}}:usage:${bucket}:${month}`;

/** Sorted set of one counter's open leases: call id, scored by the Redis time in ms at which it expires. */
export const leasesKey = ({ organisationId, bucket, month }: UsageCounter): string =>
  `{${organisationId}}:leases:${bucket}:${month}`;

/** List of the calls of one counter that were settled or released since a recount of it began: see begin-recount.lua. */
export const endedCallsKey = ({ organisationId, bucket, month }: UsageCounter): string =>
  `{${organisationId}}:ended:${bucket}:${month}`;

/** String with the state of one call's reservation. */
export const callKey = (organisationId: string, callId: string): string =>
  `{${organisationId}}:call:${callId}`;

/**
 * Hash of the newest score of each lead under one model, by crm_id, as far as Redis knows; read-scores.lua says what its
 * entries are. Its field without a name holds its generation.
 */
export const latestScoresKey = (organisationId: string, modelId: string): string =>
  `{${organisationId}}:latest:${modelId}`;

/** Matches every such key. */
export const anyLatestScoresKey = '{*}:latest:*';

/** Lock held by the one process that takes a counter from the ledger: a random token. */
export const rebuildLockKey = ({ organisationId, bucket, month }: UsageCounter): string =>
  `{${organisationId}}:rebuild:${bucket}:${month}`;

/** Sorted set of counters that may hold leases: `organisation bucket month`, scored by when one was last taken, in ms. */
export const activeCountersKey = 'leadscore:active-counters';

/** The run of Redis that the sweep saw last: its id, a space, and the Redis ms at which it took over from another (0: not known to have). */
export const redisRunKey = 'leadscore:redis-run';

/** Held by the pool that has begun the newest sweep, for as long as no other need begin one. */
export const sweepTurnKey = 'leadscore:sweep-turn';

/** The database that this Redis counts for; see shared/redis/owner.ts. */
export const installationKey = 'leadscore:installation';

/** Sorted set of the accepted calls of one key in its last second, scored by Redis time in microseconds. */
export const rateWindowKey = (organisationId: string, keyId: string, window: 'scoring' | 'reading'): string =>
  `{${organisationId}}:rate:${window}:${keyId}`;

/** The payload of one queued chunk, or nothing when its job holds it; its disappearance cancels the chunk. */
export const payloadKey = (chunkId: string): string => `${queuePrefix}:payload:${chunkId}`;

/** The stream on which one gateway receives the results of its chunks. */
export const replyStreamKey = (gatewayId: string): string => `${queuePrefix}:replies:${gatewayId}`;

/** Pub/sub channel that says which key, organisation or model has changed. */
export const changesChannel = 'leadscore:changes';

/** Claim of the one call that is being answered under an Idempotency-Key; `digest` is that of the caller's key. */
export const replayClaimKey = (organisationId: string, bucket: UsageBucket, digest: string): string =>
  `{${organisationId}}:claim:${bucket}:${digest}`;

/** Hash of `<model>:<version>`: how many worker processes have died while running it. */
export const modelStrikesKey = `${queuePrefix}:strikes`;
