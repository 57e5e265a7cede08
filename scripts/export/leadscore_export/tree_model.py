"""A model of trees, whichever library trained it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np


@dataclass(frozen=True)
class Leaf:
    """What a tree adds for the rows that end here. `cover`: the weight of the training rows that did."""

    value: float
    cover: float


@dataclass(frozen=True)
class Split:
    """A question about one input column.

    test: "<=" or "<" against `threshold` (compared in float32), or "in": whether the value is one of `members`.
    is_missing_true: whether NaN goes the way of true.
    """

    column: int
    test: Literal["<=", "<", "in"]
    threshold: float
    members: tuple[int, ...]
    is_missing_true: bool
    when_true: Node
    when_false: Node
    cover: float


Node = Leaf | Split


@dataclass(frozen=True)
class TreeModel:
    """Trees whose leaves and `base` add up to log-odds, or, with `is_probability`, to a probability."""

    trees: list[Node]
    base: float
    width: int
    is_probability: bool = False


def nodes_of(root: Node) -> Iterator[Node]:
    """A tree's nodes, parents before children, what is true before what is false."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, Split):
            waiting += [node.when_false, node.when_true]


def float32_below(threshold: float) -> float:
    """The largest float32 that is not above the threshold.

    A trainer that compares `x <= threshold` in float64 and ONNX, which does so in float32, then answer the same for
    every x in float32; with the nearest float32, which may lie above the threshold, they would not.
    """
    with np.errstate(over="ignore"):  # a split of "any value" against NaN has a threshold beyond float32
        nearest = np.float32(threshold)
    return float(nearest if float(nearest) <= threshold else np.nextafter(nearest, np.float32(-np.inf)))
