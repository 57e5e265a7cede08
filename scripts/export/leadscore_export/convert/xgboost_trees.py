"""Reads the trees of an XGBoost model."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from leadscore_export.convert.converted_model import ConvertedModel, converted_trees
from leadscore_export.convert.tree_model import Leaf, Node, Split, TreeModel
from leadscore_export.errors import ExportError
from leadscore_export.scores.serving_figures import logit

_OBJECTIVES = ("binary:logistic", "reg:logistic")


def convert_xgboost(model: Any, _width: int) -> ConvertedModel:
    """An XGBoost model as ONNX."""
    import xgboost

    missing = getattr(model, "missing", np.nan)
    if missing is not None and not np.isnan(missing):
        raise ExportError(f"XGBoost was trained with missing={missing}; train with NaN for missing values")
    is_wrapped = hasattr(model, "get_booster")
    booster = model.get_booster() if is_wrapped else model
    best = booster.attributes().get("best_iteration") if is_wrapped else None
    if best is not None:  # after early stopping the wrapper predicts with the best trees only
        booster = booster[: int(best) + 1]

    def predict(rows: Any) -> Any:
        matrix = xgboost.DMatrix(
            rows, feature_types=booster.feature_types, enable_categorical=True, nthread=1
        )
        return np.asarray(booster.predict(matrix, validate_features=False), dtype=np.float64)

    return converted_trees(xgboost_trees(booster), predict)


def xgboost_trees(booster: Any) -> TreeModel:
    """The trees of an `xgboost.Booster`. Covers are sums of hessians, as for XGBoost's own SHAP values."""
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    objective = learner["objective"]["name"]
    if objective not in _OBJECTIVES:
        raise ExportError(
            f'XGBoost was trained with the objective "{objective}", which gives no probability; train '
            'with "binary:logistic"'
        )
    if learner["gradient_booster"]["name"] != "gbtree":
        raise ExportError(
            f'XGBoost was trained with the booster "{learner["gradient_booster"]["name"]}", which has '
            'no trees to convert; train with "gbtree"'
        )
    parameters = learner["learner_model_param"]
    # XGBoost 3.1 and later write a list of one number.
    base = logit(float(parameters["base_score"].strip("[]")))
    trees = [_Tree(tree).node(0) for tree in learner["gradient_booster"]["model"]["trees"]]
    return TreeModel(trees, base=base, width=int(parameters["num_feature"]))


class _Tree:
    """One tree, stored in arrays by node."""

    def __init__(self, tree: dict[str, Any]) -> None:
        self._tree = tree
        segments = zip(
            tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"], strict=True
        )
        self._categories = {node: tree["categories"][start : start + size] for node, start, size in segments}

    def node(self, index: int) -> Node:
        tree = self._tree
        left, right = tree["left_children"][index], tree["right_children"][index]
        cover = float(tree["sum_hessian"][index])
        if left == -1:
            return Leaf(float(tree["split_conditions"][index]), cover)
        is_set = index in self._categories
        is_missing_left = bool(tree["default_left"][index])
        # Members of a set go right, but numbers below the threshold go left.
        true_child, false_child = (right, left) if is_set else (left, right)
        return Split(
            column=int(tree["split_indices"][index]),
            test="in" if is_set else "<",
            threshold=0.0 if is_set else float(tree["split_conditions"][index]),
            members=tuple(int(category) for category in self._categories.get(index, ())),
            is_missing_true=is_missing_left != is_set,
            when_true=self.node(true_child),
            when_false=self.node(false_child),
            cover=cover,
        )
