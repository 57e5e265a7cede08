import type { MultiFeature } from '../../shared/bundle/manifest/manifest.js';
import { boundedNfkc } from '../../shared/contract/texts.js';
import { maxList } from '../../shared/messages/cells.js';
import { compileLookUp, unknownCategory } from './category-value.js';
import {
  type FeatureWriter,
  missingSentinel,
  type Reading,
  wasMissing,
  wasRead,
  wasUnreadable,
  wasUnseen,
} from './cell-reading.js';
import { foldedValue, rememberTexts } from './text-reader.js';

/** A parsed list: the columns that it sets. */
interface Listed {
  readonly columns: readonly number[];
  readonly reading: Reading;
}

const tooLong: Listed = { columns: [], reading: wasUnreadable };

/**
 * Compiles the writer of a multi feature's columns (multi-hot), for a scalar or for one element of an array. A text
 * that equals a category, or means missing, is not split; any other text is split at the separator. Unknown parts set
 * nothing.
 */
export function compileMultiWriter(feature: MultiFeature, missingTexts: ReadonlySet<string>): FeatureWriter {
  const list = rememberTexts(compileListReader(feature, missingTexts));
  return (value, { out, offset }) => {
    const { columns, reading } = list(String(value));
    for (const column of columns) out[offset + column] = 1;
    return reading;
  };
}

function compileListReader(feature: MultiFeature, missingTexts: ReadonlySet<string>): (text: string) => Listed {
  const lookUp = compileLookUp(feature, missingTexts);
  const separator = boundedNfkc(feature.separator ?? ';');

  return (text) => {
    if (text.length > maxList) return tooLong;
    const isOne = separator === '' || lookUp(foldedValue(text) ?? text) !== unknownCategory;
    const parts = isOne
      ? [text]
      : boundedNfkc(text)
          .split(separator)
          .filter((part) => part !== '');
    const columns = new Set<number>();
    let reading: Reading = wasMissing;
    for (const part of parts) {
      const index = lookUp(foldedValue(part) ?? part);
      if (index === missingSentinel) continue;
      if (index === unknownCategory) reading = wasUnseen;
      else if (reading !== wasUnseen) reading = wasRead;
      const column = feature.columns[index];
      if (column !== undefined) columns.add(column);
    }
    return { columns: [...columns], reading };
  };
}
