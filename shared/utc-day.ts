/** Milliseconds of a day; UTC has no others that matter here. */
export const dayMs = 24 * 60 * 60 * 1000;

/** The number of the UTC day that an instant lies in, counted from 1970-01-01. */
export const dayNumber = (atMs: number): number => Math.floor(atMs / dayMs);

/** Midnight at which a day begins, in ms. */
export const dayStartMs = (day: number): number => day * dayMs;

/** A day as `YYYY-MM-DD`. */
export const dayText = (day: number): string => new Date(dayStartMs(day)).toISOString().slice(0, 10);
