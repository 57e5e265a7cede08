import type { BandCount } from './cochran-armitage.js';
import { oneSided5, twoSided95 } from './distributions.js';

/** Bounds of an interval. */
export interface Interval {
  readonly low: number;
  readonly high: number;
}

/**
 * The two-sided 95 % interval of a rate by Wilson's score method, without continuity correction. Source: E. B. Wilson,
 * "Probable inference, the law of succession, and statistical inference", JASA 22 (1927) 209-212.
 * @param conversions 0 to `records`
 * @param records 0 gives the whole range, 0 to 1
 */
export function wilsonInterval(conversions: number, records: number): Interval {
  if (records === 0) return { low: 0, high: 1 };
  const zz = twoSided95 ** 2;
  const rate = conversions / records;
  const centre = rate + zz / (2 * records);
  const half = twoSided95 * Math.sqrt((rate * (1 - rate)) / records + zz / (4 * records ** 2));
  const width = 1 + zz / records;
  // The exact bounds at the ends are 0 and 1; the formula would give them with rounding errors.
  return {
    low: conversions === 0 ? 0 : (centre - half) / width,
    high: conversions === records ? 1 : (centre + half) / width,
  };
}

/**
 * The one-sided 95 % lower bound of the relative risk of two groups, on the log scale. Each of the four cells gets ½,
 * so that empty cells are allowed.
 *
 * Sources: D. Katz et al., "Obtaining confidence intervals for the risk ratio in cohort studies", Biometrics 34 (1978)
 * 469-474; the ½ per cell: J. B. S. Haldane (1956) and F. J. Anscombe (1956).
 * @param group numerator of the relative risk
 * @param rest denominator of the relative risk
 */
export function katzLowerBound(group: BandCount, rest: BandCount): number {
  const [inGroup, inRest] = [withHalves(group), withHalves(rest)];
  const ratio = inGroup.conversions / inGroup.records / (inRest.conversions / inRest.records);
  const variance = 1 / inGroup.conversions - 1 / inGroup.records + 1 / inRest.conversions - 1 / inRest.records;
  return ratio * Math.exp(-oneSided5 * Math.sqrt(variance));
}

/** Adds ½ conversion and ½ non-conversion. */
const withHalves = ({ records, conversions }: BandCount): BandCount => ({
  records: records + 1,
  conversions: conversions + 0.5,
});
