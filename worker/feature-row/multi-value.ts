import type { MultiFeature } from '../../shared/bundle/manifest.js';
import { foldedText } from '../../shared/normal-text.js';
import { compileVocabulary } from './category-value.js';
import { type FeatureWriter, NO_COLUMN } from './feature-writer.js';
import { MISSING, READ, type Reading, UNREADABLE } from './missing-value.js';

/** Longer than what any CRM keeps in a field of several values. */
const LONGEST_LIST = 65_536;

/**
 * The writer of a multi feature's columns (multi-hot), for a scalar or for one element of an array. A text that is a
 * category as a whole stands for it; any other is taken apart at the separator. Unknown parts set nothing.
 */
export function compileMultiWriter(feature: MultiFeature, missingTexts: ReadonlySet<string>): FeatureWriter {
  const vocabulary = compileVocabulary(feature.categories);
  const separator = (feature.separator ?? ';').normalize('NFKC');
  const columns = feature.columns;

  function writePart(text: string, out: Float32Array, offset: number): Reading {
    const folded = foldedText(text);
    const index = vocabulary.get(folded);
    if (index === undefined) return missingTexts.has(folded) ? MISSING : READ;
    out[offset + (columns[index] ?? NO_COLUMN)] = 1;
    return READ;
  }

  return (value, { out, offset }) => {
    const text = String(value);
    if (text.length > LONGEST_LIST) return UNREADABLE;
    if (separator === '' || vocabulary.has(foldedText(text))) return writePart(text, out, offset);
    let reading: Reading = MISSING;
    for (const part of text.normalize('NFKC').split(separator)) {
      if (part !== '' && writePart(part, out, offset) === READ) reading = READ;
    }
    return reading;
  };
}
