import type { Feature, Manifest } from '../../shared/bundle/manifest/manifest.js';
import { foldedText } from '../../shared/contract/texts.js';
import { maxValue, type Scalar } from '../../shared/messages/cells.js';

/** Outcome of reading one cell for one feature: a value. */
export const wasRead = 0;
/** The cell is null, or one of the texts that mean missing. */
export const wasMissing = 1;
/** The scalar does not fit the feature's type: counted, and treated as missing. */
export const wasUnreadable = 2;
export type Reading = typeof wasRead | typeof wasMissing | typeof wasUnreadable;

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

const alwaysMissing = ['', 'null', 'none', 'n/a', 'na', '-'];

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

/**
 * Compiles a text reader that folds its input and caches its results.
 * @param read a pure function of a folded text (see `foldedText`)
 * @param tooLong the result for a text of more than 4096 characters after trimming
 */
export function compileTextReader(
  read: (folded: string) => number,
  { tooLong }: { readonly tooLong: number },
): (text: string) => number {
  return rememberTexts((text) => {
    const folded = foldedValue(text);
    return folded === undefined ? tooLong : read(folded);
  });
}

/** Folds the text of one value (see `foldedText`); undefined for more than 4096 characters after trimming. */
export function foldedValue(text: string): string | undefined {
  if (text.length <= maxRememberedLength) return foldedText(text);
  const trimmed = text.trim();
  return trimmed.length > maxValue ? undefined : foldedText(trimmed);
}

/** Enough for the vocabulary of one field. A full cache is emptied, because callers send arbitrary texts. */
const maxRememberedTexts = 1024;
/** Longer texts are not cached. */
const maxRememberedLength = 64;

/**
 * Caches a function's results for texts of up to 64 characters.
 * @param work a pure function; callers must not modify its results
 */
export function rememberTexts<Answer extends number | object>(
  work: (text: string) => Answer,
): (text: string) => Answer {
  const answers = new Map<string, Answer>();
  return (text) => {
    const known = answers.get(text);
    if (known !== undefined) return known;
    const answer = work(text);
    if (text.length > maxRememberedLength) return answer;
    if (answers.size >= maxRememberedTexts) answers.clear();
    answers.set(text, answer);
    return answer;
  };
}
