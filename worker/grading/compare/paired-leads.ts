/** Likelihoods are whole ten-thousandths from 0 to 10,000. */
export const likelihoodValues = 10_001;

/** The likelihoods of the same leads by two versions, in ten-thousandths, and whether each lead converted: 0 or 1. */
export interface PairedColumns {
  readonly base: Uint16Array;
  readonly candidate: Uint16Array;
  readonly converted: Uint8Array;
}

const firstLength = 1_024;

/** Collects leads. Two million take ten megabytes. */
export class PairedLeads {
  private count = 0;
  private stored: PairedColumns = columnsOf(firstLength);

  /** @param base likelihood by the current version, in ten-thousandths; `candidate` by the candidate */
  add(base: number, candidate: number, converted: boolean): void {
    if (this.count === this.stored.base.length) {
      const larger = columnsOf(2 * this.count);
      larger.base.set(this.stored.base);
      larger.candidate.set(this.stored.candidate);
      larger.converted.set(this.stored.converted);
      this.stored = larger;
    }
    this.stored.base[this.count] = base;
    this.stored.candidate[this.count] = candidate;
    this.stored.converted[this.count] = converted ? 1 : 0;
    this.count += 1;
  }

  /** The leads so far. */
  columns(): PairedColumns {
    const { base, candidate, converted } = this.stored;
    const { count } = this;
    return {
      base: base.subarray(0, count),
      candidate: candidate.subarray(0, count),
      converted: converted.subarray(0, count),
    };
  }
}

const columnsOf = (length: number): PairedColumns => ({
  base: new Uint16Array(length),
  candidate: new Uint16Array(length),
  converted: new Uint8Array(length),
});

/** Leads and conversions by likelihood. */
export interface LikelihoodCounts {
  readonly leads: number;
  readonly conversions: number;
  /** By likelihood. */
  readonly leadsAt: Float64Array;
  readonly conversionsAt: Float64Array;
}

/** Counts leads by the likelihood that one version gave them. */
export function countByLikelihood(likelihoods: Uint16Array, converted: Uint8Array): LikelihoodCounts {
  const leadsAt = new Float64Array(likelihoodValues);
  const conversionsAt = new Float64Array(likelihoodValues);
  let conversions = 0;
  for (let lead = 0; lead < likelihoods.length; lead += 1) {
    const likelihood = likelihoods[lead] ?? 0;
    const outcome = converted[lead] ?? 0;
    leadsAt[likelihood] = (leadsAt[likelihood] ?? 0) + 1;
    conversionsAt[likelihood] = (conversionsAt[likelihood] ?? 0) + outcome;
    conversions += outcome;
  }
  return { leads: likelihoods.length, conversions, leadsAt, conversionsAt };
}
