import { dayMs } from '../../shared/contract/dates.js';
import type { BandFigures, CohortFigures } from '../../worker/grading/gates/cohort-figures.js';
import { judgeCohort } from '../../worker/grading/gates/grade-cohort.js';
import { type Standing, settledState } from '../../worker/grading/gates/settled-state.js';
import { type SeededRandom, seededRandom } from '../leads/seeded-random.js';
import type { KnownTruth } from './known-truth.js';

/** Frequencies of the grader's verdicts on one kind of model over many simulated years. */
export interface Characteristic {
  readonly name: string;
  readonly meaning: string;
  readonly runs: number;
  /** Number of years by the state at their end. */
  readonly passed: number;
  readonly failed: number;
  readonly too_early: number;
  /** Years with at least one day in the state `passed`. */
  readonly ever_passed: number;
  /** Share of all days in the state `passed`. */
  readonly days_passed_share: number;
  /** Median first day in the state `passed`, over the years with such a day. */
  readonly median_day_of_passing?: number;
}

/**
 * Simulates many years of one kind of model. The same seed (a whole number) gives the same years.
 * @param options `gradesADay`: the first grade of a day is certain, and each other one follows outcomes
 */
export function characteristicOf(
  truth: KnownTruth,
  { runs, seed, gradesADay }: { readonly runs: number; readonly seed: number; readonly gradesADay: number },
): Characteristic {
  const years = Array.from({ length: runs }, (_, run) => simulateYear(truth, gradesADay, seededRandom(seed + run)));
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

interface YearResult {
  /** At the end of the last day. */
  readonly state: Standing['state'];
  /** First day in the state `passed`, if any. */
  readonly passedOnDay: number | undefined;
  /** Number of days that end in the state `passed`. */
  readonly daysPassed: number;
}

const simulatedDays = 365;
const horizonDays = 90;
const bandCount = 5;

/**
 * Simulates a year of grades of a model. Each day:
 * - a random number of leads is scored;
 * - the leads of 90 days ago mature, each before one of the day's grades, and some of them have converted;
 * - the grader's own code grades the model from these counts.
 */
function simulateYear(truth: KnownTruth, gradesADay: number, random: SeededRandom): YearResult {
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
    const cutDay = day - horizonDays;
    const parts = partsOf(days[cutDay] ?? [], gradesADay, random);
    for (const [part, maturing] of parts.entries()) {
      if (part > 0 && records(maturing) === 0) continue;
      for (const [band, figures] of maturing.entries()) matured[band] = plus(matured[band] ?? nothing, figures);
      const wholeDays = part === gradesADay - 1 ? cutDay + 1 : cutDay;
      standing = settledState(judgeCohort(figuresOf(truth, { scored, matured })), standing, {
        cutDay,
        conversionsAfter: (after) => conversions(days.slice(Math.max(0, after + 1), Math.max(0, wholeDays)).flat()),
        atMs: (day + part / gradesADay) * dayMs,
      });
      if (standing.state === 'passed') passedOnDay ??= day;
    }
    if (standing?.state === 'passed') daysPassed += 1;
  }
  return { state: standing?.state ?? 'too_early_to_grade', passedOnDay, daysPassed };
}

/** Divides the leads of a day at random among its grades. */
function partsOf(day: readonly BandFigures[], parts: number, random: SeededRandom): (readonly BandFigures[])[] {
  if (parts === 1) return [day];
  const divided = Array.from({ length: parts }, () => Array.from({ length: bandCount }, () => nothing));
  for (const [band, { records, conversions, expected }] of day.entries()) {
    for (let lead = 0; lead < records; lead += 1) {
      const part = divided[Math.floor(random.uniform() * parts)] ?? [];
      const one = { records: 1, conversions: lead < conversions ? 1 : 0, expected: expected / records };
      part[band] = plus(part[band] ?? nothing, one);
    }
  }
  return divided;
}

const nothing: BandFigures = { records: 0, conversions: 0, expected: 0 };

const plus = (one: BandFigures, other: BandFigures): BandFigures => ({
  records: one.records + other.records,
  conversions: one.conversions + other.conversions,
  expected: one.expected + other.expected,
});

const conversions = (bands: readonly BandFigures[]): number => bands.reduce((sum, band) => sum + band.conversions, 0);

const records = (bands: readonly BandFigures[]): number => bands.reduce((sum, band) => sum + band.records, 0);

/** Leads and conversions of one day by band. All bands are equally likely. */
function drawDay({ leadsADay, baseRate, lifts, promise = 1 }: KnownTruth, random: SeededRandom): BandFigures[] {
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
    scoredBands: bandCount,
    bands: matured,
    horizonDays,
    expectedLift: 2,
  };
}
