import { seededRandom } from '../demo/seeded-random.js';
import type { KnownTruth } from './known-truth.js';
import { simulatedDays, simulateYear } from './simulated-year.js';

/** How often the grader came to which verdict on one kind of model, over many simulated years. */
export interface Characteristic {
  readonly name: string;
  readonly meaning: string;
  readonly runs: number;
  /** Years at whose end the model had passed, had failed, or could not be graded yet. */
  readonly passed: number;
  readonly failed: number;
  readonly too_early: number;
  /** Years in which the model had passed on some day. */
  readonly ever_passed: number;
  /** Share of all days on which it had passed. */
  readonly days_passed_share: number;
  /** Of the years in which it passed, the middle one's first day of that; absent when there are none. */
  readonly median_day_of_passing?: number;
}

/**
 * Simulates many years of one kind of model. The same seed gives the same years.
 * @param options.seed any whole number
 */
export function characteristicOf(
  truth: KnownTruth,
  { runs, seed }: { readonly runs: number; readonly seed: number },
): Characteristic {
  const years = Array.from({ length: runs }, (_, run) => simulateYear(truth, seededRandom(seed + run)));
  const ended = (state: string): number => years.filter((year) => year.state === state).length;
  const firstDays = years.flatMap(({ passedOnDay }) => passedOnDay ?? []).sort((one, other) => one - other);
  const median = firstDays[Math.floor(firstDays.length / 2)];
  const daysPassed = years.reduce((sum, year) => sum + year.daysPassed, 0);
  return {
    name: truth.name,
    meaning: truth.meaning,
    runs,
    passed: ended('passed'),
    failed: ended('failed'),
    too_early: ended('too_early_to_grade'),
    ever_passed: firstDays.length,
    days_passed_share: Number((daysPassed / (runs * simulatedDays)).toFixed(4)),
    ...(median === undefined ? {} : { median_day_of_passing: median }),
  };
}
