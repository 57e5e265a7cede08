import type { BooleanFeature } from '../../shared/bundle/manifest.js';
import type { Scalar } from '../../shared/packed-cell.js';
import { type FeatureWriter, NO_COLUMN } from './feature-writer.js';
import { MISSING_VALUE, READ, readingOf, UNREADABLE_VALUE } from './missing-value.js';
import { compileTextReader } from './text-reader.js';

const TRUE_TEXTS = ['true', '1', 'yes', 'y', 't', 'on'];
const FALSE_TEXTS = ['false', '0', 'no', 'n', 'f', 'off'];

/**
 * A reader of boolean cells. Its words are consulted before the texts that mean missing.
 * @returns a function from a scalar to 1, 0, `MISSING_VALUE` or `UNREADABLE_VALUE`
 */
export function compileBooleanReader(missingTexts: ReadonlySet<string>): (value: Scalar) => number {
  const words = new Map<string, number>();
  for (const text of missingTexts) words.set(text, MISSING_VALUE);
  for (const text of TRUE_TEXTS) words.set(text, 1);
  for (const text of FALSE_TEXTS) words.set(text, 0);
  const readText = compileTextReader((folded) => words.get(folded) ?? UNREADABLE_VALUE, {
    tooLong: UNREADABLE_VALUE,
  });
  return (value) => {
    if (typeof value === 'string') return readText(value);
    if (typeof value === 'boolean') return value ? 1 : 0;
    return value === 0 || value === 1 ? value : readText(String(value));
  };
}

/** The writer of a boolean feature's column. */
export function compileBooleanWriter(
  feature: BooleanFeature,
  missingTexts: ReadonlySet<string>,
): FeatureWriter {
  const read = compileBooleanReader(missingTexts);
  const column = feature.columns[0] ?? NO_COLUMN;
  const missingColumn = feature.missing_column ?? NO_COLUMN;
  return (value, { out, offset }) => {
    const truth = read(value);
    const reading = readingOf(truth);
    if (reading !== READ) return reading;
    out[offset + column] = truth;
    if (missingColumn !== NO_COLUMN) out[offset + missingColumn] = 0;
    return READ;
  };
}
