import type { BandCount } from './cochran-armitage.js';
import { oneSided5, twoSided95 } from './distributions.js';

/** Bounds of an interval. */
export interface Interval {
  readonly low: number;
  readonly high: number;
}

/**
 * The two-sided 95 % interval of a rate, by Wilson's score method, without continuity correction.
 * Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927) 209-212.
 * @param conversions 0 to `records`
 * @param records how many there are; 0 gives the whole range, 0 to 1
 */
export function wilsonInterval(conversions: number, records: number): Interval {
  if (records === 0) return { low: 0, high: 1 };
  const zz = twoSided95 ** 2;
  const rate = conversions / records;
  const centre = rate + zz / (2 * records);
  const half = twoSided95 * Math.sqrt((rate * (1 - rate)) / records + zz / (4 * records ** 2));
  const width = 1 + zz / records;
  // At the ends the method gives exactly 0 and 1; rounding does not.
  return {
    low: conversions === 0 ? 0 : (centre - half) / width,
    high: conversions === records ? 1 : (centre + half) / width,
  };
}

/**
 * The one-sided 95 % lower bound of the relative risk of two groups, on the log scale, with ½ added to each of the four
 * cells so that empty cells do no harm.
 * Sources: D. Katz et al., "Obtaining confidence intervals for the risk ratio in cohort studies", Biometrics 34 (1978)
 * 469-474; the ½ in each cell after J. B. S. Haldane (1956) and F. J. Anscombe (1956).
 * @param group whose risk is compared
 * @param rest what it is compared with
 */
export function katzLowerBound(group: BandCount, rest: BandCount): number {
  const [inGroup, inRest] = [withHalves(group), withHalves(rest)];
  const ratio = inGroup.conversions / inGroup.records / (inRest.conversions / inRest.records);
  const variance =
    1 / inGroup.conversions - 1 / inGroup.records + 1 / inRest.conversions - 1 / inRest.records;
  return ratio * Math.exp(-oneSided5 * Math.sqrt(variance));
}

/** ½ more conversions and ½ more records that did not convert. */
const withHalves = ({ records, conversions }: BandCount): BandCount => ({
  records: records + 1,
  conversions: conversions + 0.5,
});
