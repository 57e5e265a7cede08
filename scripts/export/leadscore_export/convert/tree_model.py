"""A model of trees, whichever library trained it, and its ONNX TreeEnsembleClassifier with covers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from onnx import helper

from leadscore_export.convert.onnx_graph import INPUT_NAME, OUTPUT_NAME, onnx_model

Covers = npt.NDArray[np.float32]
_NODE_ATTRIBUTES = (
    "treeids",
    "nodeids",
    "modes",
    "featureids",
    "values",
    "truenodeids",
    "falsenodeids",
    "missing_value_tracks_true",
)
_LEAF_ATTRIBUTES = ("treeids", "nodeids", "ids", "weights")
_MODES = {"<=": "BRANCH_LEQ", "<": "BRANCH_LT"}


@dataclass(frozen=True)
class Leaf:
    """The value that a tree adds for the rows that end here. `cover`: The weight of those training rows."""

    value: float
    cover: float


@dataclass(frozen=True)
class Split:
    """A test of one input column.

    `test`: "<=" or "<" against `threshold`, compared in float32, or "in" for membership in `members`.
    `is_missing_true`: Whether NaN takes the true branch.
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
    """Trees whose leaves and `base` add up to log-odds, or, with `is_probability`, to a probability.

    `is_wide`: Whether the trainer compares float64. Its thresholds are then rounded by `served_trees`.
    """

    trees: list[Node]
    base: float
    width: int
    is_probability: bool = False
    is_wide: bool = False


def nodes_of(root: Node) -> Iterator[Node]:
    """A tree's nodes: parents before children, the true branch before the false one."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, Split):
            waiting += [node.when_false, node.when_true]


def float32_below(threshold: float) -> float:
    """The largest float32 that is not above the threshold.

    ONNX compares `x <= threshold` in float32, a trainer in float64. Rounded down, both agree for every
    float32 x. The nearest float32 may lie above the threshold, where they would not.
    """
    with np.errstate(over="ignore"):  # a split of any value against NaN has a threshold beyond float32
        nearest = np.float32(threshold)
    return float(nearest if float(nearest) <= threshold else np.nextafter(nearest, np.float32(-np.inf)))


def tree_onnx(
    model: TreeModel, *, name: str = "leadscore", producer: str = "leadscore-export"
) -> tuple[bytes, Covers]:
    """The ONNX file and the covers, one float32 per node in the order of the `nodes_*` attributes.

    The file maps float32 [N, width] to probabilities [N, 2]. `name` of the graph and `producer` are
    informative only.
    """
    nodes = _Nodes()
    for tree, root in enumerate(model.trees):
        nodes.add_tree(tree, root)
    attributes: dict[str, Any] = nodes.attributes
    if model.base != 0:
        attributes["base_values"] = [model.base]
    ensemble = helper.make_node(
        "TreeEnsembleClassifier",
        [INPUT_NAME],
        ["label", OUTPUT_NAME],
        domain="ai.onnx.ml",
        classlabels_int64s=[0, 1],
        # ONNX Runtime converts one score s to [1 - s, s] if no weight is negative, as in a forest.
        post_transform="NONE" if model.is_probability else "LOGISTIC",
        **attributes,
    )
    file = onnx_model([ensemble], width=model.width, name=name, producer=producer)
    return file, np.asarray(nodes.covers, dtype="<f4")


class _Nodes:
    """Collects the operator's attributes node by node, parents before children."""

    def __init__(self) -> None:
        self.covers: list[float] = []
        self.attributes: dict[str, list[Any]] = {f"nodes_{name}": [] for name in _NODE_ATTRIBUTES} | {
            f"class_{name}": [] for name in _LEAF_ATTRIBUTES
        }

    def add_tree(self, tree: int, root: Node) -> None:
        self._tree = tree
        self._next_id = 0
        self._add(root)

    def _add(self, node: Node) -> int:
        if isinstance(node, Leaf):
            return self._add_leaf(node)
        if node.test == "in":
            return self._add_membership(node)
        node_id, position = self._append(node, mode=_MODES[node.test], value=node.threshold)
        self._join(position, when_true=self._add(node.when_true), when_false=self._add(node.when_false))
        return node_id

    def _add_leaf(self, leaf: Leaf) -> int:
        node_id, _ = self._append(leaf, mode="LEAF", value=0.0)
        entry = {"treeids": self._tree, "nodeids": node_id, "ids": 0, "weights": float(leaf.value)}
        for name, value in entry.items():
            self.attributes[f"class_{name}"].append(value)
        return node_id

    def _add_membership(self, node: Split) -> int:
        """Adds a chain of BRANCH_EQ with one shared true child, because ONNX has no test for sets.

        Readers of the covers use the false branches' shares there (docs/models.md): the last one has them
        all.
        """
        chain = [
            self._append(node, mode="BRANCH_EQ", value=float(member), is_first=index == 0)
            for index, member in enumerate(node.members)
        ]
        when_true, when_false = self._add(node.when_true), self._add(node.when_false)
        following = [node_id for node_id, _ in chain[1:]]
        for (_, position), otherwise in zip(chain, [*following, when_false], strict=True):
            self._join(position, when_true=when_true, when_false=otherwise)
        return chain[0][0]

    def _append(self, node: Node, *, mode: str, value: float, is_first: bool = True) -> tuple[int, int]:
        """Adds a node and returns its id and position. NaN can leave a chain only at its first node."""
        node_id = self._next_id
        self._next_id += 1
        values = {
            "treeids": self._tree,
            "nodeids": node_id,
            "modes": mode,
            "featureids": node.column if isinstance(node, Split) else 0,
            "values": value,
            "truenodeids": 0,
            "falsenodeids": 0,
            "missing_value_tracks_true": int(isinstance(node, Split) and node.is_missing_true and is_first),
        }
        for name, entry in values.items():
            self.attributes[f"nodes_{name}"].append(entry)
        self.covers.append(float(node.cover))
        return node_id, len(self.covers) - 1

    def _join(self, position: int, *, when_true: int, when_false: int) -> None:
        self.attributes["nodes_truenodeids"][position] = when_true
        self.attributes["nodes_falsenodeids"][position] = when_false
