import type { BandCount } from './cochran-armitage.js';
import { katzLowerBound } from './intervals.js';

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

/** z of a one-sided 5 % test and of 80 % power. */
const zTest = 1.645;
const zPower = 0.842;
const fewest = 30;
const most = 100;

/** The lift that a model is expected to have when its bundle does not say. */
export const defaultLift = 2;

/**
 * E: the conversions that have to be seen before a model can be judged, so that one with the expected lift passes the
 * lift gate in about four of five cases: clamp(⌈(1.645 + 0.842)²(1/a + 1/b)/ln²RR⌉, 30, 100), a = w·L₀ the expected
 * share of conversions in the top band, b = 1 − a, RR the relative risk that L₀ implies.
 * Source: the variance of a log relative risk of rare events, 1/x₁ + 1/x₂ (Katz 1978), in the usual formula of sample
 * size for 5 % one-sided and 80 % power.
 * @param topShare w, the share of the cohort's records in the top band, 0 to 1
 * @param expectedLift L₀, the lift of the top band on the bundle's holdout
 * @returns 30 to 100; 100 where the two contradict each other (w·L₀ ≥ 1) or no lift is expected (L₀ ≤ 1)
 */
export function requiredConversions(topShare: number, expectedLift: number): number {
  const inTop = topShare * expectedLift;
  if (inTop <= 0 || inTop >= 1 || expectedLift <= 1) return most;
  const logRisk = Math.log(relativeRiskOfLift(expectedLift, topShare));
  const needed = ((zTest + zPower) ** 2 * (1 / inTop + 1 / (1 - inTop))) / logRisk ** 2;
  return Math.min(most, Math.max(fewest, Math.ceil(needed)));
}
