"""Exact contributions of a tree model: path-dependent Shapley values, as the package `shap` defines them.

Columns outside a coalition are averaged over the training rows that reached each split, by their covers.

A column's contribution to a leaf is the integral over t in (0, 1) of value * (o - z) * product(z' + t (o' -
z')).
The product runs over the other columns of the path (Owen's multilinear extension).
The integrand is a polynomial in t. Gauss-Legendre quadrature with half as many points as columns is exact.

`o`: 1 if the record takes the path at the column's splits, else 0.
`z`: The product of the shares of training rows that take it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from leadscore_export.convert.tree_model import Leaf, Node, Split, TreeModel
from leadscore_export.scores.serving_figures import logit

Values = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
_SAME = 1e-7  # a probability this close to the mean output does not determine the scale
_LEAF_SECONDS = 8e-5  # measured per leaf
_PAIR_SECONDS = 7e-9  # measured per leaf, row and pair of columns on the path


@dataclass(frozen=True)
class _Step:
    """The share of training rows, and the records, that pass one column's splits on a path."""

    share: float
    goes: Mask


def tree_contributions(model: TreeModel, rows: npt.ArrayLike) -> tuple[Values, float]:
    """The contribution of each column to the log-odds, [N, width], and the expected log-odds.

    A forest averages probabilities. Its contributions to the probability are scaled by one factor per record,
    so that they add up in log-odds.
    """
    rows32 = np.asarray(rows, dtype=np.float32)
    walk = _Walk(rows32, np.zeros((len(rows32), model.width)))
    for tree in model.trees:
        walk.add(tree, {}, 1.0)
    base = model.base + walk.expected
    if not model.is_probability:
        return walk.contributions, base
    return _in_log_odds(walk.contributions, base), logit(base)


def rows_within(model: TreeModel, seconds: float) -> int:
    """The number of rows that can be explained in about that many seconds on one core."""
    leaves, pairs = 0, 0
    waiting: list[tuple[Node, frozenset[int]]] = [(tree, frozenset()) for tree in model.trees]
    while waiting:
        node, columns = waiting.pop()
        if isinstance(node, Leaf):
            leaves += 1
            pairs += len(columns) ** 2
        else:
            below = columns | {node.column}
            waiting += [(node.when_true, below), (node.when_false, below)]
    left = seconds - leaves * _LEAF_SECONDS
    return max(0, int(left / max(pairs * _PAIR_SECONDS, 1e-12)))


class _Walk:
    """Visits every leaf of a tree and adds its contributions."""

    def __init__(self, rows: npt.NDArray[np.float32], contributions: Values) -> None:
        self._rows = rows
        self.contributions = contributions
        self.expected = 0.0

    def add(self, node: Node, path: dict[int, _Step], reach: float) -> None:
        """`path`: The steps so far by column. `reach`: The share of training rows that reach the node."""
        if isinstance(node, Leaf):
            self.expected += node.value * reach
            self._add_leaf(node.value, path)
            return
        is_true = _answers(node, self._rows[:, node.column])
        share = node.when_true.cover / node.cover if node.cover > 0 else 0.5
        for child, child_share, goes in (
            (node.when_true, share, is_true),
            (node.when_false, 1 - share, ~is_true),
        ):
            before = path.get(node.column)
            step = (
                _Step(child_share, goes)
                if before is None
                else _Step(before.share * child_share, before.goes & goes)
            )
            self.add(child, {**path, node.column: step}, reach * child_share)

    def _add_leaf(self, value: float, path: dict[int, _Step]) -> None:
        if not path:
            return
        shares = np.array([step.share for step in path.values()])[:, None]
        difference = np.array([step.goes for step in path.values()], dtype=np.float64) - shares
        points, weights = _quadrature((len(path) + 1) // 2)
        # [points, columns, rows]
        factors = shares + points[:, None, None] * difference
        others = np.ones_like(factors)
        np.cumprod(factors[:, :-1], axis=1, out=others[:, 1:])
        others[:, :-1] *= np.cumprod(factors[:, :0:-1], axis=1)[:, ::-1]
        self.contributions[:, list(path)] += (difference * np.tensordot(value * weights, others, axes=1)).T


@cache
def _quadrature(count: int) -> tuple[Values, Values]:
    """Points and weights of Gauss-Legendre quadrature over (0, 1)."""
    points, weights = np.polynomial.legendre.leggauss(count)
    return (points + 1) / 2, weights / 2


def _answers(split: Split, values: npt.NDArray[np.float32]) -> Mask:
    threshold = np.float32(split.threshold)
    if split.test == "in":
        is_true = np.isin(values, np.asarray(split.members, dtype=np.float32))
    else:
        is_true = values <= threshold if split.test == "<=" else values < threshold
    answers: Mask = np.where(np.isnan(values), split.is_missing_true, is_true)
    return answers


def _in_log_odds(contributions: Values, base: float) -> Values:
    moved = contributions.sum(axis=1)
    factors = [(logit(base + move) - logit(base)) / move if abs(move) > _SAME else 1.0 for move in moved]
    scaled: Values = contributions * np.array(factors)[:, None]
    return scaled
