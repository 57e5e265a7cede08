"""Trees of a trained table as trees of the bundle's columns, with thresholds in float32."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from leadscore_export.convert.pipelines.trained_table import TableColumn, TrainedTable
from leadscore_export.convert.tree_model import Leaf, Node, Split, TreeModel, float32_below
from leadscore_export.errors import ExportError
from leadscore_export.featurizer.feature_reader import FLOAT32_MAX

_LARGEST = int(np.array(np.finfo(np.float32).max).view(np.int32))
_SIGN_BITS = 0x7FFFFFFF


def served_trees(trees: TreeModel, table: TrainedTable) -> TreeModel:
    """The trees that the bundle serves.

    A split of a one-hot column becomes a test for membership in a set of categories. Scalers become part of
    the thresholds.
    """
    move = _Moving(table, is_wide=trees.is_wide).node
    roots = [move(root) for root in trees.trees]
    base = trees.base
    if table.positive == 0:
        share = 1 / max(1, len(roots)) if trees.is_probability else 0.0
        roots, base = [_opposite(root, share) for root in roots], -base
    return replace(trees, trees=roots, base=base, width=table.width)


class _Moving:
    """Moves splits of a trained table to the columns of the bundle."""

    def __init__(self, table: TrainedTable, *, is_wide: bool) -> None:
        self._table = table
        self._is_wide = is_wide

    def node(self, node: Node) -> Node:
        """The node, and all below it."""
        if isinstance(node, Leaf):
            return node
        column = self._table.column(node.column)
        if column.members is not None:
            return self._membership(node, column)
        moved = replace(
            node,
            column=column.column,
            when_true=self.node(node.when_true),
            when_false=self.node(node.when_false),
        )
        if node.test == "in":
            if column.operations:
                raise ExportError(
                    "the trees test a scaled column for membership in a set of categories; leave "
                    "categories out of the scaler, and train again"
                )
            return moved
        is_decimal = column.column in self._table.decimals
        if column.operations:
            threshold = _last_passing(
                self._passes(node, column), _unscaled(node, column), is_decimal=is_decimal
            )
            return replace(moved, test="<=", threshold=threshold)
        if self._is_wide and is_decimal:
            passes = self._passes(node, column)
            return replace(moved, threshold=_last_passing(passes, node.threshold, is_decimal=True))
        if self._is_wide:  # a split of any value against NaN has an infinite threshold
            return replace(moved, threshold=min(float32_below(node.threshold), FLOAT32_MAX))
        return moved

    def _membership(self, node: Split, column: TableColumn) -> Node:
        """A split of a one-hot column: its value is 1 for members, else 0."""
        passes = self._passes(node, column)
        if_member, if_other = (self.node(self._branch(node, passes(value))) for value in (1.0, 0.0))
        if passes(1.0) == passes(0.0):
            return if_member
        return Split(
            column=column.column,
            test="in",
            threshold=0.0,
            members=column.members or (),
            is_missing_true=False,
            when_true=if_member,
            when_false=if_other,
            cover=node.cover,
        )

    @staticmethod
    def _branch(node: Split, passes: bool) -> Node:
        return node.when_true if passes else node.when_false

    def _passes(self, node: Split, column: TableColumn) -> Callable[[float], bool]:
        """Whether an unscaled number takes the true branch, as the trainer computes it."""

        def passes(value: float) -> bool:
            with np.errstate(over="ignore"):
                number = column.scaled(np.array([value]))[0]
                number = number if self._is_wide else np.float64(np.float32(number))
            return bool(number <= node.threshold if node.test == "<=" else number < node.threshold)

        return passes


def _unscaled(node: Split, column: TableColumn) -> float:
    offset, scale = column.offset_and_scale
    return node.threshold / scale + offset


def _last_passing(passes: Callable[[float], bool], near: float, *, is_decimal: bool) -> float:
    """The largest float32 that passes. All smaller numbers pass too.

    `near`: Where to begin.
    `is_decimal`: Whether a float32 stands for the decimal number that is cast to it. 0.1 then passes a test
        `<= 0.1`, though its float32 is a little larger.
    """

    def at(rank: int) -> bool:
        number = _float_at(rank)
        return passes(float(str(number)) if is_decimal else float(number))

    with np.errstate(over="ignore"):
        start = _rank_of(np.float32(near))
    low = high = min(max(start, -_LARGEST), _LARGEST)
    step = 1
    while not at(low):
        if low == -_LARGEST:
            return float(np.float32(-np.inf))
        low, step = max(low - step, -_LARGEST), step * 2
    step = 1
    while at(high):
        if high == _LARGEST:
            return float(_float_at(_LARGEST))
        high, step = min(high + step, _LARGEST), step * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if at(middle) else (low, middle)
    return float(_float_at(low))


def _rank_of(number: np.float32) -> int:
    """The rank of a float32 among all, in ascending order. Both zeros have the rank 0."""
    bits = int(np.array(number, dtype=np.float32).view(np.int32))
    return bits if bits >= 0 else -(bits & _SIGN_BITS)


def _float_at(rank: int) -> np.float32:
    bits = np.array(abs(rank), dtype=np.int32).view(np.float32)
    return np.float32(bits if rank >= 0 else -bits)


def _opposite(node: Node, share: float) -> Node:
    """The node with values of the other class. `share`: A tree's share of a probability, 0 for log-odds."""
    if isinstance(node, Leaf):
        return replace(node, value=share - node.value)
    return replace(
        node,
        when_true=_opposite(node.when_true, share),
        when_false=_opposite(node.when_false, share),
    )
