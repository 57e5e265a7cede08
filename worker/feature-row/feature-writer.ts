import type { Scalar } from '../../shared/packed-cell.js';
import type { Reading } from './missing-value.js';

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
export const NO_COLUMN = -1;
