/**
 * A stream of random numbers that is the same on every machine for the same seed. Not for secrets. Uniform numbers come
 * from xoshiro128** 1.1 (Blackman and Vigna, 2018). SplitMix32 fills its 128 bits of state from the seed, so that
 * neighbouring seeds give unrelated streams.
 */
export interface SeededRandom {
  /** Uniform in [0, 1), a multiple of 2^-32. */
  uniform(): number;
  /** True with this probability, 0 to 1. */
  chance(probability: number): boolean;
  /** A whole number from `low` to `high`, both included. */
  integer(low: number, high: number): number;
  /** Normal with mean 0 and standard deviation 1 (Box-Muller; two uniforms a draw). */
  normal(): number;
  exponential(mean: number): number;
  /** A Poisson count (Knuth's product method, for means below about 50). */
  poisson(mean: number): number;
  /** One element, all equally likely. Throws RangeError when the list is empty. */
  pick<T>(list: readonly T[]): T;
  /** One element, in proportion to its `weight`. Throws RangeError when the list is empty. */
  weighted<T extends { readonly weight: number }>(list: readonly T[]): T;
}

/** @param seed any whole number; only its lowest 32 bits count */
export function seededRandom(seed: number): SeededRandom {
  const nextBits = xoshiro128(seed);
  const uniform = (): number => nextBits() / 2 ** 32;
  return {
    uniform,
    chance: (probability) => uniform() < probability,
    integer: (low, high) => low + Math.floor(uniform() * (high - low + 1)),
    normal: () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform()),
    exponential: (mean) => -mean * Math.log(1 - uniform()),
    poisson: (mean) => {
      const floor = Math.exp(-mean);
      let count = 0;
      for (let product = uniform(); product > floor; product *= uniform()) count += 1;
      return count;
    },
    pick: (list) => elementAt(list, Math.floor(uniform() * list.length)),
    weighted: (list) => {
      let left = uniform() * list.reduce((sum, { weight }) => sum + weight, 0);
      const index = list.findIndex(({ weight }) => {
        left -= weight;
        return left < 0;
      });
      return elementAt(list, index === -1 ? list.length - 1 : index); // -1: rounding left a rest
    },
  };
}

function xoshiro128(seed: number): () => number {
  const splitMix = splitMix32(seed);
  let [s0, s1, s2, s3] = [splitMix(), splitMix(), splitMix(), splitMix()];
  const rotateLeft = (bits: number, by: number): number => (bits << by) | (bits >>> (32 - by));
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

function elementAt<T>(list: readonly T[], index: number): T {
  if (list.length === 0) throw new RangeError('cannot pick from an empty list');
  return list[index] as T;
}
