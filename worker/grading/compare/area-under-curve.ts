import { influenceIndex, type Statistic } from './paired-estimates.js';
import { type LikelihoodCounts, likelihoodValues } from './paired-leads.js';

/**
 * The area under the ROC curve: the probability that a converted lead has a higher likelihood than another lead, where
 * ties count half. With m conversions, n other leads and ψ(x, y) = 1, ½ or 0 for x >, = or < y:
 * - V₁₀(i) = Σⱼψ(xᵢ, yⱼ)/n of a converted lead, V₀₁(j) = Σᵢψ(xᵢ, yⱼ)/m of another one
 * - A = ΣV₁₀(i)/m, Var = S₁₀/m + S₀₁/n, where S are the sample variances of V₁₀ and V₀₁
 *
 * Source: E. R. DeLong, D. M. DeLong and D. L. Clarke-Pearson, "Comparing the areas under two or more correlated
 * receiver operating characteristic curves", Biometrics 44 (1988) 837-845. The influences below are their components,
 * scaled so that their squares add up to Var. The differences of two versions then add up to the variance of theirs.
 * @param counts at least two conversions and two other leads
 */
export function areaUnderCurve({ leads, conversions, leadsAt, conversionsAt }: LikelihoodCounts): Statistic {
  const others = leads - conversions;
  const winsOver = new Float64Array(likelihoodValues);
  const losesTo = new Float64Array(likelihoodValues);
  let [othersBelow, conversionsUpTo, area] = [0, 0, 0];
  for (let likelihood = 0; likelihood < likelihoodValues; likelihood += 1) {
    const converted = conversionsAt[likelihood] ?? 0;
    const other = (leadsAt[likelihood] ?? 0) - converted;
    conversionsUpTo += converted;
    const wins = (othersBelow + other / 2) / others;
    winsOver[likelihood] = wins;
    losesTo[likelihood] = (conversions - conversionsUpTo + converted / 2) / conversions;
    othersBelow += other;
    area += (converted * wins) / conversions;
  }
  const influence = new Float64Array(2 * likelihoodValues);
  const ofConversion = 1 / Math.sqrt(conversions * (conversions - 1));
  const ofOther = 1 / Math.sqrt(others * (others - 1));
  for (let likelihood = 0; likelihood < likelihoodValues; likelihood += 1) {
    influence[influenceIndex(likelihood, 1)] = ofConversion * ((winsOver[likelihood] ?? 0) - area);
    influence[influenceIndex(likelihood, 0)] = ofOther * ((losesTo[likelihood] ?? 0) - area);
  }
  return { value: area, influence };
}
