import { normalUpperTail } from './distributions.js';

/** Records of one score band, and how many of them converted. */
export interface BandCount {
  readonly records: number;
  readonly conversions: number;
}

/** Trend of the conversion rates along ordered bands. */
export interface Trend {
  /** Positive if the rate rises from band to band. */
  readonly z: number;
  /** P(Z > z): small if the rise exceeds chance. */
  readonly risingP: number;
  /** P(Z < z): small if a fall exceeds chance. */
  readonly fallingP: number;
}

/**
 * The Cochran-Armitage test for a trend in proportions, with band scores 0, 1, 2, …
 * - T = Σ(i − ī)(xᵢ − nᵢp̄), ī weighted by nᵢ
 * - Var = X(N − X)/(N(N − 1))·Σnᵢ(i − ī)²
 * - z = T/√Var
 *
 * Source: P. Armitage, "Tests for linear trends in proportions and frequencies", Biometrics 11 (1955) 375-386, with the
 * exact permutation variance (N − 1).
 * @param bands from the lowest scores to the highest
 * @returns z = 0 without information: fewer than two bands with records, no conversions, or only conversions
 */
export function cochranArmitage(bands: readonly BandCount[]): Trend {
  const records = sum(bands.map((band) => band.records));
  const conversions = sum(bands.map((band) => band.conversions));
  const meanBand = sum(bands.map((band, index) => index * band.records)) / records;
  const rate = conversions / records;
  const trend = sum(bands.map((band, index) => (index - meanBand) * (band.conversions - band.records * rate)));
  const spread = sum(bands.map((band, index) => band.records * (index - meanBand) ** 2));
  const variance = ((conversions * (records - conversions)) / (records * (records - 1))) * spread;
  const z = variance > 0 ? trend / Math.sqrt(variance) : 0;
  return { z, risingP: normalUpperTail(z), fallingP: normalUpperTail(-z) };
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
