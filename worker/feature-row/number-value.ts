import { maxFloat32 } from '../../shared/bundle/limits.js';
import type { NumberFeature } from '../../shared/bundle/manifest/manifest.js';
import type { Scalar } from '../../shared/messages/cells.js';
import {
  type FeatureWriter,
  missingSentinel,
  noColumn,
  readingOf,
  unreadableSentinel,
  wasRead,
} from './cell-reading.js';
import { compileNumberText } from './number-text.js';
import { compileTextReader } from './text-reader.js';

/**
 * Compiles a reader of number cells.
 * @returns a function from a scalar to a finite number, `missingSentinel` or `unreadableSentinel`
 */
export function compileNumberReader(
  feature: Pick<NumberFeature, 'unit'>,
  missingTexts: ReadonlySet<string>,
): (value: Scalar) => number {
  const parse = compileNumberText({ percentIsFraction: feature.unit === 'fraction' });
  const readText = compileTextReader(
    (folded) => {
      if (missingTexts.has(folded)) return missingSentinel;
      const number = parse(folded);
      return Number.isNaN(number) ? unreadableSentinel : number;
    },
    { tooLong: unreadableSentinel },
  );
  const missingNumbers = [...missingTexts].some((text) => !Number.isNaN(plainDecimal(text)));
  return (value) => {
    if (typeof value === 'number') return value;
    if (typeof value === 'boolean') return unreadableSentinel;
    const plain = missingNumbers ? Number.NaN : plainDecimal(value);
    return Number.isNaN(plain) ? readText(value) : plain;
  };
}

/** Compiles the writer of a number feature's column, clamped to float32. */
export function compileNumberWriter(feature: NumberFeature, missingTexts: ReadonlySet<string>): FeatureWriter {
  const read = compileNumberReader(feature, missingTexts);
  const column = feature.columns[0] ?? noColumn;
  const missingColumn = feature.missing_column ?? noColumn;
  return (value, { out, offset }) => {
    const number = typeof value === 'number' ? value : read(value);
    const reading = readingOf(number);
    if (reading !== wasRead) return reading;
    out[offset + column] = Math.min(Math.max(number, -maxFloat32), maxFloat32);
    if (missingColumn !== noColumn) out[offset + missingColumn] = 0;
    return wasRead;
  };
}

const zeroCode = 48;
const nineCode = 57;
const pointCode = 46;
const plusCode = 43;
const minusCode = 45;
/** Integers of up to 15 digits are below 2^53, hence exact. */
const maxExactDigits = 15;
const powersOfTen = Float64Array.from({ length: maxExactDigits + 1 }, (_, power) => 10 ** power);

/**
 * Parses a short plain decimal ("1200", "-3.50", "+.5"); NaN for any other text. The result is correctly rounded: the
 * digits and the power of ten are exact, and one division rounds once.
 *
 * Source: W. D. Clinger, "How to Read Floating Point Numbers Accurately", 1990.
 */
export function plainDecimal(text: string): number {
  const first = text.charCodeAt(0);
  const start = first === plusCode || first === minusCode ? 1 : 0;
  let point = -1;
  let digits = 0;
  for (let index = start; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code >= zeroCode && code <= nineCode) digits = digits * 10 + (code - zeroCode);
    else if (code === pointCode && point < 0) point = index;
    else return Number.NaN;
    if (index - start > maxExactDigits) return Number.NaN;
  }
  const count = text.length - start - (point < 0 ? 0 : 1);
  if (count === 0 || count > maxExactDigits) return Number.NaN;
  const magnitude = point < 0 ? digits : digits / (powersOfTen[text.length - point - 1] ?? Number.NaN);
  return first === minusCode ? -magnitude : magnitude;
}
