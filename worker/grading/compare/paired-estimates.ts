import type { PairedColumns } from './paired-leads.js';

/** A statistic of leads by one version, as a sum of their influences. */
export interface Statistic {
  readonly value: number;
  /**
   * The influence of a lead, at the index 2 × its likelihood + 1 if it converted. The sum of their squares over all
   * leads is the variance of the value.
   */
  readonly influence: Float64Array;
}

/** A value with its standard error. */
export interface Estimate {
  readonly value: number;
  readonly error: number;
}

/** One statistic by two versions over the same leads, and the second minus the first. */
export interface PairedEstimates {
  readonly base: Estimate;
  readonly candidate: Estimate;
  readonly difference: Estimate;
}

/** The index of a lead's influence. */
export const influenceIndex = (likelihood: number, converted: number): number => 2 * likelihood + converted;

/**
 * Compares a statistic by two versions over the same leads. The variance of the difference is Σ(cᵢ − bᵢ)², where c and
 * b are the influences of a lead by the candidate and by the base. Leads that both versions treat alike add nothing.
 * Source: F. R. Hampel, "The influence curve and its role in robust estimation", JASA 69 (1974) 383-393.
 * @returns exactly 0 for the difference of a version with itself, with an error of 0
 */
export function pairedEstimates(base: Statistic, candidate: Statistic, leads: PairedColumns): PairedEstimates {
  let [ofBase, ofCandidate, ofDifference] = [0, 0, 0];
  for (let lead = 0; lead < leads.converted.length; lead += 1) {
    const converted = leads.converted[lead] ?? 0;
    const before = base.influence[influenceIndex(leads.base[lead] ?? 0, converted)] ?? 0;
    const after = candidate.influence[influenceIndex(leads.candidate[lead] ?? 0, converted)] ?? 0;
    ofBase += before * before;
    ofCandidate += after * after;
    ofDifference += (after - before) * (after - before);
  }
  return {
    base: { value: base.value, error: Math.sqrt(ofBase) },
    candidate: { value: candidate.value, error: Math.sqrt(ofCandidate) },
    difference: { value: candidate.value - base.value, error: Math.sqrt(ofDifference) },
  };
}
