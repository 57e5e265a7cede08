import { twoSided95 } from './normal-distribution.js';

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
