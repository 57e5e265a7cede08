/** How a node decides; the numbers are those of this code, not of ONNX. */
export const LEAF = 0;
export const AT_MOST = 1;
export const belowCode = 2;
export const atLeastCode = 3;
export const aboveCode = 4;
export const equalCode = 5;
export const unequalCode = 6;
/** The value is one of `members`. */
export const amongCode = 7;

/** One input column of the trees: `weight` * model column + `offset`, in float32. Without preprocessing 1 and 0. */
export interface TreeInput {
  readonly column: number;
  readonly weight: number;
  readonly offset: number;
}

/**
 * The trees of one ONNX operator, whichever version of it, as arrays over all nodes of all trees. A node may have
 * several parents: converters turn a split on a set of categories into a chain of `equalCode` nodes with one true child.
 */
export interface TreeEnsemble {
  readonly inputs: readonly TreeInput[];
  /** Where its nodes begin among the tree nodes of the whole graph, which is the order of the bundle's covers. */
  readonly firstCover: number;
  readonly nodeCount: number;
  readonly roots: readonly number[];
  readonly decision: Uint8Array;
  /** Which of `inputs` a node looks at. */
  readonly input: Int32Array;
  readonly threshold: Float64Array;
  /** Of the nodes that decide by `amongCode`. */
  readonly members: ReadonlyMap<number, Float64Array>;
  readonly whenTrue: Int32Array;
  readonly whenFalse: Int32Array;
  /** 1 where NaN goes the way of true. */
  readonly missingIsTrue: Uint8Array;
  /** What the file says of how many rows reached a node; converters often write a constant. */
  readonly hitRates: Float64Array | undefined;
  readonly leafWeights: readonly LeafWeight[];
}

/** What a leaf adds to one target (a class, or an output of a regressor). */
export interface LeafWeight {
  readonly node: number;
  readonly target: number;
  readonly weight: number;
}
