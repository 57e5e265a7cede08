/** The service's current time. Code that stores or compares dates takes a Clock, so that a rehearsal can move it. */
export interface Clock {
  /** Unix ms. */
  now(): number;
}

/** The machine's clock, moved by CLOCK_OFFSET_MS. */
export const machineClock = (offsetMs = 0): Clock => ({ now: () => Date.now() + offsetMs });

/** The UTC month of an instant, as `YYYY-MM`. */
export const monthOf = (atMs: number): string => new Date(atMs).toISOString().slice(0, 7);

/** The instant, in Unix ms, at which a month (`YYYY-MM`, UTC) begins. */
export const monthStartMs = (month: string): number => Date.parse(`${month}-01T00:00:00Z`);

/** The instant, in Unix ms, at which the UTC month after that of `atMs` begins: usage resets then. */
export function monthEndMs(atMs: number): number {
  const date = new Date(atMs);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}

/** Ms of a UTC day. */
export const dayMs = 24 * 60 * 60 * 1000;

/** The number of the UTC day of an instant (Unix ms), counted from 1970-01-01. */
export const dayNumber = (atMs: number): number => Math.floor(atMs / dayMs);

/** The UTC midnight at which a numbered day begins, Unix ms. */
export const dayStartMs = (day: number): number => day * dayMs;

/** A numbered day as `YYYY-MM-DD`. */
export const dayText = (day: number): string => new Date(dayStartMs(day)).toISOString().slice(0, 10);

/** All grades become due every night at this hour, UTC. */
const nightlyHourMs = 2 * 60 * 60 * 1000;

/** The last instant at which all grades became due. */
export const lastNightMs = (nowMs: number): number =>
  Math.floor((nowMs - nightlyHourMs) / dayMs) * dayMs + nightlyHourMs;

/** The next instant at which all grades become due. */
export const nextNightMs = (nowMs: number): number => lastNightMs(nowMs) + dayMs;

/** An instant to the minute: `2026-11-26 02:00 UTC`. */
export const minuteText = (atMs: number): string =>
  `${new Date(atMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`;

const form = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?\s?(Z|[+-]\d{2}(?::?\d{2})?)?)?$/i;
/** The accepted years; any other is taken for a typing error. */
export const firstYear = 1970;
export const lastYear = 2100;
const earliestMs = Date.UTC(firstYear, 0, 1);
const afterLatestMs = Date.UTC(lastYear + 1, 0, 1);

/**
 * Parses an ISO 8601 date (midnight UTC), or a date and time. Without a zone the time is UTC. A zone has hours and
 * minutes or, as PostgreSQL writes it, only hours.
 * @returns undefined for any other text, for a day that the calendar does not have, and outside the years 1970 to 2100
 */
export function isoInstant(text: string): Date | undefined {
  const match = form.exec(text);
  if (match === null) return undefined;
  const [, day = '', time = '00:00', seconds = '00', fraction = '0', zone = 'Z'] = match;
  const ms = fraction.slice(0, 3).padEnd(3, '0');
  const [, hours, minutes = '00'] = /^([+-]\d{2}):?(\d{2})?$/.exec(zone) ?? [];
  const offset = hours === undefined ? 'Z' : `${hours}:${minutes}`;
  const date = new Date(`${day}T${time}:${seconds}.${ms}${offset}`);
  const atMs = date.getTime();
  // Date reads 31 April as 1 May.
  const isCalendarDay = new Date(`${day}T00:00:00Z`).toJSON()?.slice(0, 10) === day;
  return isCalendarDay && atMs >= earliestMs && atMs < afterLatestMs ? date : undefined;
}

/**
 * The instant from which a key no longer counts: the end of the written day (UTC), or the written time.
 * @returns undefined for a text that `isoInstant` does not read
 */
export function expiryOf(text: string): Date | undefined {
  const at = isoInstant(text);
  return at !== undefined && /^\d{4}-\d{2}-\d{2}$/.test(text) ? new Date(at.getTime() + dayMs) : at;
}

/** An instant of expiry in a sentence: `at the end of 2027-06-30 (UTC)`, or `on 2027-06-30 12:00 UTC`. */
export const expiryText = (at: Date): string =>
  at.getTime() % dayMs === 0
    ? `at the end of ${dayText(dayNumber(at.getTime()) - 1)} (UTC)`
    : `on ${minuteText(at.getTime())}`;

/**
 * Maximum days from now to a future conversion: twice the usual horizon, so that a grade can be rehearsed (`leadscore
 * validation run --as-of`). A later date is taken for a typing error, such as a wrong year.
 */
export const maxDaysAhead = 180;

/** When a lead converted, or why a text does not tell it. */
export type OutcomeDate =
  | { readonly at: Date; readonly isUndated?: true }
  | { readonly problem: 'no_date' | 'too_far_ahead' };

/**
 * Reads the date of an outcome as endpoints and files do. A conversion without a date counts from its first report. A
 * lead that has not converted may have any text: grades ignore it, and CRMs send the expected closing day of an open
 * deal.
 * @param nowMs by the service's clock
 */
export function outcomeDate(
  text: string | null | undefined,
  { converted, nowMs }: { readonly converted: boolean; readonly nowMs: number },
): OutcomeDate {
  const written = (text ?? '').trim();
  const at = isoInstant(written);
  if (!converted) return { at: at ?? new Date(nowMs) };
  if (written === '') return { at: new Date(nowMs), isUndated: true };
  if (at === undefined) return { problem: 'no_date' };
  return at.getTime() - nowMs > maxDaysAhead * dayMs ? { problem: 'too_far_ahead' } : { at };
}
