import type { DayBand } from '../../shared/store/validation-daily.js';
import { noLeads } from './band-sum.js';

/** A lead's first prediction under a version. */
export interface FirstPrediction {
  /** When it was made. */
  readonly at: Date;
  /** Of its score, 0-4. */
  readonly band: number;
  /** In ten-thousandths. */
  readonly likelihood: number;
}

/** What is said of a lead. */
export interface Word {
  readonly converted: boolean;
  readonly at: Date;
}

/**
 * What one lead adds to the figures of its day and band.
 * @param word undefined when nothing is known of the lead
 */
export function wayOf(first: FirstPrediction, word: Word | undefined, horizonMs: number): DayBand {
  const delayMs = word?.converted === true ? word.at.getTime() - first.at.getTime() : undefined;
  if (delayMs !== undefined && delayMs <= 0) return { ...noLeads(), excluded: 1 };
  const joined = word === undefined ? 0 : 1;
  return {
    cohort: 1,
    excluded: 0,
    joined,
    conversions: delayMs !== undefined && delayMs <= horizonMs ? 1 : 0,
    likelihood: joined * first.likelihood,
  };
}
