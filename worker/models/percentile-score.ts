const hundredths = 100;

/** Equal raw probabilities differ this much at most: the last bits depend on the batch size and the machine. */
const tolerance = 1e-6;

/**
 * Compiles the fit score of a raw probability: 100 times its interpolated mid-rank among a model's quantiles, half up.
 * The position is linear between two quantiles, and the middle of those within 1e-6 of the raw probability. It is 0
 * below the first quantile and 100 above the last. The position stays in float64: dividing by 100 and multiplying again
 * would push halves to either side. Source: docs/models.md, "From raw to what a caller reads".
 * @param quantiles 101 ascending raw probabilities, percentiles 0 to 100
 * @returns a function from a raw probability to an integer 0..100, NaN for NaN
 * @throws RangeError when there are not 101 quantiles
 */
export function compilePercentileScore(quantiles: readonly number[]): (raw: number) => number {
  if (quantiles.length !== hundredths + 1) throw new RangeError(`expected 101 quantiles, got ${quantiles.length}`);
  const ascending = Float64Array.from(quantiles);
  return (raw) => Math.floor(position(ascending, raw) + 0.5);
}

function position(ascending: Float64Array, raw: number): number {
  if (Number.isNaN(raw)) return Number.NaN;
  const below = countWhere(ascending, (quantile) => quantile < raw - tolerance);
  if (below > hundredths) return hundredths;
  const upTo = countWhere(ascending, (quantile) => quantile <= raw + tolerance);
  if (upTo === 0) return 0;
  if (upTo > below) return (below + upTo - 1) / 2;
  const lower = ascending[below - 1] ?? 0;
  const upper = ascending[below] ?? 1;
  return below - 1 + (raw - lower) / (upper - lower);
}

/** Counts the leading values for which `holds` is true; binary search. */
function countWhere(ascending: Float64Array, holds: (value: number) => boolean): number {
  let low = 0;
  let high = ascending.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(ascending[middle] ?? Number.NaN)) low = middle + 1;
    else high = middle;
  }
  return low;
}
