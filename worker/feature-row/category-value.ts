import type { CategoryFeature } from '../../shared/bundle/manifest/manifest.js';
import { foldedText } from '../../shared/contract/texts.js';
import type { Scalar } from '../../shared/messages/cells.js';
import { type FeatureWriter, missingSentinel, noColumn, wasMissing, wasRead, wasUnseen } from './cell-reading.js';
import { compileTextReader, withoutZeroFraction } from './text-reader.js';

/** Index of a value outside the model's categories. */
export const unknownCategory = -1;

const wholeNumber = /^-?\d+$/;

/**
 * Compiles a look-up of folded texts. Categories and aliases come first, then the missing texts. Last come whole
 * numbers that a data frame wrote with a zero fraction, or without: "3.0" is the category "3", and "3" the category
 * "3.0".
 * @returns a function from a folded text to an index in `categories`, `unknownCategory` or `missingSentinel`
 * @throws Error when an alias names an unknown category
 */
export function compileLookUp(
  { categories, category_aliases: aliases }: Pick<CategoryFeature, 'categories' | 'category_aliases'>,
  missingTexts: ReadonlySet<string>,
): (folded: string) => number {
  const vocabulary = compileVocabulary(categories, aliases);
  const wholeNumbers = new Map<string, number>();
  for (const [text, index] of vocabulary) {
    const whole = withoutZeroFraction(text);
    if (wholeNumber.test(whole) && !wholeNumbers.has(whole)) wholeNumbers.set(whole, index);
  }
  return (folded) => {
    const index = vocabulary.get(folded);
    if (index !== undefined) return index;
    if (missingTexts.has(folded)) return missingSentinel;
    if (wholeNumbers.size === 0) return unknownCategory;
    return wholeNumbers.get(withoutZeroFraction(folded)) ?? unknownCategory;
  };
}

/** Maps the folded text of each category and alias to the category's index. The first of two equal texts wins. */
function compileVocabulary(
  categories: readonly string[],
  aliases: Readonly<Record<string, string>> = {},
): ReadonlyMap<string, number> {
  const indexes = new Map<string, number>();
  for (const [index, category] of categories.entries()) {
    const folded = foldedText(category);
    if (!indexes.has(folded)) indexes.set(folded, index);
  }
  for (const [seen, canonical] of Object.entries(aliases)) {
    const index = indexes.get(foldedText(canonical));
    if (index === undefined)
      throw new Error(`The category alias "${seen}" stands for "${canonical}", which is not a category`);
    const folded = foldedText(seen);
    if (!indexes.has(folded)) indexes.set(folded, index);
  }
  return indexes;
}

/**
 * Compiles a reader of category cells, by `compileLookUp`. Numbers and booleans are read as text.
 * @returns a function from a scalar to an index in `categories`, `unknownCategory` or `missingSentinel`
 */
export function compileCategoryReader(
  feature: Pick<CategoryFeature, 'categories' | 'category_aliases'>,
  missingTexts: ReadonlySet<string>,
): (value: Scalar) => number {
  const readText = compileTextReader(compileLookUp(feature, missingTexts), { tooLong: unknownCategory });
  return (value) => readText(typeof value === 'string' ? value : String(value));
}

/** Compiles the writer of a category feature's columns, one-hot or ordinal. */
export function compileCategoryWriter(feature: CategoryFeature, missingTexts: ReadonlySet<string>): FeatureWriter {
  const read = compileCategoryReader(feature, missingTexts);
  const missingColumn = feature.missing_column ?? noColumn;
  const write = feature.encoding === 'onehot' ? oneHotWriter(feature) : ordinalWriter(feature);
  return (value, { out, offset }) => {
    const index = read(value);
    if (index === missingSentinel) return wasMissing;
    write(index, out, offset);
    if (missingColumn !== noColumn) out[offset + missingColumn] = 0;
    return index === unknownCategory ? wasUnseen : wasRead;
  };
}

type IndexWriter = (index: number, out: Float32Array, offset: number) => void;

function oneHotWriter({ columns, other_column: otherColumn = noColumn }: CategoryFeature): IndexWriter {
  return (index, out, offset) => {
    const column = index === unknownCategory ? otherColumn : (columns[index] ?? noColumn);
    if (column !== noColumn) out[offset + column] = 1;
  };
}

function ordinalWriter({ columns, other_value: otherValue = Number.NaN }: CategoryFeature): IndexWriter {
  const column = columns[0] ?? noColumn;
  return (index, out, offset) => {
    out[offset + column] = index === unknownCategory ? otherValue : index;
  };
}
