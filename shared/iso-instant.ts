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
