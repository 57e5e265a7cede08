const zeroCode = 48;
const colonCode = 58;
const dashCode = 45;
const plusCode = 43;
const pointCode = 46;
const spaceCode = 32;
const upperTCode = 84;
const lowerTCode = 116;
const upperZCode = 90;
const lowerZCode = 122;

export const minuteMs = 60_000;
export const hourMs = 3_600_000;
const dayMs = 86_400_000;

const dateLength = 10;
const secondsEnd = 19;
/** Up to 15 digits and their power of ten are exact in float64, so one division rounds like parsing. */
const maxFractionDigits = 15;
/** Low enough that a number with one such digit stays below 0. */
const notDigits = -1_000_000;

/** From 1901 to 2099 every fourth year is a leap year, and no zone offset leaves the years 1900 to 2100. */
const firstYear = 1901;
const lastYear = 2099;
const daysBeforeMonth = Uint16Array.of(0, 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334);
const daysOfMonth = Uint8Array.of(0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31);

/**
 * Parses the date forms that programs write: `2026-03-02` and `2026-03-02T10:20:30`. Fraction and zone (`Z`, `+05:30`,
 * `+0530`) are optional, and a space may replace the T. It compares character codes, in a tenth of a regular
 * expression's time.
 * @param text as sent, not folded
 * @returns Unix ms, equal to `dateTextMs`; NaN for any other text, which may still be a date
 */
export function plainIsoDateMs(text: string): number {
  const { length } = text;
  if (length !== dateLength && length < secondsEnd) return Number.NaN;
  const dayMs = calendarDayMs(text);
  if (length === dateLength || Number.isNaN(dayMs)) return dayMs;
  const timeMs = timeOfDayMs(text);
  if (Number.isNaN(timeMs)) return timeMs;
  if (length === secondsEnd) return dayMs + timeMs;
  const zoneAt = text.charCodeAt(secondsEnd) === pointCode ? digitsEnd(text, secondsEnd + 1) : secondsEnd;
  return dayMs + timeMs + fractionSeconds(text, zoneAt) * 1000 - zoneMs(text, zoneAt);
}

function calendarDayMs(text: string): number {
  if (text.charCodeAt(4) !== dashCode || text.charCodeAt(7) !== dashCode) return Number.NaN;
  const year = 100 * twoDigits(text, 0) + twoDigits(text, 2);
  const month = twoDigits(text, 5);
  const day = twoDigits(text, 8);
  if (year < firstYear || year > lastYear || month < 1 || month > 12 || day < 1) return Number.NaN;
  const isLeap = year % 4 === 0;
  if (day > (daysOfMonth[month] ?? 0) || (month === 2 && day === 29 && !isLeap)) return Number.NaN;
  const leapDays = Math.floor((year - 1969) / 4) + (isLeap && month > 2 ? 1 : 0);
  return ((year - 1970) * 365 + leapDays + (daysBeforeMonth[month] ?? 0) + day - 1) * dayMs;
}

function timeOfDayMs(text: string): number {
  const between = text.charCodeAt(dateLength);
  if (between !== upperTCode && between !== lowerTCode && between !== spaceCode) return Number.NaN;
  if (text.charCodeAt(13) !== colonCode || text.charCodeAt(16) !== colonCode) return Number.NaN;
  return clockMs(twoDigits(text, 11), twoDigits(text, 14), twoDigits(text, 17));
}

function clockMs(hour: number, minute: number, second: number): number {
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) return Number.NaN;
  return hour * hourMs + minute * minuteMs + second * 1000;
}

/** Fraction of a second before the zone: 0 if absent, NaN without digits or with more than 15. */
function fractionSeconds(text: string, end: number): number {
  const count = end - secondsEnd - 1;
  if (count < 0) return 0;
  if (count === 0 || count > maxFractionDigits) return Number.NaN;
  let digits = 0;
  for (let index = secondsEnd + 1; index < end; index += 1) digits = digits * 10 + text.charCodeAt(index) - zeroCode;
  return digits / 10 ** count;
}

function zoneMs(text: string, at: number): number {
  const rest = text.length - at;
  if (rest === 0) return 0;
  const sign = text.charCodeAt(at);
  if (rest === 1) return sign === upperZCode || sign === lowerZCode ? 0 : Number.NaN;
  if (sign !== plusCode && sign !== dashCode) return Number.NaN;
  const hasColon = rest === 6 && text.charCodeAt(at + 3) === colonCode;
  if (rest !== 5 && !hasColon) return Number.NaN;
  const size = clockMs(twoDigits(text, at + 1), twoDigits(text, at + (hasColon ? 4 : 3)), 0);
  return sign === dashCode ? -size : size;
}

/** Index after the run of digits that starts at `from`. */
function digitsEnd(text: string, from: number): number {
  let end = from;
  while (end < text.length && digitAt(text, end) >= 0) end += 1;
  return end;
}

const twoDigits = (text: string, at: number): number => 10 * digitAt(text, at) + digitAt(text, at + 1);

/** The digit at an index, or `notDigits`. */
function digitAt(text: string, at: number): number {
  const digit = text.charCodeAt(at) - zeroCode;
  return digit >= 0 && digit <= 9 ? digit : notDigits;
}
