import type { Lane } from '../../shared/messages/score-job.js';
import type { UsageBucket } from '../../shared/redis/keys.js';
import type { ApiKey } from '../../shared/store/accounts/api-keys.js';

/** One record of a call: the caller's fields, and the crm_id that was taken out of them. */
export interface CallRecord {
  readonly crmId: string | null;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A caller's Idempotency-Key, or what stands for it, and what it was sent with. */
export interface Idempotency {
  readonly key: string;
  /** What the caller calls it: HubSpot's custom actions repeat a call under its callbackId. */
  readonly name: 'Idempotency-Key' | 'callbackId';
  /** SHA-256 of route and body, hex. */
  readonly bodyHash: string;
}

/** What a call is once its key, rate and body have been checked, whichever endpoint it came by. */
export interface ScoringCall {
  /** Made by the gateway, ordered by time; names the reservation, the ledger row and the predictions. */
  readonly id: string;
  /** What the caller calls it, for logs and the ledger. */
  readonly requestId: string;
  readonly apiKey: ApiKey;
  readonly bucket: UsageBucket;
  readonly modelId: string;
  readonly records: readonly CallRecord[];
  /** What a record is called in messages: `records[17]`, or `record` where there is only one. */
  readonly nameOfRecord: (index: number) => string;
  readonly explain: boolean;
  readonly lane: Lane;
  readonly idempotency: Idempotency | undefined;
  /** Service time of the request, ms: what ages are counted to and predictions are dated with. */
  readonly atMs: number;
  readonly deadline: Deadline;
  /** Whether the caller has closed the connection, so that no answer can reach them. */
  readonly hasHungUp: () => boolean;
}

/** When a call must have been answered, by this process's monotonic clock and by Redis's. */
export interface Deadline {
  /** In the terms of `performance.now()`. */
  readonly monotonicMs: number;
  /** Unix ms by Redis's clock. */
  readonly redisMs: number;
}

/** Milliseconds until a deadline; at least 1, so that it can serve as a timeout. */
export const msUntil = (deadline: Pick<Deadline, 'monotonicMs'>): number =>
  Math.max(1, Math.floor(deadline.monotonicMs - performance.now()));

/** Each step of a call has the call's deadline as its own limit; the fence that answers come what may stands behind them. */
const fenceMs = 250;
/** Timers may come a little early. */
const timerSlackMs = 5;

/** Milliseconds until a call is answered come what may: a little after its deadline. */
export const msUntilFence = (deadline: Deadline): number =>
  deadline.monotonicMs + fenceMs - performance.now();

/** Whether a call has been answered at the fence, or is about to be. */
export const isPastFence = (deadline: Deadline): boolean => msUntilFence(deadline) <= timerSlackMs;
