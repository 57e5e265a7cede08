import { InvalidArgumentError } from 'commander';

/**
 * Readers of option values, for commander: each takes the text of the command line and throws InvalidArgumentError (exit
 * code 2) saying what it must be.
 */

/** A whole number within bounds. */
export const wholeNumber =
  ({ least, most }: { readonly least: number; readonly most: number }) =>
  (text: string): number => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  };

/** A whole number within bounds, or the word `plan`. */
export const recordsOrPlan =
  ({ least, most }: { readonly least: number; readonly most: number }) =>
  (text: string): number | 'plan' => {
    if (text === 'plan') return text;
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}, or plan.`);
  };

/** `on` or `off`. */
export function onOrOff(text: string): boolean {
  if (text === 'on' || text === 'off') return text === 'on';
  throw new InvalidArgumentError('It must be on or off.');
}

/** An ISO 8601 date (midnight UTC) or date and time with its zone. */
export function isoDate(text: string): Date {
  const form = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2}))?$/;
  const date = new Date(text);
  if (form.test(text) && !Number.isNaN(date.getTime()) && isCalendarDay(text.slice(0, 10))) return date;
  throw new InvalidArgumentError('It must be an ISO 8601 date such as 2026-12-31 or 2026-12-31T12:00:00Z.');
}

/** A month as `YYYY-MM`. */
export function yearAndMonth(text: string): string {
  if (/^\d{4}-(0[1-9]|1[0-2])$/.test(text)) return text;
  throw new InvalidArgumentError('It must be a month such as 2026-12.');
}

/** Text that is not blank, up to 200 characters. */
export function nonBlank(text: string): string {
  if (text.trim() !== '' && text.length <= 200) return text.trim();
  throw new InvalidArgumentError('It must be 1 to 200 characters.');
}

/** As `nonBlank`, of one line: it is shown to others as it is. */
export function plainText(text: string): string {
  if (!/\p{Cc}/u.test(text.trim())) return nonBlank(text);
  throw new InvalidArgumentError('It must be one line without control characters.');
}

const isCalendarDay = (day: string): boolean =>
  new Date(`${day}T00:00:00Z`).toISOString().slice(0, 10) === day;
