import { influenceIndex, type Statistic } from './paired-estimates.js';
import { type LikelihoodCounts, likelihoodValues } from './paired-leads.js';

const topShare = 1 / 5;
/** The places of the top fifth. A division, because 0.2 × 35 is above 7. */
const placesOf = (leads: number): number => leads / 5;
/** The conversion rate at the threshold is that of the leads nearest to it: a twentieth of all. */
const nearShare = 1 / 20;

/**
 * The lift of the top fifth by likelihood: its conversion rate divided by that of all leads. Leads that share the
 * likelihood t at its end share the places left. Each has the weight s, so that the weights w add up to n/5.
 * - L = Σwᵢyᵢ/(q·Σyᵢ), q = 1/5, y = 1 for a conversion
 * - influence of a lead: (w(y − m) + q·m − L·q·y)/(q·ȳ)
 *
 * m is the conversion rate at t. Its terms are those of the threshold, which another sample of leads would move: the
 * derivative of E[y·1(likelihood > t)] along the constraint P(likelihood > t) = q. Source: the influence function of a
 * functional with an estimated quantile, as in A. W. van der Vaart, "Asymptotic Statistics" (1998), 20.2 and 21.2.
 * @param counts at least two leads and one conversion
 */
export function topFifthLift(counts: LikelihoodCounts): Statistic {
  const { leads, conversions, conversionsAt } = counts;
  const { threshold, share } = thresholdOf(counts);
  let inTop = share * (conversionsAt[threshold] ?? 0);
  for (let likelihood = threshold + 1; likelihood < likelihoodValues; likelihood += 1)
    inTop += conversionsAt[likelihood] ?? 0;
  const lift = inTop / placesOf(conversions);
  const near = rateNear(threshold, counts);
  const scale = (topShare * conversions) / leads;
  const perLead = 1 / Math.sqrt(leads * (leads - 1));
  const influence = new Float64Array(2 * likelihoodValues);
  for (let likelihood = 0; likelihood < likelihoodValues; likelihood += 1) {
    const weight = likelihood > threshold ? 1 : likelihood === threshold ? share : 0;
    for (const converted of [0, 1]) {
      const moved = weight * (converted - near) + topShare * near - lift * topShare * converted;
      influence[influenceIndex(likelihood, converted)] = (perLead * moved) / scale;
    }
  }
  return { value: lift, influence };
}

/** The likelihood at the end of the top fifth, and the weight of its leads. */
function thresholdOf({ leads, leadsAt }: LikelihoodCounts): { readonly threshold: number; readonly share: number } {
  let left = placesOf(leads);
  for (let threshold = likelihoodValues - 1; ; threshold -= 1) {
    const tied = leadsAt[threshold] ?? 0;
    if (tied >= left) return { threshold, share: left / tied };
    left -= tied;
  }
}

/** The conversion rate of the leads whose likelihood is nearest to a threshold: those at it, and as many as needed. */
function rateNear(threshold: number, { leads, leadsAt, conversionsAt }: LikelihoodCounts): number {
  let found = leadsAt[threshold] ?? 0;
  let converted = conversionsAt[threshold] ?? 0;
  for (let distance = 1; found < nearShare * leads; distance += 1) {
    for (const likelihood of [threshold - distance, threshold + distance]) {
      found += leadsAt[likelihood] ?? 0;
      converted += conversionsAt[likelihood] ?? 0;
    }
  }
  return converted / found;
}
