import type { SumColumn } from './sum.js';

/** A stored tensor: its values and how they lie. */
export interface StoredValues {
  readonly dims: readonly number[];
  readonly values: Float64Array;
}

/** What an operator's columns are worked out from. */
export interface Operands {
  /** The columns of an input by its position. Throws NotASum when they are not sums. */
  columns(position: number): readonly SumColumn[];
  /** An input that is stored in the file; undefined when it is computed or not given. */
  stored(position: number): StoredValues | undefined;
}
