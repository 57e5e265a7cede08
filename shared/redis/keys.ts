import type { InteractiveLane, Lane } from '../contract/lanes.js';

/** All Redis keys of Leadscore. Braces are hash tags: the keys of one script share a tag, as Redis Cluster requires. */

/** The two monthly counters of an organisation: live keys and test keys. */
export const usageBuckets = ['live', 'test'] as const;
export type UsageBucket = (typeof usageBuckets)[number];

/** Identifies one monthly counter. `month` is `YYYY-MM`, UTC. */
export interface UsageCounter {
  readonly organisationId: string;
  readonly bucket: UsageBucket;
  readonly month: string;
}

/** Prefix of the keys of upkeep's queues; also BullMQ's prefix. */
export const queuePrefix = '{leadscore}';

/** BullMQ's name of the queue of upkeep. */
export const upkeepQueueName = 'upkeep';

/** BullMQ writes an event for each job, and no process reads them. By default it keeps 10,000 a queue. */
export const queueStreams = { events: { maxLen: 100 } };

/** Prefix of the keys of one partition: its queues and payloads. Also BullMQ's prefix. */
export const partitionPrefix = (partition: number): string => `{leadscore:${partition}}`;

/**
 * Sorted set of the worker processes of a lane, scored by the Redis ms of their last heartbeat; see worker-register.ts.
 */
export const workerRegisterKey = (lane: Lane): string => `leadscore:worker-processes:${lane}`;

/** Redis's time when a process joined the register of a lane last. */
export const latestJoinKey = (lane: Lane): string => `{${workerRegisterKey(lane)}}:latest-join`;

/** The last ms that a chunk of a lane waited in a gateway; exists for half a second after such a wait. */
export const heldKey = (lane: InteractiveLane): string => `leadscore:held-ms:${lane}`;

/** Hash of the backlogs of the lanes; see shared/messages/backlog.ts. */
export const backlogKey = 'leadscore:backlog';

/** Hash of the running processes by id; see process-register.ts. */
export const processesKey = 'leadscore:processes';

/** Exists while bulk jobs need worker processes; see bulk-demand.ts. */
export const bulkDemandKey = 'leadscore:bulk-demand';

/**
 * Hash of one monthly counter:
 * - `used`, `leased`: records.
 * - `counted_at`: the Redis ms at which `used` was last set from the ledger.
 * - `recount_at`: the Redis ms from which a recount is due; absent when none is.
 * - `run`: the run of Redis in which `used` was set from the ledger. In another run the counter is not trusted.
 */
export const usageKey = ({ organisationId, bucket, month }: UsageCounter): string =>
  `{${organisationId}}:usage:${bucket}:${month}`;

/** List of the last refused calls of an organisation, latest first; see shared/messages/refused-calls.ts. */
export const refusedCallsKey = (organisationId: string): string => `{${organisationId}}:refused-calls`;

/** Matches every `usageKey`. */
export const anyUsageKey = '{*}:usage:*';

/** The counter of a `usageKey`. */
export function counterOfUsageKey(key: string): UsageCounter | undefined {
  const [, organisationId, bucket, month] = /^\{(.+)\}:usage:(live|test):([^:]+)$/.exec(key) ?? [];
  if (organisationId === undefined || month === undefined) return undefined;
  return { organisationId, bucket: bucket === 'live' ? 'live' : 'test', month };
}

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

/** The organisation of a `latestScoresKey`. */
export const organisationOfLatestScores = (key: string): string => key.slice(1, key.indexOf('}'));

/** Lock of the process that sets a counter from the ledger; its value is a random token. */
export const rebuildLockKey = ({ organisationId, bucket, month }: UsageCounter): string =>
  `{${organisationId}}:rebuild:${bucket}:${month}`;

/**
 * Sorted set of counters that may have leases: `organisation bucket month`, scored by the Redis ms of their last use.
 */
export const activeCountersKey = 'leadscore:active-counters';

/** Sorted set of the active counters, scored by the Redis ms at which the sweep visits them next. */
export const dueCountersKey = `{${activeCountersKey}}:due`;

/**
 * Hash of calls to void, by call id: `organisation bucket month`; see shared/quota/voids.ts. On the cluster node of
 * the active counters: the sweep needs both.
 */
export const callsToVoidKey = `{${activeCountersKey}}:to-void`;

/**
 * The run of Redis that the sweep saw last: its id, a space, and the Redis ms of its beginning (0 for the first run).
 * On the node of the active counters, like all that the sweep cannot do without.
 */
export const redisRunKey = `{${activeCountersKey}}:redis-run`;

/** Lock of the pool that began the latest sweep; its TTL keeps other pools from beginning one. */
export const sweepTurnKey = `{${activeCountersKey}}:sweep-turn`;

/** List of the latest sweeps, for the operator's page; see shared/quota/sweep-log.ts. */
export const sweepLogKey = `{${activeCountersKey}}:sweep-log`;

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
export const payloadKey = ({ partition, chunk }: { readonly partition: number; readonly chunk: string }): string =>
  `${partitionPrefix(partition)}:payload:${chunk}`;

/** Stream on which one gateway receives the replies to its chunks. Each gateway has a hash slot of its own. */
export const replyStreamKey = (gatewayId: string): string => `leadscore:replies:${gatewayId}`;

/** Pub/sub channel of changes; see changes.ts. */
export const changesChannel = 'leadscore:changes';

/** Claim of the call that runs under an Idempotency-Key; `digest` is the digest of the key. */
export const replayClaimKey = (organisationId: string, bucket: UsageBucket, digest: string): string =>
  `{${organisationId}}:claim:${bucket}:${digest}`;

/** Hash of the number of worker deaths by `<model>:<version>`, of all partitions: a version uses several. */
export const modelStrikesKey = 'leadscore:strikes';
