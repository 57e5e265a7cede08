/**
 * P(X ≤ count) of a Poisson X with a mean: how likely so few events are when so many are expected.
 * Summed from the largest term outwards, so that nothing can overflow or vanish.
 * Source: the probability function e^−λ·λᵏ/k! (S. D. Poisson, 1837).
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

/** e^−λ·λᵏ/k!. For large k with Stirling's series, in the form in which its large parts cancel before they are rounded. */
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
