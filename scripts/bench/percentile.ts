/**
 * The smallest value that at least `percent` of the values do not exceed (nearest rank).
 * @param ascending sorted values, at least one
 * @param percent above 0, at most 100
 * @throws RangeError when there are no values
 */
export function percentile(ascending: readonly number[], percent: number): number {
  const value = ascending[Math.max(0, Math.ceil((percent / 100) * ascending.length) - 1)];
  if (value === undefined) throw new RangeError('no values, no percentile');
  return value;
}

/** Least, middle and greatest of some values; of an even number of them the middle is the mean of the two. */
export interface Spread {
  readonly least: number;
  readonly median: number;
  readonly greatest: number;
}

/**
 * The spread of some values.
 * @param values in any order, at least one
 * @throws RangeError when there are none
 */
export function spreadOf(values: readonly number[]): Spread {
  const ascending = [...values].sort((a, b) => a - b);
  const [least, greatest] = [ascending[0], ascending.at(-1)];
  const upper = ascending[ascending.length >> 1];
  const lower = ascending[(ascending.length - 1) >> 1];
  if (least === undefined || greatest === undefined || upper === undefined || lower === undefined)
    throw new RangeError('no values, no spread');
  return { least, median: (lower + upper) / 2, greatest };
}
