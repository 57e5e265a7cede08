import type { BandCount } from './cochran-armitage.js';
import { katzLowerBound } from './katz-interval.js';

/** How much more often the top band converts than the cohort as a whole. */
export interface Lift {
  /** 1 where the top band is no better than the rest. */
  readonly lift: number;
  /** One-sided 95 % lower bound. */
  readonly lowerBound: number;
}

/**
 * The lift of the top band: RR/(w·RR + 1 − w), with RR the relative risk of the top band to the rest and w the top
 * band's share of the records; its lower bound is that of RR (Katz, on the log scale) put through the same formula.
 * @param top the highest band
 * @param rest all others together
 * @returns lift 0 when nobody converted; all 0 without records
 */
export function topBandLift(top: BandCount, rest: BandCount): Lift {
  if (top.records + rest.records === 0) return { lift: 0, lowerBound: 0 };
  const share = top.records / (top.records + rest.records);
  const rate = (top.conversions + rest.conversions) / (top.records + rest.records);
  // RR/(w·RR + 1 − w) is the top band's rate by the overall rate, which also exists where the rest has no conversion.
  const lift = rate > 0 && top.records > 0 ? top.conversions / top.records / rate : 0;
  return { lift, lowerBound: liftOfRelativeRisk(katzLowerBound(top, rest), share) };
}

/** The lift of a group with share `share` whose relative risk to the rest is `relativeRisk`. */
export const liftOfRelativeRisk = (relativeRisk: number, share: number): number =>
  relativeRisk / (share * relativeRisk + 1 - share);

/** The relative risk that a lift implies; infinite where the group would hold all conversions, or more. */
export const relativeRiskOfLift = (lift: number, share: number): number =>
  share * lift < 1 ? (lift * (1 - share)) / (1 - share * lift) : Number.POSITIVE_INFINITY;
