import { NotASum } from './not-a-sum.js';
import { LEAF, type TreeEnsemble } from './tree-ensemble.js';

/**
 * The weight of each node that its share of the training rows is worked out from.
 * @param covers those of the whole bundle, in the order of its tree nodes; undefined when it has none
 * @returns the bundle's where it has them, else the file's hit rates
 * @throws NotASum when there are none that can be believed: converters write a constant, or leave them out
 */
export function nodeCovers(ensemble: TreeEnsemble, covers: Float32Array | undefined): ArrayLike<number> {
  const { firstCover, nodeCount, hitRates } = ensemble;
  if (covers !== undefined && covers.length >= firstCover + nodeCount)
    return covers.subarray(firstCover, firstCover + nodeCount);
  if (hitRates === undefined) throw new NotASum('the trees come without the weights of their nodes');
  if (!areConsistent(hitRates, ensemble))
    throw new NotASum('the hit rates of the trees are constant or do not add up');
  return hitRates;
}

/** Whether children sum to their parent, and not because every node has the same. */
function areConsistent(
  rates: Float64Array,
  { decision, whenTrue, whenFalse, nodeCount }: TreeEnsemble,
): boolean {
  const at = (node: number | undefined): number => rates[node ?? -1] ?? Number.NaN;
  if (decision.every((how) => how === LEAF)) return true;
  for (let node = 0; node < nodeCount; node += 1) {
    const rate = at(node);
    if (!(Number.isFinite(rate) && rate >= 0)) return false;
    if (decision[node] === LEAF) continue;
    const difference = Math.abs(at(whenTrue[node]) + at(whenFalse[node]) - rate);
    if (!(difference <= 1e-4 * rate)) return false;
  }
  return rates.some((rate) => rate !== rates[0]);
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
 * parent: that of a shared one counts the rows of all its parents. Half when no row reached the split.
 */
export function trueShare(split: {
  readonly cover: number;
  readonly ofTrue: number;
  readonly ofFalse: number;
  readonly isFalseShared: boolean;
  readonly isTrueShared: boolean;
}): number {
  if (!(split.cover > 0)) return 0.5;
  const share =
    split.isFalseShared && !split.isTrueShared ? split.ofTrue / split.cover : 1 - split.ofFalse / split.cover;
  return Math.min(1, Math.max(0, share));
}
