import type { DayBand } from '../../shared/store/validation-daily.js';

/** The figures of a band, or of leads of one, that are being added up. */
export type BandSum = { -readonly [Figure in keyof DayBand]: DayBand[Figure] };

/** Where a sum begins. */
export const noLeads = (): BandSum => ({ cohort: 0, excluded: 0, joined: 0, conversions: 0, likelihood: 0 });

/** Adds figures to a sum. @param sign -1 to take them away */
export function addTo(sum: BandSum, figures: DayBand, sign: 1 | -1 = 1): void {
  sum.cohort += sign * figures.cohort;
  sum.excluded += sign * figures.excluded;
  sum.joined += sign * figures.joined;
  sum.conversions += sign * figures.conversions;
  sum.likelihood += sign * figures.likelihood;
}
