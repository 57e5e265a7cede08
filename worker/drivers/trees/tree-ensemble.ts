/** Decision codes of nodes: a leaf, then the modes of the standard in its order. No code names 4, which is above. */
export const leafCode = 0;
export const atMostCode = 1;
const belowCode = 2;
const atLeastCode = 3;
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
 * parents: converters write a split on a set of categories as a chain of `equalCode` nodes with one true child.
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

/**
 * A split in one of two normal forms: the value is at most `threshold`, or it is one of `members`. The child for which
 * this holds is the near side, the other child the far side.
 */
export interface NodeDecision {
  readonly input: number;
  readonly threshold: number;
  readonly members: Float64Array | undefined;
  /** Whether NaN goes to the near side. */
  readonly isMissingNear: boolean;
  readonly near: number;
  readonly far: number;
  readonly whenTrue: number;
  readonly whenFalse: number;
  /** Number of the file's nodes in this decision: more than one for a chain. */
  readonly nodes: number;
}

/**
 * Normalizes a node's decision. Converters write a set of categories as a chain of `equalCode` nodes on one column
 * with one true child. Such a chain becomes one decision: the value is in the chain's set.
 * - Its share equals the chain's, because the shares of the false branches multiply along a chain.
 * - The shared subtree is walked once instead of once per node.
 * @param parents number of splits that lead to each node
 */
export function nodeDecision(ensemble: TreeEnsemble, node: number, parents: Int32Array): NodeDecision {
  const how = ensemble.decision[node] ?? leafCode;
  if (how === equalCode || how === amongCode) return chainDecision(ensemble, node, parents);
  if (how === leafCode) throw new RangeError(`node ${node} is a leaf and has no decision`);
  const whenTrue = ensemble.whenTrue[node] ?? -1;
  const whenFalse = ensemble.whenFalse[node] ?? -1;
  const threshold = ensemble.threshold[node] ?? Number.NaN;
  const isMissingTrue = ensemble.missingIsTrue[node] === 1;
  const isTrueNear = how === atMostCode || how === belowCode;
  return {
    input: ensemble.input[node] ?? 0,
    threshold: how === belowCode || how === atLeastCode ? justBelow(threshold) : threshold,
    members: how === unequalCode ? Float64Array.of(threshold) : undefined,
    // NaN differs from every value, so at `unequalCode` it goes to the true child regardless of the missing bit.
    isMissingNear: how !== unequalCode && isMissingTrue === isTrueNear,
    near: isTrueNear ? whenTrue : whenFalse,
    far: isTrueNear ? whenFalse : whenTrue,
    whenTrue,
    whenFalse,
    nodes: 1,
  };
}

function chainDecision(ensemble: TreeEnsemble, first: number, parents: Int32Array): NodeDecision {
  const { decision, input, threshold, members, whenTrue, whenFalse, missingIsTrue } = ensemble;
  const column = input[first] ?? 0;
  const near = whenTrue[first] ?? -1;
  const values: number[] = [];
  let isMissingNear = false;
  let nodes = 0;
  let next = first;
  do {
    const node = next;
    values.push(...(decision[node] === amongCode ? (members.get(node) ?? []) : [threshold[node] ?? Number.NaN]));
    isMissingNear ||= missingIsTrue[node] === 1;
    nodes += 1;
    next = whenFalse[node] ?? -1;
  } while (
    (decision[next] === equalCode || decision[next] === amongCode) &&
    input[next] === column &&
    whenTrue[next] === near &&
    parents[next] === 1
  );
  return {
    input: column,
    threshold: Number.NaN,
    members: Float64Array.from(values).sort(),
    isMissingNear,
    near,
    far: next,
    whenTrue: near,
    whenFalse: next,
    nodes,
  };
}

const bits = new DataView(new ArrayBuffer(4));

/**
 * The largest float32 below a number t: for a float32 x, x < t becomes x <= justBelow(t). NaN if there is no such
 * float32.
 */
export function justBelow(value: number): number {
  const near = Math.fround(value);
  if (near < value) return near;
  if (near === Number.NEGATIVE_INFINITY || Number.isNaN(near)) return Number.NaN;
  if (near === 0) return -(2 ** -149);
  bits.setFloat32(0, near);
  bits.setInt32(0, bits.getInt32(0) + (near > 0 ? -1 : 1));
  return bits.getFloat32(0);
}
