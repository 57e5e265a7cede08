import type { UsageBucket } from '../redis/keys.js';

export const planNames = ['free', 'trial', 'pro', 'enterprise'] as const;
export type PlanName = (typeof planNames)[number];

/** The part of an organisation that its plan depends on. */
interface Subscriber {
  readonly plan: PlanName;
  readonly limit?: number;
  readonly trial_ends_at?: Date;
}

/** Records a month that test keys may score; a hard cap. */
export const testBucketRecords = 1000;

/** Default length of a trial, days. */
export const trialDays = 14;

/** Records a month that a plan includes for live keys. */
const includedRecords: Readonly<Record<PlanName, number>> = {
  free: 0,
  trial: 10_000,
  pro: 10_000,
  enterprise: 30_000,
};

/** The monthly allowance of one bucket of an organisation, in records. */
export interface Allowance {
  readonly limit: number;
  /** Usage never exceeds this. */
  readonly hardStop: number;
  /** `usage.backstop` of the reply; null for test keys. */
  readonly backstop: number | null;
}

/** The allowance of an organisation's bucket. The grace band of live keys ends at twice the limit. */
export function allowanceOf(organisation: Subscriber, bucket: UsageBucket): Allowance {
  if (bucket === 'test') return { limit: testBucketRecords, hardStop: testBucketRecords, backstop: null };
  const limit = organisation.plan === 'free' ? 0 : (organisation.limit ?? includedRecords[organisation.plan]);
  return { limit, hardStop: 2 * limit, backstop: 2 * limit };
}

/** Leads whose outcomes every organisation may report over HTTP. */
const minOutcomes = 10_000;
/** Leads with an outcome for each record of the monthly limit. Most leads are scored more than once. */
const outcomesPerRecord = 5;

/**
 * Leads whose outcomes an organisation may report over HTTP. It is five times the monthly limit for each month of 30
 * days that predictions are kept. A trial counts as one month.
 * @param retentionDays days for which predictions are kept
 */
export function outcomeLimitOf(organisation: Subscriber, retentionDays: number): number {
  const months = organisation.plan === 'trial' ? 1 : Math.ceil(retentionDays / 30);
  return Math.max(minOutcomes, outcomesPerRecord * allowanceOf(organisation, 'live').limit * months);
}

/** Whether the organisation's plan lets live keys score. */
export const hasLiveApi = (organisation: Subscriber): boolean => organisation.plan !== 'free';

/** Whether a trial has ended without a paid plan. Live keys may then only read. */
export const isReadOnly = (organisation: Subscriber, nowMs: number): boolean =>
  organisation.plan === 'trial' &&
  organisation.trial_ends_at !== undefined &&
  organisation.trial_ends_at.getTime() <= nowMs;

/** V1Usage: the usage of a month in a reply. */
export interface UsageReport {
  readonly current: number;
  readonly limit: number;
  readonly remaining: number;
  readonly in_grace: boolean;
  readonly backstop: number | null;
}

/** The records at which a job stops. */
export const stopOf = ({ limit, backstop }: UsageReport, stopAt: 'limit' | 'backstop'): number =>
  stopAt === 'limit' ? limit : (backstop ?? limit);

/** V1Usage from the records used so far. */
export const usageReport = (used: number, { limit, backstop }: Allowance): UsageReport => ({
  current: used,
  limit,
  remaining: limit - used,
  in_grace: backstop !== null && used > limit,
  backstop,
});
