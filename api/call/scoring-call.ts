import { withTimeout } from '../../shared/async/timeouts.js';
import { storedCrmId } from '../../shared/contract/crm-id.js';
import { ApiError } from '../../shared/contract/errors.js';
import type { Lane } from '../../shared/contract/lanes.js';
import type { KnownFields } from '../../shared/messages/field-slots.js';
import type { UsageBucket } from '../../shared/redis/keys.js';
import type { ApiKey } from '../../shared/store/accounts/api-keys.js';

/** One record of a call: the caller's fields, and the crm_id among them. */
export interface CallRecord {
  /** As it is stored. */
  readonly crmId: string | null;
  /** The sent id, if it is stored in another form. It is echoed. */
  readonly sentId?: string | undefined;
  /** The sent crm_id if it is no id, such as `NULL`. It is echoed and used for nothing else. */
  readonly echo?: string | undefined;
  readonly fields: Readonly<Record<string, unknown>>;
  /** The cells, as JSON, of a record that was packed when it was read: see `KnownFields`. It has no `fields` then. */
  readonly packed?: string;
}

/** The id of a record: as it is stored and, if that is another form, as it was sent. */
export function idOfRecord(sent: string): Pick<CallRecord, 'crmId' | 'sentId'> {
  const crmId = storedCrmId(sent);
  return crmId === sent ? { crmId } : { crmId, sentId: sent };
}

/** A caller's Idempotency-Key, or its equivalent, with the digest of the call. */
export interface Idempotency {
  readonly key: string;
  /** HubSpot's custom actions repeat a call under its callbackId. */
  readonly name: 'Idempotency-Key' | 'callbackId';
  /** SHA-256 of route and body, hex. */
  readonly bodyHash: string;
}

/** A sentence about the request, for the member `notices` of its reply. */
export interface Notice {
  readonly text: string;
  /** Without use if the model has a field of this name. */
  readonly unlessField?: string;
}

export const inputReports = ['summary', 'records'] as const;
export type InputReport = (typeof inputReports)[number];

/** A scoring call of any endpoint, after its key, rate and body were checked. */
export interface ScoringCall {
  /** Made by the gateway, ordered by time. Id of the reservation, the ledger row and the predictions. */
  readonly id: string;
  /** The caller's X-Request-Id, for logs and the ledger. */
  readonly requestId: string;
  readonly apiKey: ApiKey;
  readonly bucket: UsageBucket;
  readonly modelId: string;
  readonly records: readonly CallRecord[];
  /** Name of a record in messages: `records[17]`, or `record` in an endpoint for one record. */
  readonly nameOfRecord: (index: number) => string;
  readonly explain: boolean;
  /** Report on how the fields were read: summed up, or of each record as well. */
  readonly inputReport?: InputReport;
  readonly notices?: readonly Notice[];
  readonly lane: Lane;
  /** Whether records that cannot be scored are refused one by one. Without it, one such record refuses the call. */
  readonly tolerant?: boolean;
  /** Whether the leads are not looked up: no record gets stored fields or a previous score. */
  readonly withoutLookups?: boolean;
  /** Set when its records are stored leads that are scored again. */
  readonly source?: 'stored' | undefined;
  readonly idempotency: Idempotency | undefined;
  /** Time of the request by the service's clock, ms. Ages count to it, and predictions carry it. */
  readonly atMs: number;
  readonly deadline: Deadline;
  /** Whether the caller has closed the connection. */
  readonly hasHungUp: () => boolean;
}

/** The model version that scores a call. */
export interface AdmittedModel {
  readonly id: string;
  readonly version: string;
  readonly knownFields: KnownFields;
}

/** The deadline of a call's answer, by this process's monotonic clock and by Redis's clock. */
export interface Deadline {
  /** On the clock of `performance.now()`. */
  readonly monotonicMs: number;
  /** Unix ms by Redis's clock. */
  readonly redisMs: number;
  /** When the body had arrived, or a little earlier. Unix ms by Redis's clock. */
  readonly arrivedRedisMs: number;
}

/** Milliseconds until a deadline; at least 1, so that it is a valid timeout. */
export const msUntil = (deadline: Pick<Deadline, 'monotonicMs'>): number =>
  Math.max(1, Math.floor(deadline.monotonicMs - performance.now()));

/** Each step of a call ends at the deadline. The fence after it answers when a step does not. */
const fenceMs = 250;
const timerSlackMs = 5; // timers may fire a little early

/** Milliseconds until the fence; at least 1, because Node warns of a timer in the past. */
export const msUntilFence = (deadline: Deadline): number =>
  Math.max(1, deadline.monotonicMs + fenceMs - performance.now());

/** Whether the fence has answered a call, or is about to. */
export const isPastFence = (deadline: Deadline): boolean => msUntilFence(deadline) <= timerSlackMs;

/**
 * Rejects at the deadline plus 250 ms. A story that still runs checks `isPastFence` at its end and voids the call if it
 * was recorded.
 * @throws ApiError internalError at the fence; what `story` throws before
 */
export function answerInTime<Reply>(call: ScoringCall, story: () => Promise<Reply>): Promise<Reply> {
  return withTimeout(msUntilFence(call.deadline), story(), unanswered);
}

const unanswered = (): ApiError =>
  new ApiError('internalError', 'The call could not be answered in time.', { retryAfterSeconds: 1 });
