import type { BooleanFeature } from '../../shared/bundle/manifest/manifest.js';
import type { Scalar } from '../../shared/messages/cells.js';
import {
  type FeatureWriter,
  missingSentinel,
  noColumn,
  readingOf,
  unreadableSentinel,
  wasRead,
} from './cell-reading.js';
import { compileTextReader } from './text-reader.js';

const trueTexts = ['true', '1', 'yes', 'y', 't', 'on'];
const falseTexts = ['false', '0', 'no', 'n', 'f', 'off'];

/**
 * Compiles a reader of boolean cells. The words for true and false take precedence over the missing texts.
 * @returns a function from a scalar to 1, 0, `missingSentinel` or `unreadableSentinel`
 */
export function compileBooleanReader(missingTexts: ReadonlySet<string>): (value: Scalar) => number {
  const words = new Map<string, number>();
  for (const text of missingTexts) words.set(text, missingSentinel);
  for (const text of trueTexts) words.set(text, 1);
  for (const text of falseTexts) words.set(text, 0);
  const readText = compileTextReader((folded) => words.get(folded) ?? unreadableSentinel, {
    tooLong: unreadableSentinel,
  });
  return (value) => {
    if (typeof value === 'string') return readText(value);
    if (typeof value === 'boolean') return value ? 1 : 0;
    return value === 0 || value === 1 ? value : readText(String(value));
  };
}

/** Compiles the writer of a boolean feature's column. */
export function compileBooleanWriter(feature: BooleanFeature, missingTexts: ReadonlySet<string>): FeatureWriter {
  const read = compileBooleanReader(missingTexts);
  const column = feature.columns[0] ?? noColumn;
  const missingColumn = feature.missing_column ?? noColumn;
  return (value, { out, offset }) => {
    const truth = read(value);
    const reading = readingOf(truth);
    if (reading !== wasRead) return reading;
    out[offset + column] = truth;
    if (missingColumn !== noColumn) out[offset + missingColumn] = 0;
    return wasRead;
  };
}
