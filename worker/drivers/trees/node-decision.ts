import {
  aboveCode,
  amongCode,
  atLeastCode,
  atMostCode,
  belowCode,
  equalCode,
  type TreeEnsemble,
  unequalCode,
} from './tree-ensemble.js';

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
 * Normalizes a node's decision. Converters turn a set of categories into a chain of `equalCode` nodes on one column
 * with one true child. Such a chain becomes one decision: the value is in the chain's set.
 * - Its share equals the chain's, because the shares of the false branches multiply along a chain.
 * - The shared subtree is walked once instead of once per node.
 * @param parents number of splits that lead to each node
 */
export function nodeDecision(ensemble: TreeEnsemble, node: number, parents: Int32Array): NodeDecision {
  const how = ensemble.decision[node];
  if (how === equalCode || how === amongCode) return chainDecision(ensemble, node, parents);
  const threshold = ensemble.threshold[node] ?? Number.NaN;
  const isMissingTrue = ensemble.missingIsTrue[node] === 1;
  switch (how) {
    case atMostCode:
    case belowCode: {
      const limit = how === belowCode ? justBelow(threshold) : threshold;
      return decide(ensemble, node, {
        limit,
        members: undefined,
        isMissingNear: isMissingTrue,
        isTrueNear: true,
      });
    }
    case atLeastCode:
    case aboveCode: {
      const limit = how === atLeastCode ? justBelow(threshold) : threshold;
      return decide(ensemble, node, {
        limit,
        members: undefined,
        isMissingNear: !isMissingTrue,
        isTrueNear: false,
      });
    }
    case unequalCode: {
      // NaN differs from every value, so it goes to the true child regardless of the missing bit.
      const members = Float64Array.of(threshold);
      return decide(ensemble, node, { limit: threshold, members, isMissingNear: false, isTrueNear: false });
    }
    default:
      throw new RangeError(`node ${node} is a leaf and has no decision`);
  }
}

function decide(
  ensemble: TreeEnsemble,
  node: number,
  how: { limit: number; members: Float64Array | undefined; isMissingNear: boolean; isTrueNear: boolean },
): NodeDecision {
  const whenTrue = ensemble.whenTrue[node] ?? -1;
  const whenFalse = ensemble.whenFalse[node] ?? -1;
  return {
    input: ensemble.input[node] ?? 0,
    threshold: how.limit,
    members: how.members,
    isMissingNear: how.isMissingNear,
    near: how.isTrueNear ? whenTrue : whenFalse,
    far: how.isTrueNear ? whenFalse : whenTrue,
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
