/**
 * Nearest-rank percentile: the smallest value that at least `percent` of the values do not exceed.
 * @param ascending sorted values, at least one
 * @param percent above 0, at most 100
 * @throws RangeError for an empty list
 */
export function percentile(ascending: readonly number[], percent: number): number {
  const value = ascending[Math.max(0, Math.ceil((percent / 100) * ascending.length) - 1)];
  if (value === undefined) throw new RangeError('an empty list has no percentile');
  return value;
}

/** Minimum, median and maximum. The median of an even number of values is the mean of the middle two. */
export interface Spread {
  readonly min: number;
  readonly median: number;
  readonly max: number;
}

/**
 * @param values in any order, at least one
 * @throws RangeError for an empty list
 */
export function spreadOf(values: readonly number[]): Spread {
  const ascending = [...values].sort((a, b) => a - b);
  const [min, max] = [ascending[0], ascending.at(-1)];
  const upper = ascending[ascending.length >> 1];
  const lower = ascending[(ascending.length - 1) >> 1];
  if (min === undefined || max === undefined || upper === undefined || lower === undefined)
    throw new RangeError('an empty list has no spread');
  return { min, median: (lower + upper) / 2, max };
}
