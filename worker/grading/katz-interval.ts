import type { BandCount } from './cochran-armitage.js';
import { oneSided5 } from './normal-distribution.js';

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
