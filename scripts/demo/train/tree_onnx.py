"""Writes a binary LightGBM model as an ONNX TreeEnsembleClassifier, with the covers of its nodes.

Both come out of one walk over the trees, so that the covers are in the order of the `nodes_*` attributes.
"""

from __future__ import annotations

from typing import Any

import lightgbm as lgb
import numpy as np
import onnx
from onnx import TensorProto, helper

INPUT_NAME = "input"
OUTPUT_NAME = "probabilities"


def tree_onnx(booster: lgb.Booster) -> tuple[onnx.ModelProto, np.ndarray]:
    """The ONNX model (float32 [N, width] in; [N, 2] probabilities out) and float32 covers, rows per node.

    Raises ValueError for native categorical splits, which this model does not use.
    """
    nodes = _Nodes()
    for tree, info in enumerate(booster.dump_model()["tree_info"]):
        nodes.add_tree(tree, info["tree_structure"])
    attributes: dict[str, Any] = nodes.attributes
    ensemble = helper.make_node(
        "TreeEnsembleClassifier", [INPUT_NAME], ["label", OUTPUT_NAME], domain="ai.onnx.ml",
        classlabels_int64s=[0, 1], post_transform="LOGISTIC", **attributes,
    )
    graph = helper.make_graph(
        [ensemble], "demo_leads",
        [helper.make_tensor_value_info(INPUT_NAME, TensorProto.FLOAT, [None, booster.num_feature()])],
        [helper.make_tensor_value_info("label", TensorProto.INT64, [None]),
         helper.make_tensor_value_info(OUTPUT_NAME, TensorProto.FLOAT, [None, 2])],
    )
    opsets = [helper.make_opsetid("ai.onnx.ml", 3), helper.make_opsetid("", 15)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="leadscore demo")
    onnx.checker.check_model(model)
    return model, np.asarray(nodes.covers, dtype="<f4")


def float32_below(threshold: float) -> float:
    """The largest float32 that is not above the threshold.

    LightGBM compares `x <= threshold` in float64 and ONNX in float32. For x in float32 both answer the same with
    this value; with the nearest float32, which may lie above the threshold, they would not.
    """
    with np.errstate(over="ignore"):  # a split of "any value" against NaN has a threshold beyond float32
        nearest = np.float32(threshold)
    return float(nearest if float(nearest) <= threshold else np.nextafter(nearest, np.float32(-np.inf)))


class _Nodes:
    """Collects the attributes of the operator, a node at a time, parents before children."""

    def __init__(self) -> None:
        self.covers: list[float] = []
        self.attributes: dict[str, list[Any]] = {
            f"nodes_{name}": []
            for name in ("treeids", "nodeids", "modes", "featureids", "values", "truenodeids", "falsenodeids",
                         "missing_value_tracks_true")
        } | {f"class_{name}": [] for name in ("treeids", "nodeids", "ids", "weights")}

    def add_tree(self, tree: int, root: dict[str, Any]) -> None:
        self._next_id = 0
        self._add(tree, root)

    def _add(self, tree: int, node: dict[str, Any]) -> int:
        node_id = self._next_id
        self._next_id += 1
        is_leaf = "leaf_value" in node
        position = self._append(tree, node_id, node, is_leaf)
        self.covers.append(float(node["leaf_count"] if is_leaf else node["internal_count"]))
        if is_leaf:
            leaf = {"treeids": tree, "nodeids": node_id, "ids": 0, "weights": float(node["leaf_value"])}
            for name, value in leaf.items():
                self.attributes[f"class_{name}"].append(value)
        else:
            self.attributes["nodes_truenodeids"][position] = self._add(tree, node["left_child"])
            self.attributes["nodes_falsenodeids"][position] = self._add(tree, node["right_child"])
        return node_id

    def _append(self, tree: int, node_id: int, node: dict[str, Any], is_leaf: bool) -> int:
        if not is_leaf and node["decision_type"] != "<=":
            raise ValueError(f"cannot write a split of type {node['decision_type']}")
        values = {
            "treeids": tree,
            "nodeids": node_id,
            "modes": "LEAF" if is_leaf else "BRANCH_LEQ",
            "featureids": 0 if is_leaf else node["split_feature"],
            "values": 0.0 if is_leaf else float32_below(node["threshold"]),
            "truenodeids": 0,
            "falsenodeids": 0,
            "missing_value_tracks_true": 0 if is_leaf else int(_nan_goes_left(node)),
        }
        for name, value in values.items():
            self.attributes[f"nodes_{name}"].append(value)
        return len(self.attributes["nodes_values"]) - 1


def _nan_goes_left(node: dict[str, Any]) -> bool:
    """Where LightGBM saw no NaN in training it takes one for 0."""
    return bool(node["default_left"]) if node["missing_type"] == "NaN" else 0.0 <= node["threshold"]
