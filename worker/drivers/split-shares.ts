import { NotASum } from './not-a-sum.js';
import { LEAF, type TreeEnsemble } from './tree-ensemble.js';

/**
 * The weight of each node that its share of the training rows is worked out from.
 * @param covers those of the whole bundle, in the order of its tree nodes; undefined when it has none
 * @returns the bundle's where it has them, else the file's hit rates
 * @throws NotASum when they cannot be believed: converters write a constant, or leave them out
 */
export function nodeCovers(ensemble: TreeEnsemble, covers: Float32Array | undefined): ArrayLike<number> {
  const { firstCover, nodeCount, hitRates } = ensemble;
  if (covers !== undefined) {
    const own = covers.subarray(firstCover, firstCover + nodeCount);
    if (own.length === nodeCount && addUp(own, ensemble)) return own;
  } else if (hitRates !== undefined && addUp(hitRates, ensemble)) return hitRates;
  const what = covers === undefined && hitRates !== undefined ? 'the hit rates of the trees' : 'the covers';
  if (covers === undefined && hitRates === undefined)
    throw new NotASum('the trees come without the weights of their nodes');
  throw new NotASum(`${what} are constant or do not add up`);
}

/** Sums of float32 numbers, and hessians that were rounded before they were written. */
const roundingShare = 1e-3;

/** Whether children sum to their parent (those with several parents left out), and not all nodes have the same. */
function addUp(weights: ArrayLike<number>, ensemble: TreeEnsemble): boolean {
  const { decision, whenTrue, whenFalse, nodeCount } = ensemble;
  const parents = parentCounts(ensemble);
  const at = (node: number): number => weights[node] ?? Number.NaN;
  let isConstant = true;
  let splits = 0;
  for (let node = 0; node < nodeCount; node += 1) {
    const weight = at(node);
    if (!(Number.isFinite(weight) && weight >= 0)) return false;
    isConstant &&= weight === at(0);
    if (decision[node] === LEAF) continue;
    const [one, other] = [whenTrue[node] ?? -1, whenFalse[node] ?? -1];
    if (one === other) continue;
    splits += 1;
    if ((parents[one] ?? 0) > 1 || (parents[other] ?? 0) > 1) continue;
    if (!(Math.abs(at(one) + at(other) - weight) <= roundingShare * weight)) return false;
  }
  return splits === 0 || !isConstant;
}

/** How many splits lead to each node. */
export function parentCounts({ nodeCount, decision, whenTrue, whenFalse }: TreeEnsemble): Int32Array {
  const counts = new Int32Array(nodeCount);
  for (let node = 0; node < nodeCount; node += 1) {
    if (decision[node] === LEAF) continue;
    for (const child of [whenTrue[node], whenFalse[node]]) {
      if (child !== undefined) counts[child] = (counts[child] ?? 0) + 1;
    }
  }
  return counts;
}

/**
 * The share of a split's rows that go the way of true, 0 to 1. It comes from the cover of a child that has no other
 * parent: that of a shared one counts the rows of all its parents. Half when no row reached the split, of each of the
 * `nodes` that it stands for.
 */
export function trueShare(split: {
  readonly cover: number;
  readonly ofTrue: number;
  readonly ofFalse: number;
  readonly isFalseShared: boolean;
  readonly isTrueShared: boolean;
  readonly nodes: number;
}): number {
  if (!(split.cover > 0)) return 1 - 0.5 ** split.nodes;
  const share =
    split.isFalseShared && !split.isTrueShared ? split.ofTrue / split.cover : 1 - split.ofFalse / split.cover;
  return Math.min(1, Math.max(0, share));
}
