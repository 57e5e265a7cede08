import type { Feature, Manifest } from '../../shared/bundle/manifest/manifest.js';
import { foldedText } from '../../shared/contract/texts.js';
import type { Scalar } from '../../shared/messages/cells.js';

/** Outcome of reading one cell for one feature: a value. */
export const wasRead = 0;
/** The cell is null, or one of the texts that mean missing. */
export const wasMissing = 1;
/** The scalar does not fit the feature's type: counted, and treated as missing. */
export const wasUnreadable = 2;
/** A value outside the vocabulary of the feature: the model has not seen it. It is written as such. */
export const wasUnseen = 3;
/** A date that was read, and is another day in the other order of day and month. */
export const wasAmbiguous = 4;
export type Reading =
  | typeof wasRead
  | typeof wasMissing
  | typeof wasUnreadable
  | typeof wasUnseen
  | typeof wasAmbiguous;

/** Whether a feature got a value. */
export const hasValue = (reading: Reading | undefined): boolean => isKnown(reading) || reading === wasUnseen;

/** Whether a feature got a value that the model knows. */
export const isKnown = (reading: Reading | undefined): boolean => reading === wasRead || reading === wasAmbiguous;

/** The row to write into: `width` columns from `offset` on, already filled with the missing row. */
export interface RowTarget {
  readonly out: Float32Array;
  readonly offset: number;
  /** Time of the request, Unix ms: ages are measured up to it. */
  readonly nowMs: number;
}

/**
 * Writes the columns of one feature for one scalar and clears its `missing_column`. It leaves the row unchanged if the
 * value is missing or unreadable.
 */
export type FeatureWriter = (value: Scalar, target: RowTarget) => Reading;

/** Stands for an absent column. */
export const noColumn = -1;

/** A reader returns a finite number or one of these two infinities, which no cell can produce. */
export const missingSentinel = Number.POSITIVE_INFINITY;
export const unreadableSentinel = Number.NEGATIVE_INFINITY;

/** The texts that people, CRMs, programs and spreadsheets with errors write for no value. */
const alwaysMissing = [
  ...['', '-', '--', 'n/a', 'na', 'null', 'none', 'nil', 'nan', 'nat', 'undefined', '<na>', '#na', '-nan', '\\N'],
  ...['(blank)', '(empty)', '(null)', '(none)', '(no value)', '--none--'],
  ...[
    '#n/a',
    '#ref!',
    '#value!',
    '#null!',
    '#div/0!',
    '#name?',
    '#num!',
    '#error!',
    '#spill!',
    '#calc!',
    '#nv',
    '#n/d',
  ],
];

/**
 * The folded texts (see `foldedText`) that mean missing to one model.
 * @param furtherTokens `missing_tokens` of the manifest
 */
export function compileMissingTexts(furtherTokens: readonly string[] = []): ReadonlySet<string> {
  return new Set([...alwaysMissing, ...furtherTokens].map(foldedText));
}

/** The reading that a reader's result stands for. */
export function readingOf(value: number): Reading {
  if (value === missingSentinel) return wasMissing;
  return value === unreadableSentinel ? wasUnreadable : wasRead;
}

/**
 * The input row of a record without any value: imputed values or NaN, and every `missing_column` set to 1. Features
 * overwrite it.
 */
export function missingRow({ width, features }: Pick<Manifest, 'width' | 'features'>): Float32Array {
  const row = new Float32Array(width);
  for (const feature of features) {
    for (const column of feature.columns) row[column] = missingValue(feature);
    if (feature.type !== 'multi' && feature.missing_column !== undefined) row[feature.missing_column] = 1;
  }
  return row;
}

function missingValue(feature: Feature): number {
  if (feature.type === 'multi') return 0;
  if (feature.type === 'category' && feature.encoding === 'onehot') return 0;
  return feature.impute ?? Number.NaN;
}
