import { dayMs, dayNumber } from '../../../shared/contract/dates.js';
import { bandScores, requiredPredictions } from '../../../shared/contract/verdict.js';
import type { DayBand, StoredDay } from '../../../shared/store/validation/validation-daily.js';
import type { CohortFigures } from '../gates/cohort-figures.js';

/** Days that a grade covers, counted by the day on which predictions matured. */
const windowDays = 365;

/** Defines which predictions have matured. */
export interface MaturedOptions {
  readonly asOfMs: number;
  readonly horizonDays: number;
  /** The matured part of the day of the cut, by band. */
  readonly maturedOnCutDay: readonly DayBand[];
}

export interface SumOptions extends MaturedOptions {
  readonly expectedLift: number;
  readonly countedForADay: boolean;
}

/** The first day of a grade: its predictions matured within the window or have not matured yet. */
export const firstGradedDay = (asOfMs: number, horizonDays: number): number =>
  dayNumber(asOfMs) - windowDays + 1 - horizonDays;

/**
 * Adds up the days of a grade.
 * @param days of one version; days outside the window are ignored
 */
export function sumDays(days: readonly StoredDay[], options: SumOptions): CohortFigures {
  const { horizonDays, expectedLift, countedForADay } = options;
  const inWindow = days.filter((day) => isInWindow(day, options));
  const matured = maturedDays(inWindow, options).map(({ bands }) => bands);
  const total = (figure: (day: StoredDay) => number): number => inWindow.reduce((sum, day) => sum + figure(day), 0);
  const cohort = total((day) => bandSum(day.bands, 'cohort'));
  const excluded = total((day) => bandSum(day.bands, 'excluded'));
  const joined = total((day) => bandSum(day.bands, 'joined'));
  const storedRows = total((day) => day.stored_rows);
  const withoutCrmId = total((day) => day.without_crm_id);
  const erased = total((day) => day.erased);
  const maturedCohort = matured.reduce((sum, bands) => sum + bandSum(bands, 'cohort'), 0);
  return {
    requests: {
      storedRows,
      ledgerRecords: total((day) => day.ledger_records),
      mismatchedRequests: total((day) => day.mismatched_requests),
      countedForADay,
    },
    // The remainder after all other categories; negative if a row was counted twice.
    leftOut: {
      repeats: storedRows - cohort - excluded - withoutCrmId - erased,
      withoutCrmId,
      excluded,
      erased,
    },
    cohort,
    joined,
    joinable: cohort - unnamedAfterNewestOutcome(inWindow),
    matured: maturedCohort,
    verdictDay:
      maturedCohort < requiredPredictions && cohort >= requiredPredictions
        ? verdictDay(inWindow, horizonDays)
        : undefined,
    scoredBands: bandScores.filter((_, band) => total((day) => day.bands[band]?.cohort ?? 0) > 0).length,
    bands: bandScores.map((_, band) => ({
      records: matured.reduce((sum, bands) => sum + (bands[band]?.joined ?? 0), 0),
      conversions: matured.reduce((sum, bands) => sum + (bands[band]?.conversions ?? 0), 0),
      expected: matured.reduce((sum, bands) => sum + (bands[band]?.likelihood ?? 0), 0) / 10_000,
    })),
    horizonDays,
    expectedLift,
  };
}

/** The first day on which a grade covers enough matured predictions, if outcome data names all of them. */
function verdictDay(inWindow: readonly StoredDay[], horizonDays: number): number | undefined {
  const byDay = inWindow.toSorted((one, other) => one.day - other.day);
  const last = byDay.find(({ day: end }) => {
    const covered = byDay.filter(({ day }) => day > end - windowDays && day <= end);
    return covered.reduce((sum, { bands }) => sum + bandSum(bands, 'cohort'), 0) >= requiredPredictions;
  });
  return last === undefined ? undefined : last.day + horizonDays;
}

/** Conversions of a grade by the day of the prediction. */
export interface GradedDays {
  /** Number of the last day with a matured prediction. */
  readonly cutDay: number;
  /** Conversions among the matured predictions of the days after a given day. */
  readonly conversionsAfter: (day: number) => number;
}

/**
 * The conversions of a grade by day.
 * @param days of one version; days outside the window are ignored
 */
export const gradedDays = (days: readonly StoredDay[], options: MaturedOptions): GradedDays => ({
  cutDay: cutDayOf(options),
  conversionsAfter: (after) =>
    maturedDays(
      days.filter((day) => isInWindow(day, options)),
      options,
    )
      .filter(({ day }) => day > after)
      .reduce((sum, { bands }) => sum + bandSum(bands, 'conversions'), 0),
});

const cutDayOf = ({ asOfMs, horizonDays }: MaturedOptions): number => dayNumber(asOfMs - horizonDays * dayMs);

const isInWindow = ({ day }: StoredDay, { asOfMs, horizonDays }: MaturedOptions): boolean =>
  day >= firstGradedDay(asOfMs, horizonDays) && day <= dayNumber(asOfMs);

/** The matured bands by day. */
function maturedDays(inWindow: readonly StoredDay[], options: MaturedOptions): Pick<StoredDay, 'day' | 'bands'>[] {
  const cutDay = cutDayOf(options);
  return inWindow
    .filter(({ day }) => day <= cutDay)
    .map(({ day, bands }) => ({ day, bands: day === cutDay ? options.maturedOnCutDay : bands }));
}

/** Cohort records without outcome data that were scored on a day after the newest outcome arrived. */
function unnamedAfterNewestOutcome(days: readonly StoredDay[]): number {
  const arrivals = days.flatMap(({ last_word_at }) => last_word_at?.getTime() ?? []);
  if (arrivals.length === 0) return 0;
  const newest = dayNumber(Math.max(...arrivals));
  return days
    .filter(({ day }) => day > newest)
    .reduce((sum, { bands }) => sum + bandSum(bands, 'cohort') - bandSum(bands, 'joined'), 0);
}

const bandSum = (bands: readonly DayBand[], figure: keyof DayBand): number =>
  bands.reduce((sum, band) => sum + band[figure], 0);
