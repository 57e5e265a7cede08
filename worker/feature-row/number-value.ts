import { FLOAT32_MAX } from '../../shared/bundle/bundle-limits.js';
import type { NumberFeature } from '../../shared/bundle/manifest.js';
import type { Scalar } from '../../shared/packed-cell.js';
import { type FeatureWriter, NO_COLUMN } from './feature-writer.js';
import { MISSING_VALUE, READ, readingOf, UNREADABLE_VALUE } from './missing-value.js';
import { compileNumberText } from './number-text.js';
import { plainDecimal } from './plain-decimal.js';
import { compileTextReader } from './text-reader.js';

/**
 * A reader of number cells.
 * @returns a function from a scalar to a finite number, `MISSING_VALUE` or `UNREADABLE_VALUE`
 */
export function compileNumberReader(
  feature: Pick<NumberFeature, 'unit'>,
  missingTexts: ReadonlySet<string>,
): (value: Scalar) => number {
  const parse = compileNumberText({ percentIsFraction: feature.unit === 'fraction' });
  const readText = compileTextReader(
    (folded) => {
      if (missingTexts.has(folded)) return MISSING_VALUE;
      const number = parse(folded);
      return Number.isNaN(number) ? UNREADABLE_VALUE : number;
    },
    { tooLong: UNREADABLE_VALUE },
  );
  const missingNumbers = [...missingTexts].some((text) => !Number.isNaN(plainDecimal(text)));
  return (value) => {
    if (typeof value === 'number') return value;
    if (typeof value === 'boolean') return UNREADABLE_VALUE;
    const plain = missingNumbers ? Number.NaN : plainDecimal(value);
    return Number.isNaN(plain) ? readText(value) : plain;
  };
}

/** The writer of a number feature's column. */
export function compileNumberWriter(
  feature: NumberFeature,
  missingTexts: ReadonlySet<string>,
): FeatureWriter {
  const read = compileNumberReader(feature, missingTexts);
  const column = feature.columns[0] ?? NO_COLUMN;
  const missingColumn = feature.missing_column ?? NO_COLUMN;
  return (value, { out, offset }) => {
    const number = typeof value === 'number' ? value : read(value);
    const reading = readingOf(number);
    if (reading !== READ) return reading;
    out[offset + column] = Math.min(Math.max(number, -FLOAT32_MAX), FLOAT32_MAX);
    if (missingColumn !== NO_COLUMN) out[offset + missingColumn] = 0;
    return READ;
  };
}
