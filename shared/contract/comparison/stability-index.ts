/**
 * The population stability index of two distributions of scores: Σ(p − q)·ln(p/q) over the bands. Each band gets half a
 * score more, because the logarithm of an empty band would be infinite. Source: the divergence J of S. Kullback,
 * "Information Theory and Statistics" (1959).
 * @param one counts of the bands
 * @param other counts of the same bands
 * @returns 0 for equal counts
 */
export function stabilityIndex(one: readonly number[], other: readonly number[]): number {
  const shares = (counts: readonly number[]): number[] => {
    const total = counts.reduce((sum, count) => sum + count + 0.5, 0);
    return counts.map((count) => (count + 0.5) / total);
  };
  const [first, second] = [shares(one), shares(other)];
  return first.reduce((index, share, band) => {
    const otherShare = second[band] ?? share;
    return index + (share - otherShare) * Math.log(share / otherShare);
  }, 0);
}

/** χ² with four degrees of freedom (five bands) exceeds this with a probability of 1 %. */
const chiSquare99 = 13.276704135987622;

/**
 * The index that chance alone exceeds in 1 % of cases: 13.28·(1/n + 1/m) of two samples from one distribution. Source:
 * B. Yurdakul, "Statistical properties of population stability index" (2018): PSI/(1/n + 1/m) tends to χ² with one
 * degree of freedom fewer than there are bands. Two scores of the same leads move less.
 * @param n scores of one sample, above 0
 * @param m scores of the other, above 0
 */
export const stabilityByChance = (n: number, m: number): number => chiSquare99 * (1 / n + 1 / m);
