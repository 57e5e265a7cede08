import type { DayBand, StoredDay } from '../../../shared/store/validation-daily.js';
import { dayMs, dayNumber } from '../../../shared/utc-day.js';
import { bandScores } from '../../../shared/verdict.js';
import type { CohortFigures } from '../cohort-figures.js';

/** Days that a grade looks back, by the day on which predictions matured. */
const windowDays = 365;

/** Up to when predictions have matured. */
export interface MaturedOptions {
  readonly asOfMs: number;
  readonly horizonDays: number;
  /** The matured part of the one day on which the horizon ends within the day. */
  readonly maturedOnCutDay: readonly DayBand[];
}

export interface SumOptions extends MaturedOptions {
  readonly expectedLift: number;
  readonly countedForADay: boolean;
}

/** The first day whose predictions a grade goes by: they matured within the window, or have not matured yet. */
export const firstGradedDay = (asOfMs: number, horizonDays: number): number =>
  dayNumber(asOfMs) - windowDays + 1 - horizonDays;

/**
 * Adds days up to what a grade goes by.
 * @param days of one version; those outside the window are passed over
 */
export function sumDays(days: readonly StoredDay[], options: SumOptions): CohortFigures {
  const { horizonDays, expectedLift, countedForADay } = options;
  const inWindow = days.filter((day) => isInWindow(day, options));
  const matured = maturedDays(inWindow, options).map(({ bands }) => bands);
  const total = (figure: (day: StoredDay) => number): number =>
    inWindow.reduce((sum, day) => sum + figure(day), 0);
  const cohort = total((day) => bandSum(day.bands, 'cohort'));
  const excluded = total((day) => bandSum(day.bands, 'excluded'));
  const joined = total((day) => bandSum(day.bands, 'joined'));
  const storedRows = total((day) => day.stored_rows);
  const withoutCrmId = total((day) => day.without_crm_id);
  const erased = total((day) => day.erased);
  return {
    requests: {
      storedRows,
      ledgerRecords: total((day) => day.ledger_records),
      mismatchedRequests: total((day) => day.mismatched_requests),
      countedForADay,
    },
    // What is left when every other row has its place; below zero when a row has two.
    leftOut: {
      repeats: storedRows - cohort - excluded - withoutCrmId - erased,
      withoutCrmId,
      excluded,
      erased,
    },
    cohort,
    joined,
    joinable: cohort - unnamedAfterNewestWord(inWindow),
    matured: matured.reduce((sum, bands) => sum + bandSum(bands, 'cohort'), 0),
    bands: bandScores.map((_, band) => ({
      records: matured.reduce((sum, bands) => sum + (bands[band]?.joined ?? 0), 0),
      conversions: matured.reduce((sum, bands) => sum + (bands[band]?.conversions ?? 0), 0),
      expected: matured.reduce((sum, bands) => sum + (bands[band]?.likelihood ?? 0), 0) / 10_000,
    })),
    horizonDays,
    expectedLift,
  };
}

/** What a grade's predictions come to by the days on which they were made. */
export interface GradedDays {
  /** The last day of which any prediction has matured, by its number. */
  readonly cutDay: number;
  /** Conversions among the matured predictions of the days after one. */
  readonly conversionsAfter: (day: number) => number;
}

/**
 * The conversions of a grade by day.
 * @param days of one version; those outside the window are passed over
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

/** What has matured, by day. */
function maturedDays(
  inWindow: readonly StoredDay[],
  options: MaturedOptions,
): Pick<StoredDay, 'day' | 'bands'>[] {
  const cutDay = cutDayOf(options);
  return inWindow
    .filter(({ day }) => day <= cutDay)
    .map(({ day, bands }) => ({ day, bands: day === cutDay ? options.maturedOnCutDay : bands }));
}

/** Cohort records that nobody can have named yet: scored on a day after the newest outcome data came. */
function unnamedAfterNewestWord(days: readonly StoredDay[]): number {
  const words = days.flatMap(({ last_word_at }) => last_word_at?.getTime() ?? []);
  if (words.length === 0) return 0;
  const newest = dayNumber(Math.max(...words));
  return days
    .filter(({ day }) => day > newest)
    .reduce((sum, { bands }) => sum + bandSum(bands, 'cohort') - bandSum(bands, 'joined'), 0);
}

const bandSum = (bands: readonly DayBand[], figure: keyof DayBand): number =>
  bands.reduce((sum, band) => sum + band[figure], 0);
