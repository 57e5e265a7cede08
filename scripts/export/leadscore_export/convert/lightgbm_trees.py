"""Reads the trees of a LightGBM model."""

from __future__ import annotations

from typing import Any

import numpy as np

from leadscore_export.convert.converted_model import ConvertedModel, converted_trees
from leadscore_export.convert.pipelines.trained_table import TrainedTable
from leadscore_export.convert.tree_model import Leaf, Node, Split, TreeModel
from leadscore_export.errors import ExportError

_OBJECTIVES = ("binary", "cross_entropy", "xentropy")


def convert_lightgbm(model: Any, table: TrainedTable) -> ConvertedModel:
    """A LightGBM model as ONNX."""
    booster = getattr(model, "booster_", model)

    def predict(rows: Any) -> Any:
        wide = rows.astype(np.float64)
        if not hasattr(model, "predict_proba"):
            return np.asarray(booster.predict(wide, num_threads=1))
        # A classifier's settings may change its predict, as num_iteration_predict does.
        return np.asarray(model.predict_proba(wide, num_threads=1))[:, table.positive]

    return converted_trees(lightgbm_trees(booster), predict, table)


def lightgbm_trees(booster: Any) -> TreeModel:
    """The trees of a `lightgbm.Booster`. Covers are rows per node, as for LightGBM's own SHAP values."""
    dump = booster.dump_model()
    objective, *parameters = dump.get("objective", "").split()
    if objective not in _OBJECTIVES:
        raise ExportError(
            f'LightGBM was trained with the objective "{objective}", which gives no probability; train '
            'with "binary"'
        )
    factor = _sigmoid(parameters)
    if dump.get("average_output"):
        factor /= len(dump["tree_info"])
    trees = [_node(tree["tree_structure"], factor) for tree in dump["tree_info"]]
    return TreeModel(trees, base=0.0, width=booster.num_feature(), is_wide=True)


def _sigmoid(parameters: list[str]) -> float:
    """The parameter `sigmoid`, which scales the sum of leaves before the logistic function."""
    given = [part.split(":")[1] for part in parameters if part.startswith("sigmoid:")]
    return float(given[0]) if given else 1.0


def _node(node: dict[str, Any], factor: float) -> Node:
    if "leaf_value" in node:
        if "leaf_coeff" in node:
            raise ExportError(
                "LightGBM was trained with linear_tree, whose leaves ONNX lacks; train without it"
            )
        return Leaf(float(node["leaf_value"]) * factor, cover=float(node.get("leaf_count", 0)))
    if node["missing_type"] == "Zero":
        raise ExportError(
            "LightGBM was trained with zero_as_missing, but the service distinguishes 0 from NaN; "
            "train without it"
        )
    is_set = node["decision_type"] == "=="
    if not is_set and node["decision_type"] != "<=":
        raise ExportError(
            f"LightGBM wrote a split of the unknown type {node['decision_type']}; convert the model "
            "yourself and give OnnxFile(path)"
        )
    return Split(
        column=int(node["split_feature"]),
        test="in" if is_set else "<=",
        threshold=0.0 if is_set else float(node["threshold"]),
        members=tuple(int(member) for member in node["threshold"].split("||")) if is_set else (),
        # For a category, LightGBM treats NaN as a member of no set.
        is_missing_true=not is_set and _nan_goes_left(node),
        when_true=_node(node["left_child"], factor),
        when_false=_node(node["right_child"], factor),
        cover=float(node["internal_count"]),
    )


def _nan_goes_left(node: dict[str, Any]) -> bool:
    """Whether NaN goes left. LightGBM treats it as 0 if there was none in training."""
    return bool(node["default_left"]) if node["missing_type"] == "NaN" else node["threshold"] >= 0.0
