export { countText } from '../../../../shared/contract/figures.js';

const compactCounts = new Intl.NumberFormat('en', { notation: 'compact' });
const instant = { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', timeZone: 'UTC' } as const;
const instants = new Intl.DateTimeFormat('en-GB', instant);
const instantsWithYear = new Intl.DateTimeFormat('en-GB', { ...instant, year: 'numeric' });
const days = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' });
const shortDay = { day: 'numeric', month: 'short', timeZone: 'UTC' } as const;
const shortDays = new Intl.DateTimeFormat('en-GB', shortDay);
const shortDaysWithYear = new Intl.DateTimeFormat('en-GB', { ...shortDay, year: 'numeric' });
const months = new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' });

export const compactText = (value: number): string => compactCounts.format(value).toLowerCase();
/** @param share 0 to 1 */
export const percentText = (share: number | null): string => (share === null ? '–' : `${(100 * share).toFixed(1)} %`);
export const millisecondsText = (value: number | null): string => (value === null ? '–' : `${Math.round(value)} ms`);
/** Whether a date begins with the same year, or with the same day, as the time now. */
const isNow = (date: Date, digits: 'year' | 'day'): boolean => {
  const length = digits === 'year' ? 4 : 10;
  return date.toISOString().slice(0, length) === new Date().toISOString().slice(0, length);
};
/**
 * With the year if it is not this one.
 * @param instant ISO 8601; null and undefined mean never
 */
export function instantText(instant: string | null | undefined): string {
  if (!instant) return 'never';
  const date = new Date(instant);
  return `${(isNow(date, 'year') ? instants : instantsWithYear).format(date)} UTC`;
}
/** Time of day with seconds, for an instant of today. */
export const timeText = (instant: string): string =>
  isNow(new Date(instant), 'day') ? `${instant.slice(11, 19)} UTC` : instantText(instant);
export const dayText = (instant: string): string => days.format(new Date(instant));
/** A short day, with the year if it is not this one: `26 Nov`. */
export function shortDayText(instant: string | number): string {
  const date = new Date(instant);
  return (isNow(date, 'year') ? shortDays : shortDaysWithYear).format(date);
}
/** @param month `YYYY-MM` */
export const monthText = (month: string): string => months.format(new Date(`${month}-01`));
/** Words of an identifier such as `too_early_to_grade` or `key.revoke`. */
export const wordsOf = (identifier: string): string => identifier.replaceAll(/[_.]/g, ' ');
const units = ['B', 'kB', 'MB', 'GB', 'TB'];
export function bytesText(bytes: number): string {
  const step = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), units.length - 1);
  return `${(bytes / 1000 ** step).toFixed(step === 0 ? 0 : 1)} ${units[step]}`;
}
/** How a figure compares with that of the days before: `+12 % vs. the 30 days before`. */
export function changeText(now: number, before: number, days: number): string {
  const words = days === 1 ? 'the day before' : `the ${days} days before`;
  if (before === 0) return now === 0 ? `none in ${words} either` : `none in ${words}`;
  const percent = Math.round((100 * (now - before)) / before);
  const sign = percent > 0 ? '+' : percent < 0 ? '−' : '±';
  return `${sign}${Math.abs(percent)} % vs. ${words}`;
}
