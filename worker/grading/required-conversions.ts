import { relativeRiskOfLift } from './band-lift.js';

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
