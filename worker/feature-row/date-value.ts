import type { DateOrder } from '../../shared/bundle/expected-values.js';
import type { DateFeature } from '../../shared/bundle/manifest/manifest.js';
import type { Scalar } from '../../shared/messages/cells.js';
import {
  type FeatureWriter,
  missingSentinel,
  noColumn,
  readingOf,
  unreadableSentinel,
  wasAmbiguous,
  wasRead,
} from './cell-reading.js';
import { hourMs, minuteMs, plainIsoDateMs } from './plain-iso-date.js';
import { compileTextReader } from './text-reader.js';

export const dayMs = 86_400_000;

/**
 * Compiles a reader of date cells.
 * @returns a function from a scalar to Unix ms, `missingSentinel` or `unreadableSentinel`
 */
export function compileDateReader(
  feature: Pick<DateFeature, 'date_order'>,
  missingTexts: ReadonlySet<string>,
): (value: Scalar) => number {
  const known = (ms: number): number => (Number.isNaN(ms) ? unreadableSentinel : ms);
  const readText = compileTextReader(
    (folded) => (missingTexts.has(folded) ? missingSentinel : known(dateTextMs(folded, feature.date_order))),
    { tooLong: unreadableSentinel },
  );
  const missingDates = [...missingTexts].some((text) => !Number.isNaN(plainIsoDateMs(text)));
  const missingNumbers = [...missingTexts].some((text) => numberPattern.test(text));
  return (value) => {
    if (typeof value === 'number') return missingNumbers ? readText(String(value)) : known(dateNumberMs(value));
    if (typeof value === 'boolean') return unreadableSentinel;
    const plain = missingDates ? Number.NaN : plainIsoDateMs(value);
    return Number.isNaN(plain) ? readText(value) : plain;
  };
}

/** Compiles the writer of a date feature's column: fractional days from the date to the request. */
export function compileDateWriter(feature: DateFeature, missingTexts: ReadonlySet<string>): FeatureWriter {
  const read = compileDateReader(feature, missingTexts);
  const column = feature.columns[0] ?? noColumn;
  const missingColumn = feature.missing_column ?? noColumn;
  return (value, { out, offset, nowMs }) => {
    const dateMs = read(value);
    const reading = readingOf(dateMs);
    if (reading !== wasRead) return reading;
    out[offset + column] = (nowMs - dateMs) / dayMs;
    if (missingColumn !== noColumn) out[offset + missingColumn] = 0;
    return hasTwoReadings(value) ? wasAmbiguous : wasRead;
  };
}

/** Reading a date in the other order as well would take as long as reading it once. */
const dayAndMonth = /^\s*(\d{1,2})\/(\d{1,2})\//;

/** Whether a date that one order of day and month has read is another day in the other order. */
function hasTwoReadings(value: Scalar): boolean {
  const match = typeof value === 'string' ? dayAndMonth.exec(value) : null;
  const [first, second] = [Number(match?.[1]), Number(match?.[2])];
  return first <= 12 && second <= 12 && first !== second;
}

const isoDate = String.raw`(\d{4})(-?)(\d{2})\2(\d{2})`;
const isoTime = String.raw`(\d{2})(?::?(\d{2})(?::?(\d{2})(?:[.,](\d+))?)?)?`;
const isoZone = String.raw`z|[+-]\d{2}(?::?\d{2})?`;
const isoPattern = new RegExp(`^${isoDate}(?:[t ]${isoTime} ?(${isoZone})?)?$`);
const slashedPattern = /^(\d{1,2})\/(\d{1,2})\/(\d{4})(?:,? (\d{1,2}):(\d{2})(?::(\d{2}))?(?: ?([ap])m)?)?$/;
const numberPattern = /^[+-]?\d{1,17}(?:\.\d+)?$/;

/** Longer texts are not dates. The limit bounds the regular expressions on hostile input. */
const maxDateLength = 64;

/** Accepted range: the years 1900 to 2100. */
const earliestMs = Date.UTC(1900, 0, 1);
const afterLatestMs = Date.UTC(2101, 0, 1);

/**
 * Parses a date text:
 * - ISO 8601, time and zone optional; without a zone it is UTC;
 * - a number in digits (see `dateNumberMs`);
 * - day, month and year with slashes, if their order is known.
 * @param text folded (see `foldedText`)
 * @returns Unix ms; NaN for any other text and outside the years 1900 to 2100
 */
