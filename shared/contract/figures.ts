import { dayMs } from './dates.js';
import { requiredLift } from './verdict.js';

/*
 * How the figures of a verdict are written. Its summary, the CLI and the console call these functions, so that a figure
 * has the same digits everywhere.
 */

const grouping = new Intl.NumberFormat('en-US');

/** A count: `1,240`. */
export const countText = (count: number): string => grouping.format(count);

/** A figure as it is stored. A summary is written from figures before they are stored. */
export const sixDigits = (value: number): number => (Number.isInteger(value) ? value : Number(value.toPrecision(6)));

/**
 * The first text that lies on the same side of each required value as the figure does.
 * @param texts from short to long
 */
function onSameSide(value: number, required: readonly number[], texts: readonly string[]): string {
  const isSame = (text: string): boolean =>
    required.every((limit) => Math.sign(Number(text) - limit) === Math.sign(value - limit));
  return texts.find(isSame) ?? texts.at(-1) ?? '';
}

/** A figure with three significant digits, or with more if three would reach or cross a required value. */
export function figureText(figure: number, ...required: readonly number[]): string {
  const value = sixDigits(figure);
  if (Number.isInteger(value)) return countText(value);
  const texts = [3, 4, 5, 6].map((digits) => withDigits(value, digits));
  return onSameSide(value, required, texts);
}

function withDigits(value: number, digits: number): string {
  const size = Math.abs(value);
  if (size < 0.001) return value.toExponential(digits - 2);
  return size >= 10 ** digits - 0.5 ? countText(Math.round(value)) : value.toPrecision(digits);
}

/** A lift or its lower bound: `2.1x`. It has more decimals if one would reach or cross the required lift, or 1. */
export function liftText(lift: number): string {
  const value = sixDigits(lift);
  const texts = [1, 2, 3, 4, 5].map((decimals) => value.toFixed(decimals));
  return `${onSameSide(value, [1, requiredLift], texts)}x`;
}

/** A share of records: `99.2 %`. It is rounded down, so that it never reaches a required share that it misses. */
export function shareText(share: number): string {
  const percent = Math.floor(1000 * share + 1e-9) / 10;
  return `${percent.toFixed(Number.isInteger(percent) ? 0 : 1)} %`;
}

/** A share of records without decimals: `98 %`. Neither a few records nor all but a few are rounded away. */
export function wholePercentText(share: number): string {
  if (share > 0 && share < 0.01) return '< 1 %';
  return `${share < 1 ? Math.min(99, Math.round(100 * share)) : 100} %`;
}

/**
 * Writes the conversion rates of the score bands, as percentages without the sign.
 * @param highest the highest of the rates and of their intervals; very low rates have more than one decimal
 */
export function rateTexts(highest: number): (rate: number) => string {
  const decimals = Math.min(4, Math.max(1, Math.floor(-Math.log10(Math.max(highest, 1e-9)))));
  return (rate) => (100 * rate).toFixed(decimals);
}

/** How long ago an instant was, in whole days: `today`, `1 day ago`, `in 3 days`. */
export function daysAgoText(atMs: number, nowMs: number): string {
  const days = Math.trunc((nowMs - atMs) / dayMs);
  if (days === 0) return 'today';
  const words = `${Math.abs(days)} ${Math.abs(days) === 1 ? 'day' : 'days'}`;
  return days > 0 ? `${words} ago` : `in ${words}`;
}
