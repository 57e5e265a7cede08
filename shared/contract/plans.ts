import type { UsageBucket } from '../redis/keys.js';

export const planNames = ['free', 'trial', 'pro', 'enterprise'] as const;
export type PlanName = (typeof planNames)[number];

/** What plans go by of an organisation. */
interface Subscriber {
  readonly plan: PlanName;
  readonly limit?: number;
  readonly trial_ends_at?: Date;
}

/** Records a month that a test key may score; a hard cap. */
export const testBucketRecords = 1000;

/** Days that a trial lasts unless told otherwise. */
export const trialDays = 14;

/** Records a month that each plan includes for live keys. */
const includedRecords: Readonly<Record<PlanName, number>> = {
  free: 0,
  trial: 10_000,
  pro: 10_000,
  enterprise: 30_000,
};

/** What one bucket of an organisation may use in a month, in records. */
export interface Allowance {
  /** Included records. */
  readonly limit: number;
  /** Usage never passes this. */
  readonly hardStop: number;
  /** What `usage.backstop` says: null for test keys. */
  readonly backstop: number | null;
}

/** The allowance of an organisation's bucket: the grace band of a paid live key ends at twice its limit. */
export function allowanceOf(organisation: Subscriber, bucket: UsageBucket): Allowance {
  if (bucket === 'test') return { limit: testBucketRecords, hardStop: testBucketRecords, backstop: null };
  const limit = organisation.plan === 'free' ? 0 : (organisation.limit ?? includedRecords[organisation.plan]);
  return { limit, hardStop: 2 * limit, backstop: 2 * limit };
}

/** Whether live keys may score at all on the organisation's plan. */
export const hasLiveApi = (organisation: Subscriber): boolean => organisation.plan !== 'free';

/** Whether a trial has ended without a paid plan: scoring stops, reading goes on. */
export const isReadOnly = (organisation: Subscriber, nowMs: number): boolean =>
  organisation.plan === 'trial' &&
  organisation.trial_ends_at !== undefined &&
  organisation.trial_ends_at.getTime() <= nowMs;

/** V1Usage: what a caller reads of a month's usage. */
export interface UsageReport {
  readonly current: number;
  readonly limit: number;
  readonly remaining: number;
  readonly in_grace: boolean;
  readonly backstop: number | null;
}

/** The usage that a caller reads, from records used so far. */
export const usageReport = (used: number, { limit, backstop }: Allowance): UsageReport => ({
  current: used,
  limit,
  remaining: limit - used,
  in_grace: backstop !== null && used > limit,
  backstop,
});
