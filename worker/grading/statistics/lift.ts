import type { BandCount } from './cochran-armitage.js';
import { katzLowerBound } from './intervals.js';

/** Conversion rate of the top band divided by the rate of the whole cohort. */
export interface Lift {
  /** 1 if the top band is no better than the rest. */
  readonly lift: number;
  /** One-sided 95 % lower bound. */
  readonly lowerBound: number;
}

/**
 * The lift of the top band: RR/(w·RR + 1 − w). RR is the relative risk of the top band to the rest, w the top band's
 * share of the records. The lower bound applies the same formula to the lower bound of RR (Katz, on the log scale).
 * @param top the highest band
 * @param rest all other bands together
 * @returns lift 0 without conversions; all 0 without records
 */
export function topBandLift(top: BandCount, rest: BandCount): Lift {
  if (top.records + rest.records === 0) return { lift: 0, lowerBound: 0 };
  const share = top.records / (top.records + rest.records);
  const rate = (top.conversions + rest.conversions) / (top.records + rest.records);
  // RR/(w·RR + 1 − w) equals the top band's rate divided by the overall rate, also without conversions in the
  // rest.
  const lift = rate > 0 && top.records > 0 ? top.conversions / top.records / rate : 0;
  return { lift, lowerBound: liftOfRelativeRisk(katzLowerBound(top, rest), share) };
}

/** The lift of a group from its share and its relative risk to the rest. */
export const liftOfRelativeRisk = (relativeRisk: number, share: number): number =>
  relativeRisk / (share * relativeRisk + 1 - share);

/** The relative risk that a lift implies; infinite if the group would need all conversions or more. */
export const relativeRiskOfLift = (lift: number, share: number): number =>
  share * lift < 1 ? (lift * (1 - share)) / (1 - share * lift) : Number.POSITIVE_INFINITY;

/** z of a one-sided 5 % test, and of 80 % power. */
const zTest = 1.645;
const zPower = 0.842;
const minRequired = 30;
const maxRequired = 100;

/** The expected lift of a model whose bundle declares none. */
export const defaultLift = 2;

/**
 * The conversions E that must be observed before a model is judged. A model with the expected lift then passes the lift
 * gate in about four of five cases. E = clamp(⌈(1.645 + 0.842)²(1/a + 1/b)/ln²RR⌉, 30, 100), where
 * - a = w·L₀, the expected share of conversions in the top band,
 * - b = 1 − a,
 * - RR is the relative risk that L₀ implies.
 *
 * Source: the variance 1/x₁ + 1/x₂ of a log relative risk of rare events (Katz 1978). It enters the usual sample size
 * formula for a one-sided 5 % test with 80 % power.
 * @param topShare w, the share of the cohort's records in the top band, 0 to 1
 * @param expectedLift L₀, the lift of the top band on the bundle's holdout
 * @returns 30 to 100; 100 if the arguments contradict each other (w·L₀ ≥ 1) or no lift is expected (L₀ ≤ 1)
 */
export function requiredConversions(topShare: number, expectedLift: number): number {
  const inTop = topShare * expectedLift;
  if (inTop <= 0 || inTop >= 1 || expectedLift <= 1) return maxRequired;
  const logRisk = Math.log(relativeRiskOfLift(expectedLift, topShare));
  const needed = ((zTest + zPower) ** 2 * (1 / inTop + 1 / (1 - inTop))) / logRisk ** 2;
  return Math.min(maxRequired, Math.max(minRequired, Math.ceil(needed)));
}
