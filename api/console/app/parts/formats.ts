export { countText } from '../../../../shared/contract/figures.js';

const compactCounts = new Intl.NumberFormat('en', { notation: 'compact' });
const instants = new Intl.DateTimeFormat('en-GB', {
  ...{ day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', timeZone: 'UTC' },
});
const days = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' });
const shortDays = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
const months = new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' });

export const compactText = (value: number): string => compactCounts.format(value).toLowerCase();
/** @param share 0 to 1 */
export const percentText = (share: number | null): string => (share === null ? '–' : `${(100 * share).toFixed(1)} %`);
export const millisecondsText = (value: number | null): string => (value === null ? '–' : `${Math.round(value)} ms`);
/** @param instant ISO 8601; null and undefined mean never */
export const instantText = (instant: string | null | undefined): string =>
  instant ? `${instants.format(new Date(instant))} UTC` : 'never';
/** Time of day with seconds. */
export const timeText = (instant: string): string => `${instant.slice(11, 19)} UTC`;
export const dayText = (instant: string): string => days.format(new Date(instant));
/** A day without its year: `26 Nov`. */
export const shortDayText = (instant: string | number): string => shortDays.format(new Date(instant));
/** @param month `YYYY-MM` */
export const monthText = (month: string): string => months.format(new Date(`${month}-01`));
/** Words of an identifier such as `too_early_to_grade` or `key.revoke`. */
export const wordsOf = (identifier: string): string => identifier.replaceAll(/[_.]/g, ' ');
const units = ['B', 'kB', 'MB', 'GB', 'TB'];
export function bytesText(bytes: number): string {
  const step = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), units.length - 1);
  return `${(bytes / 1000 ** step).toFixed(step === 0 ? 0 : 1)} ${units[step]}`;
}
