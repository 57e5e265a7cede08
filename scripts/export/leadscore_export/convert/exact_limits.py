"""The limits beyond which the service explains trees by occlusion.

They are those of worker/drivers/trees. The service computes tables of numbers for each split, and refuses to
hold more than these.
"""

from __future__ import annotations

from leadscore_export.convert.tree_model import Leaf, Node, Split, TreeModel

MAX_SPLITS = 500_000
MAX_NUMBERS = 12_500_000
MAX_DEPTH = 1_000

_SEEN_BEFORE = 3  # rows of an edge whose column is tested above too
_SEEN_FIRST = 2


def occlusion_reason(model: TreeModel) -> str | None:
    """Why the service will explain these trees by occlusion; None if it explains them exactly."""
    splits, numbers = 0, 0
    for tree in model.trees:
        size = _TreeSize()
        size.visit(tree)
        if size.depth > MAX_DEPTH:
            return f"a tree is more than {MAX_DEPTH} splits deep"
        splits += size.splits
        numbers += size.numbers
    if splits > MAX_SPLITS:
        return f"the trees have {splits:,} splits, more than {MAX_SPLITS:,}"
    if numbers > MAX_NUMBERS:
        return f"the tables of the {splits:,} splits have {numbers:,} numbers, more than {MAX_NUMBERS:,}"
    return None


class _TreeSize:
    """Counts the splits of a tree and the rows of its tables."""

    def __init__(self) -> None:
        self.splits = 0
        self.depth = 0
        self._rows = 0
        self._columns = 0

    @property
    def numbers(self) -> int:
        """A row holds two numbers for each point of the quadrature, which has two points or more."""
        return 2 * self._rows * max(2, (self._columns + 1) // 2) if self.splits else 0

    def visit(self, root: Node) -> None:
        waiting: list[tuple[Node, frozenset[int], int]] = [(root, frozenset(), 0)]
        while waiting:
            node, above, depth = waiting.pop()
            if isinstance(node, Leaf):
                continue
            self.splits += 1
            self.depth = max(self.depth, depth)
            standings = _SEEN_BEFORE if node.column in above else _SEEN_FIRST
            children = (node.when_true, node.when_false)
            inner = sum(isinstance(child, Split) for child in children)
            # One edge to each split below, and one entry for the leaves.
            self._rows += standings * (inner + (inner < len(children)))
            below = above | {node.column}
            self._columns = max(self._columns, len(below))
            waiting += [(child, below, depth + 1) for child in children]
