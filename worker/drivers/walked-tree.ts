import type { NodeDecision } from './node-decision.js';
import type { SplitTree } from './split-tree.js';
import { planRows, tableNumbers, tableWidths, type WalkTable, walkTables } from './walk-tables.js';

/** A tree ready to be walked: everything by split, parents before children. */
export interface WalkedTree {
  readonly size: number;
  readonly input: Int32Array;
  readonly threshold: Float64Array;
  readonly isMissingNear: Uint8Array;
  /** Splits on a set of values, by their place; empty in most trees. */
  readonly members: readonly (Float64Array | undefined)[];
  /** The nearest split above on the same column and the side taken there; -1 when there is none. */
  readonly ancestor: Int32Array;
  readonly ancestorSide: Uint8Array;
  readonly tables: readonly WalkTable[];
}

/**
 * @param fieldOf the place of an input column's contribution
 * @returns a tree ready to be walked, and how many numbers its tables hold
 */
export function prepareTree(
  tree: SplitTree,
  fieldOf: (column: number) => number,
): { walked: WalkedTree; numbers: number } {
  const { splits } = tree;
  const rows = planRows(tree);
  const widths = tableWidths(tree.mostColumns);
  const decisions: NodeDecision[] = splits.map((split) => split.decision);
  const hasSets = decisions.some((decision) => decision.members !== undefined);
  return {
    numbers: tableNumbers(widths, rows),
    walked: {
      size: splits.length,
      input: Int32Array.from(decisions, (decision) => decision.input),
      threshold: Float64Array.from(decisions, (decision) => decision.threshold),
      isMissingNear: Uint8Array.from(decisions, (decision) => (decision.isMissingNear ? 1 : 0)),
      members: hasSets ? decisions.map((decision) => decision.members) : [],
      ancestor: Int32Array.from(splits, (split) => split.ancestor),
      ancestorSide: Uint8Array.from(splits, (split) => split.ancestorSide),
      tables: walkTables(tree, { rows, widths, fieldOf }),
    },
  };
}
