/** Decision codes of nodes. The numbers are internal, not ONNX's. */
export const leafCode = 0;
export const atMostCode = 1;
export const belowCode = 2;
export const atLeastCode = 3;
export const aboveCode = 4;
export const equalCode = 5;
export const unequalCode = 6;
/** The value is one of `members`. */
export const amongCode = 7;

/** One input column of the trees: `weight` * model column + `offset`, in float32. Defaults are 1 and 0. */
export interface TreeInput {
  readonly column: number;
  readonly weight: number;
  readonly offset: number;
}

/**
 * The trees of one ONNX operator of any version, as arrays over all nodes of all trees. A node may have several
 * parents: converters turn a split on a set of categories into a chain of `equalCode` nodes with one true child.
 */
export interface TreeEnsemble {
  readonly inputs: readonly TreeInput[];
  /** Index of its first node among the tree nodes of the graph, which is the order of the bundle's covers. */
  readonly firstCover: number;
  readonly nodeCount: number;
  readonly roots: readonly number[];
  readonly decision: Uint8Array;
  /** Index into `inputs` of the value that a node tests. */
  readonly input: Int32Array;
  readonly threshold: Float64Array;
  /** Value sets of the `amongCode` nodes, by node. */
  readonly members: ReadonlyMap<number, Float64Array>;
  readonly whenTrue: Int32Array;
  readonly whenFalse: Int32Array;
  /** 1 if NaN goes to the true child. */
  readonly missingIsTrue: Uint8Array;
  /** Rows that reached each node, according to the file; converters often write a constant. */
  readonly hitRates: Float64Array | undefined;
  readonly leafWeights: readonly LeafWeight[];
}

/** The weight that a leaf adds to one target (a class, or an output of a regressor). */
export interface LeafWeight {
  readonly node: number;
  readonly target: number;
  readonly weight: number;
}
