/** Milliseconds of a day; UTC has no others that matter here. */
export const dayMs = 24 * 60 * 60 * 1000;

/** The number of the UTC day that an instant lies in, counted from 1970-01-01. */
export const dayNumber = (atMs: number): number => Math.floor(atMs / dayMs);

/** Midnight at which a day begins, in ms. */
export const dayStartMs = (day: number): number => day * dayMs;

/** A day as `YYYY-MM-DD`. */
export const dayText = (day: number): string => new Date(dayStartMs(day)).toISOString().slice(0, 10);

const form =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?\s?(Z|[+-]\d{2}(?::?\d{2})?)?)?$/i;
/** The years from which an instant may be; what names another is a mistake. */
export const firstYear = 1970;
export const lastYear = 2100;
const earliestMs = Date.UTC(firstYear, 0, 1);
const afterLatestMs = Date.UTC(lastYear + 1, 0, 1);

/**
 * The instant that a text names: an ISO 8601 date (midnight UTC), or date and time (UTC unless it names a zone, by
 * hours and minutes or, as PostgreSQL writes it, by hours alone).
 * @returns undefined when it is no such text, no day of the calendar, or outside the years 1970 to 2100
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
 * Days that a conversion may lie ahead of now: twice the usual horizon, so that a grade can be rehearsed
 * (`leadscore validation run --as-of`). What lies further ahead is a mistake, such as another year.
 */
export const maxDaysAhead = 180;

/**
 * Whether an outcome tells of a conversion that lies too far ahead. Of a lead that has not converted any date will do: it
 * makes no difference to a grade, and CRMs have the day on which they expect an open deal to close.
 * @param nowMs by the service's clock
 */
export const isTooFarAhead = (
  { converted, at }: { readonly converted: boolean; readonly at: Date },
  nowMs: number,
): boolean => converted && at.getTime() - nowMs > maxDaysAhead * dayMs;
