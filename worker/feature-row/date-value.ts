import type { DateFeature } from '../../shared/bundle/manifest.js';
import type { Scalar } from '../../shared/packed-cell.js';
import { dateTextMs, epochMs } from './date-text.js';
import { type FeatureWriter, NO_COLUMN } from './feature-writer.js';
import { MISSING_VALUE, READ, readingOf, UNREADABLE_VALUE } from './missing-value.js';
import { plainIsoDateMs } from './plain-iso-date.js';
import { compileTextReader } from './text-reader.js';

export const DAY_MS = 86_400_000;

/**
 * A reader of date cells.
 * @returns a function from a scalar to Unix ms, `MISSING_VALUE` or `UNREADABLE_VALUE`
 */
export function compileDateReader(
  feature: Pick<DateFeature, 'date_order'>,
  missingTexts: ReadonlySet<string>,
): (value: Scalar) => number {
  const known = (ms: number): number => (Number.isNaN(ms) ? UNREADABLE_VALUE : ms);
  const readText = compileTextReader(
    (folded) => (missingTexts.has(folded) ? MISSING_VALUE : known(dateTextMs(folded, feature.date_order))),
    { tooLong: UNREADABLE_VALUE },
  );
  const missingDates = [...missingTexts].some((text) => !Number.isNaN(plainIsoDateMs(text)));
  return (value) => {
    if (typeof value !== 'string')
      return typeof value === 'number' ? known(epochMs(value)) : UNREADABLE_VALUE;
    const plain = missingDates ? Number.NaN : plainIsoDateMs(value);
    return Number.isNaN(plain) ? readText(value) : plain;
  };
}

/** The writer of a date feature's column: days from the date to the request, with fractions. */
export function compileDateWriter(feature: DateFeature, missingTexts: ReadonlySet<string>): FeatureWriter {
  const read = compileDateReader(feature, missingTexts);
  const column = feature.columns[0] ?? NO_COLUMN;
  const missingColumn = feature.missing_column ?? NO_COLUMN;
  return (value, { out, offset, nowMs }) => {
    const dateMs = read(value);
    const reading = readingOf(dateMs);
    if (reading !== READ) return reading;
    out[offset + column] = (nowMs - dateMs) / DAY_MS;
    if (missingColumn !== NO_COLUMN) out[offset + missingColumn] = 0;
    return READ;
  };
}