export function dateTextMs(text: string, order: DateOrder | undefined): number {
  if (text.length > maxDateLength) return Number.NaN;
  const iso = isoPattern.exec(text);
  if (iso) return isoMs(iso);
  if (numberPattern.test(text)) return dateNumberMs(Number(text));
  const slashed = order && slashedPattern.exec(text);
  return slashed ? slashedMs(slashed, order) : Number.NaN;
}

/** Days from the start of Excel's 1900 system to 1970. */
const serialOfUnixEpoch = 25_569;
/** 1950-01-01. Smaller serials could be counts or years. */
const firstSerial = 18_264;
/** The serial after 2100-12-31. */
const afterLastSerial = 73_416;
/** 1973-03-03 in seconds: smaller numbers have up to eight digits. */
const leastUnixTime = 1e8;

/**
 * Reads a date written as a number. The forms do not overlap:
 * - five digits, 18264 to 73415: the serial of a spreadsheet (1900 system), the years 1950 to 2100; the fraction is the
 *   time of day;
 * - eight digits: year, month and day, as ISO 8601 writes them without dashes;
 * - nine digits or more, also negative: Unix time. Its unit follows from its magnitude: below 1e11 seconds, below 1e14
 *   milliseconds, else microseconds.
 * @returns Unix ms; NaN for any other number and outside the years 1900 to 2100
 */
function dateNumberMs(value: number): number {
  const size = Math.abs(value);
  if (size < leastUnixTime) return isSerial(value) ? (value - serialOfUnixEpoch) * dayMs : compactDayMs(value);
  if (size < 1e11) return withinYears(value * 1000);
  return withinYears(size < 1e14 ? value : value / 1000);
}

const isSerial = (value: number): boolean => value >= firstSerial && value < afterLastSerial;

/** The day that a number of eight digits names (20261120); NaN for any other number. */
function compactDayMs(value: number): number {
  if (!Number.isInteger(value) || value < 19_000_101) return Number.NaN;
  return withinYears(calendarDayMs(Math.floor(value / 10_000), Math.floor(value / 100) % 100, value % 100));
}

function isoMs(match: RegExpExecArray): number {
  const [, year, , month, day, hour, minute, second, fraction, zone] = match;
  const dayMs = calendarDayMs(Number(year), Number(month), Number(day));
  if (hour === undefined) return withinYears(dayMs);
  const time = timeMs(Number(hour), Number(minute ?? 0), Number(second ?? 0));
  return withinYears(dayMs + time + Number(`0.${fraction ?? 0}`) * 1000 - zoneMs(zone));
}

function slashedMs(match: RegExpExecArray, order: DateOrder): number {
  const [, first, second, year, hour, minute, seconds, half] = match;
  const [day, month] = order === 'dmy' ? [first, second] : [second, first];
  const dayMs = calendarDayMs(Number(year), Number(month), Number(day));
  if (hour === undefined) return withinYears(dayMs);
  if (half !== undefined && (Number(hour) < 1 || Number(hour) > 12)) return Number.NaN;
  const hours = half === undefined ? Number(hour) : (Number(hour) % 12) + (half === 'p' ? 12 : 0);
  return withinYears(dayMs + timeMs(hours, Number(minute), Number(seconds ?? 0)));
}

/** Midnight UTC; NaN if the month lacks this day. */
function calendarDayMs(year: number, month: number, day: number): number {
  const ms = Date.UTC(year, month - 1, day);
  const date = new Date(ms);
  const exists = date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  return exists ? ms : Number.NaN;
}

/** Time of day. 24:00:00 is the end of the day; NaN for an invalid time. */
function timeMs(hour: number, minute: number, second: number): number {
  const endOfDay = hour === 24 && minute === 0 && second === 0;
  if ((hour > 23 && !endOfDay) || minute > 59 || second > 59) return Number.NaN;
  return hour * hourMs + minute * minuteMs + second * 1000;
}

function zoneMs(zone: string | undefined): number {
  if (zone === undefined || zone === 'z') return 0;
  const digits = zone.replace(/\D/g, '');
  const offsetMs = timeMs(Number(digits.slice(0, 2)), Number(digits.slice(2)), 0);
  return zone.startsWith('-') ? -offsetMs : offsetMs;
}

const withinYears = (ms: number): number => (ms >= earliestMs && ms < afterLatestMs ? ms : Number.NaN);
