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
import { compileTextReader, withoutZeroFraction } from './text-reader.js';

const words: ReadonlyMap<string, number> = new Map([
  ...['true', '1', 'yes', 'y', 't', 'on'].map((text) => [text, 1] as const),
  ...['false', '0', 'no', 'n', 'f', 'off'].map((text) => [text, 0] as const),
]);

/**
 * Compiles a reader of boolean cells. The words for true and false take precedence over the missing texts. "1.0" is 1.
 * @returns a function from a scalar to 1, 0, `missingSentinel` or `unreadableSentinel`
 */
export function compileBooleanReader(missingTexts: ReadonlySet<string>): (value: Scalar) => number {
  const readText = compileTextReader(
    (folded) => {
      const word = words.get(folded);
      if (word !== undefined) return word;
      return missingTexts.has(folded)
        ? missingSentinel
        : (words.get(withoutZeroFraction(folded)) ?? unreadableSentinel);
    },
    { tooLong: unreadableSentinel },
  );
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
