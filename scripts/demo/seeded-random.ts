/**
 * A stream of random numbers that is the same on every machine for the same seed.
 * Uniform numbers: xoshiro128** 1.1 (Blackman and Vigna, 2018), its 128 bits of state filled from the seed by
 * SplitMix32, so that neighbouring seeds give unrelated streams. Not for secrets.
 */
export interface SeededRandom {
  /** Uniform in [0, 1), a multiple of 2^-32. */
  uniform(): number;
  /** True with the given probability, 0 to 1. */
  chance(probability: number): boolean;
  /** A whole number from `low` to `high`, both included. */
  integer(low: number, high: number): number;
  /** Normal with mean 0 and standard deviation 1 (Box-Muller; two uniforms a draw). */
  normal(): number;
  /** Exponential with the given mean. */
  exponential(mean: number): number;
  /** A Poisson count with the given mean (Knuth's product method: meant for means below about 50). */
  poisson(mean: number): number;
  /** One element, each as likely as the next. Throws RangeError when the list is empty. */
  pick<T>(list: readonly T[]): T;
  /** One element, each as likely as its `weight`. Throws RangeError when the list is empty. */
  weighted<T extends { readonly weight: number }>(list: readonly T[]): T;
}

/**
 * @param seed any whole number; only its lowest 32 bits count
 * @returns a stream that starts anew: two streams of one seed give the same numbers in the same order
 */
export function seededRandom(seed: number): SeededRandom {
  const nextBits = xoshiro128(seed);
  const uniform = (): number => nextBits() / 2 ** 32;
  const pick = <T>(list: readonly T[]): T => elementAt(list, Math.floor(uniform() * list.length));
  return {
    uniform,
    pick,
    chance: (probability) => uniform() < probability,
    integer: (low, high) => low + Math.floor(uniform() * (high - low + 1)),
    normal: () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform()),
    exponential: (mean) => -mean * Math.log(1 - uniform()),
    poisson: (mean) => poisson(mean, uniform),
    weighted: (list) => weighted(list, uniform()),
  };
}

function xoshiro128(seed: number): () => number {
  const splitMix = splitMix32(seed);
  let s0 = splitMix();
  let s1 = splitMix();
  let s2 = splitMix();
  let s3 = splitMix();
  return () => {
    const result = Math.imul(rotateLeft(Math.imul(s1, 5), 7), 9) >>> 0;
    const shifted = s1 << 9;
    s2 ^= s0;
    s3 ^= s1;
    s1 ^= s2;
    s0 ^= s3;
    s2 ^= shifted;
    s3 = rotateLeft(s3, 11);
    return result;
  };
}

function splitMix32(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let bits = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
    bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
    return (bits ^ (bits >>> 16)) | 0;
  };
}

function rotateLeft(bits: number, places: number): number {
  return (bits << places) | (bits >>> (32 - places));
}

function poisson(mean: number, uniform: () => number): number {
  const floor = Math.exp(-mean);
  let count = 0;
  for (let product = uniform(); product > floor; product *= uniform()) count += 1;
  return count;
}

function weighted<T extends { readonly weight: number }>(list: readonly T[], uniform: number): T {
  let left = uniform * list.reduce((sum, element) => sum + element.weight, 0);
  for (const element of list) {
    left -= element.weight;
    if (left < 0) return element;
  }
  return elementAt(list, list.length - 1);
}

function elementAt<T>(list: readonly T[], index: number): T {
  if (list.length === 0) throw new RangeError('there is nothing to pick from');
  return list[index] as T;
}
