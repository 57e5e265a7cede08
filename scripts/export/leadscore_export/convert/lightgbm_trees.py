"""Reads the trees of a LightGBM model."""

from __future__ import annotations

from typing import Any

import numpy as np

from leadscore_export.convert.converted_model import ConvertedModel, converted_trees
from leadscore_export.convert.tree_model import Leaf, Node, Split, TreeModel, float32_below
from leadscore_export.errors import ExportError


def convert_lightgbm(model: Any, _width: int) -> ConvertedModel:
    booster = getattr(model, "booster_", model)
    return converted_trees(
        lightgbm_trees(booster),
        lambda rows: np.asarray(booster.predict(rows.astype(np.float64), num_threads=1)),
    )


_OBJECTIVES = ("binary", "cross_entropy", "xentropy")


def lightgbm_trees(booster: Any) -> TreeModel:
    """The trees of a `lightgbm.Booster`; covers are rows per node, as LightGBM counts them for its own SHAP values."""
    dump = booster.dump_model()
    objective, *parameters = dump.get("objective", "").split()
    if objective not in _OBJECTIVES:
        raise ExportError(
            f'LightGBM was trained with the objective "{objective}"; a probability comes from "binary": train with that'
        )
    factor = _sigmoid(parameters)
    if dump.get("average_output"):
        factor /= len(dump["tree_info"])
    trees = [_node(tree["tree_structure"], factor) for tree in dump["tree_info"]]
    return TreeModel(trees, base=0.0, width=booster.num_feature())


def _sigmoid(parameters: list[str]) -> float:
    """What the sum of leaves is multiplied with before the logistic function: the parameter `sigmoid`."""
    given = [part.split(":")[1] for part in parameters if part.startswith("sigmoid:")]
    return float(given[0]) if given else 1.0


def _node(node: dict[str, Any], factor: float) -> Node:
    if "leaf_value" in node:
        if "leaf_coeff" in node:
            raise ExportError(
                "LightGBM was trained with linear_tree; train without it: ONNX has no such leaves"
            )
        return Leaf(float(node["leaf_value"]) * factor, cover=float(node.get("leaf_count", 0)))
    if node["missing_type"] == "Zero":
        raise ExportError(
            "LightGBM was trained with zero_as_missing; train without it: the service tells 0 from NaN"
        )
    is_set = node["decision_type"] == "=="
    if not is_set and node["decision_type"] != "<=":
        raise ExportError(f"LightGBM wrote a split of the unknown type {node['decision_type']}")
    return Split(
        column=int(node["split_feature"]),
        test="in" if is_set else "<=",
        threshold=0.0 if is_set else float32_below(node["threshold"]),
        members=tuple(int(member) for member in node["threshold"].split("||")) if is_set else (),
        # Of a category LightGBM takes NaN for none of the set.
        is_missing_true=not is_set and _nan_goes_left(node),
        when_true=_node(node["left_child"], factor),
        when_false=_node(node["right_child"], factor),
        cover=float(node["internal_count"]),
    )


def _nan_goes_left(node: dict[str, Any]) -> bool:
    """Where LightGBM saw no NaN in training it takes one for 0."""
    return bool(node["default_left"]) if node["missing_type"] == "NaN" else node["threshold"] >= 0.0
