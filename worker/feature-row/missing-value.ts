import type { Feature, Manifest } from '../../shared/bundle/manifest.js';
import { foldedText } from '../../shared/normal-text.js';
import type { Scalar } from '../../shared/packed-cell.js';

/** What reading one cell for one feature came to. */
export const wasRead = 0;
/** Sent, but one of the texts that mean missing. */
export const wasMissing = 1;
/** A scalar that makes no sense for the feature's type: treated as missing, and counted. */
export const wasUnreadable = 2;
export type Reading = typeof wasRead | typeof wasMissing | typeof wasUnreadable;

/** Where a feature writes: a row of `width` columns that starts at `offset` and already holds what missing values leave. */
export interface RowTarget {
  readonly out: Float32Array;
  readonly offset: number;
  /** Unix ms of the request: what ages are counted to. */
  readonly nowMs: number;
}

/**
 * Writes the columns of one feature for one scalar. It leaves the row as it is when the value is missing or
 * unreadable, and clears the feature's `missing_column` when it is not.
 */
export type FeatureWriter = (value: Scalar, target: RowTarget) => Reading;

/** No such column. */
export const noColumn = -1;

/**
 * No reader gives an infinite number, so the infinities stand for what is not a value:
 * a reader answers a finite number or one of these two.
 */
export const missingSentinel = Number.POSITIVE_INFINITY;
export const unreadableSentinel = Number.NEGATIVE_INFINITY;

const alwaysMissing = ['', 'null', 'none', 'n/a', 'na', '-'];

/**
 * The texts that mean missing to one model, folded (see `foldedText`).
 * @param furtherTokens `missing_tokens` of the manifest
 */
export function compileMissingTexts(furtherTokens: readonly string[] = []): ReadonlySet<string> {
  return new Set([...alwaysMissing, ...furtherTokens].map(foldedText));
}

/** The reading that a reader's answer amounts to. */
export function readingOf(value: number): Reading {
  if (value === missingSentinel) return wasMissing;
  return value === unreadableSentinel ? wasUnreadable : wasRead;
}

/**
 * The input row of a record of which every value is missing: imputed values, NaN where there are none, and the
 * `missing_column`s set. Features write over it what they can read.
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
