import type { BandFigures, CohortFigures } from '../../worker/grading/cohort-figures.js';
import { judgeCohort } from '../../worker/grading/grade-cohort.js';
import { type Standing, settledState } from '../../worker/grading/settled-state.js';
import type { SeededRandom } from '../demo/seeded-random.js';
import type { KnownTruth } from './known-truth.js';

/** What came of one simulated year of daily grades. */
export interface YearResult {
  /** On the last day. */
  readonly state: Standing['state'];
  /** The first day on which the model had passed; undefined when it never had. */
  readonly passedOnDay: number | undefined;
  /** Days on which it had passed. */
  readonly daysPassed: number;
}

export const simulatedDays = 365;
const horizonDays = 90;
const bandCount = 5;

/**
 * Simulates a year of a model: each day leads are scored, as many as chance has it; each day those of 90 days ago have
 * matured, some of them converted; each night the model is graded by the grader's own code, from these counts.
 */
export function simulateYear(truth: KnownTruth, random: SeededRandom): YearResult {
  const days: (readonly BandFigures[])[] = [];
  const matured: BandFigures[] = Array.from({ length: bandCount }, () => nothing);
  let standing: Standing | undefined;
  let scored = 0;
  let daysPassed = 0;
  let passedOnDay: number | undefined;
  for (let day = 0; day < simulatedDays; day += 1) {
    const today = drawDay(truth, random);
    days.push(today);
    scored += records(today);
    const maturing = days[day - horizonDays] ?? [];
    for (const [band, figures] of maturing.entries()) matured[band] = plus(matured[band] ?? nothing, figures);
    const cutDay = day - horizonDays;
    standing = settledState(judgeCohort(figuresOf(truth, { scored, matured })), standing, {
      cutDay,
      conversionsAfter: (after) => conversions(days.slice(Math.max(0, after + 1), cutDay + 1).flat()),
    });
    if (standing.state !== 'passed') continue;
    daysPassed += 1;
    passedOnDay ??= day;
  }
  return { state: standing?.state ?? 'too_early_to_grade', passedOnDay, daysPassed };
}

const nothing: BandFigures = { records: 0, conversions: 0, expected: 0 };

const plus = (one: BandFigures, other: BandFigures): BandFigures => ({
  records: one.records + other.records,
  conversions: one.conversions + other.conversions,
  expected: one.expected + other.expected,
});

const conversions = (bands: readonly BandFigures[]): number =>
  bands.reduce((sum, band) => sum + band.conversions, 0);

const records = (bands: readonly BandFigures[]): number => bands.reduce((sum, band) => sum + band.records, 0);

/** The leads of one day by band, each band as likely as the next, and how many of them will convert. */
function drawDay(
  { leadsADay, baseRate, lifts, promise = 1 }: KnownTruth,
  random: SeededRandom,
): BandFigures[] {
  return lifts.map((lift) => {
    const count = random.poisson(leadsADay / bandCount);
    const rate = baseRate * lift;
    let conversions = 0;
    for (let lead = 0; lead < count; lead += 1) if (random.chance(rate)) conversions += 1;
    return { records: count, conversions, expected: count * rate * promise };
  });
}

function figuresOf(
  { named = 1 }: KnownTruth,
  { scored, matured }: { readonly scored: number; readonly matured: readonly BandFigures[] },
): CohortFigures {
  return {
    requests: { ledgerRecords: scored, storedRows: scored, mismatchedRequests: 0, countedForADay: true },
    leftOut: { repeats: 0, withoutCrmId: 0, excluded: 0, erased: 0 },
    cohort: scored,
    joined: Math.round(scored * named),
    joinable: scored,
    matured: records(matured),
    bands: matured,
    horizonDays,
    expectedLift: 2,
  };
}
