/** z of a one-sided test at 5 %. */
export const oneSided5 = 1.6448536269514722;
/** z of a two-sided interval of 95 %. */
export const twoSided95 = 1.959963984540054;

const rootTwoPi = Math.sqrt(2 * Math.PI);
/** Above this z the continued fraction is faster and more accurate than the series. */
const seriesUpTo = 3;

/**
 * P(Z > z) of a standard normal Z. The relative accuracy is about 14 digits, also far out in the upper tail. Source:
 * Abramowitz and Stegun, Handbook of Mathematical Functions, 26.2.11 (series around the centre) and 26.2.14 (continued
 * fraction of Mills' ratio).
 * @param z any number; NaN gives NaN
 */
export function normalUpperTail(z: number): number {
  if (Number.isNaN(z)) return Number.NaN;
  if (z < 0) return 1 - normalUpperTail(-z);
  if (z > 40) return 0;
  return z < seriesUpTo ? 0.5 - centralArea(z) : density(z) * millsRatio(z);
}

const density = (z: number): number => Math.exp((-z * z) / 2) / rootTwoPi;

/** P(0 < Z < z). */
function centralArea(z: number): number {
  let term = z;
  let sum = z;
  for (let odd = 3; term > sum * Number.EPSILON; odd += 2) {
    term *= (z * z) / odd;
    sum += term;
  }
  return density(z) * sum;
}

/** Upper tail divided by density: 1/(z + 1/(z + 2/(z + 3/(z + …)))), evaluated from the inside out. */
function millsRatio(z: number): number {
  const depth = 200;
  let fraction = z;
  for (let level = depth; level > 0; level -= 1) fraction = z + level / fraction;
  return 1 / fraction;
}

/**
 * P(X ≤ count) of a Poisson X: how likely so few events are, given the mean. The sum starts at the largest term, so no
 * term overflows or underflows. Source: the probability function e^−λ·λᵏ/k! (S. D. Poisson, 1837).
 * @param count whole number, 0 or more
 * @param mean above 0
 */
export function poissonLowerTail(count: number, mean: number): number {
  const top = Math.min(count, Math.floor(mean));
  const largest = probability(top, mean);
  let sum = largest;
  for (let k = top, term = largest; k > 0 && term > 0; k -= 1) {
    term *= k / mean;
    sum += term;
  }
  for (let k = top + 1, term = largest; k <= count && term > sum * Number.EPSILON; k += 1) {
    term *= mean / k;
    sum += term;
  }
  return Math.min(1, sum);
}

/** e^−λ·λᵏ/k!. Large k use Stirling's series, in the form whose large parts cancel before rounding. */
function probability(k: number, mean: number): number {
  if (k < 16) {
    let product = Math.exp(-mean);
    for (let factor = 1; factor <= k; factor += 1) product *= mean / factor;
    return product;
  }
  const excess = (mean - k) / k;
  const stirling = 1 / (12 * k) - 1 / (360 * k ** 3) + 1 / (1260 * k ** 5);
  return Math.exp(k * (Math.log1p(excess) - excess) - stirling) / Math.sqrt(2 * Math.PI * k);
}
