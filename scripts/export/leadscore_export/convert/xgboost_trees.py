"""Reads the trees of an XGBoost model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from leadscore_export.convert.converted_model import ConvertedModel, converted_trees
from leadscore_export.convert.pipelines.trained_table import TrainedTable
from leadscore_export.convert.tree_model import Leaf, Node, Split, TreeModel
from leadscore_export.errors import ExportError
from leadscore_export.scores.serving_figures import logit

_OBJECTIVES = ("binary:logistic", "reg:logistic")
_BOOSTERS = ("gbtree", "dart")


def convert_xgboost(model: Any, table: TrainedTable) -> ConvertedModel:
    """An XGBoost model as ONNX."""
    import xgboost

    missing = getattr(model, "missing", np.nan)
    if missing is not None and not np.isnan(missing):
        raise ExportError(f"XGBoost was trained with missing={missing}; train with NaN for missing values")
    is_wrapped = hasattr(model, "get_booster")
    booster = model.get_booster() if is_wrapped else model
    _check_booster(json.loads(booster.save_config()))
    notes: list[str] = []
    # After early stopping, a classifier predicts with the best trees, and a Booster with all of them.
    best, rounds = booster.attributes().get("best_iteration"), booster.num_boosted_rounds()
    if best is not None and int(best) + 1 < rounds:
        notes.append(_rounds_note(int(best) + 1, rounds, model))
        if is_wrapped:
            booster = booster[: int(best) + 1]

    def predict(rows: Any) -> Any:
        matrix = xgboost.DMatrix(
            rows, feature_types=booster.feature_types, enable_categorical=True, nthread=1
        )
        return np.asarray(booster.predict(matrix, validate_features=False), dtype=np.float64)

    return converted_trees(xgboost_trees(booster), predict, table, notes=notes)


def xgboost_trees(booster: Any) -> TreeModel:
    """The trees of an `xgboost.Booster`. Covers are sums of hessians, as for XGBoost's own SHAP values."""
    model = json.loads(bytes(booster.save_raw("json")))
    learner, boosted = model["learner"], model["learner"]["gradient_booster"]
    parameters = learner["learner_model_param"]
    # XGBoost 3.1 and later write a list of one number.
    base = logit(float(parameters["base_score"].strip("[]")))
    if boosted["name"] == "dart":
        trees, weights = boosted["gbtree"]["model"]["trees"], boosted["weight_drop"]
    else:
        trees = boosted["model"]["trees"]
        weights = [1.0] * len(trees)
    nodes = [_Tree(tree, weight).node(0) for tree, weight in zip(trees, weights, strict=True)]
    return TreeModel(nodes, base=base, width=int(parameters["num_feature"]))


def _rounds_note(best: int, rounds: int, model: Any) -> str:
    found = f"early stopping was best after {best} of {rounds} rounds. The bundle serves"
    if hasattr(model, "get_booster"):
        return f"{found} these {best}, as predict of {type(model).__name__} does"
    return (
        f"{found} all {rounds}, as predict of an xgboost Booster does. To serve the best ones, export "
        "booster[: booster.best_iteration + 1]"
    )


def _check_booster(written: Mapping[str, Any]) -> None:
    """Refuses a model without probabilities or trees. `written`: The JSON of its settings."""
    objective = written["learner"]["objective"]["name"]
    if objective not in _OBJECTIVES:
        raise ExportError(
            f'XGBoost was trained with the objective "{objective}", which gives no probability; train '
            'with "binary:logistic"'
        )
    booster = written["learner"]["gradient_booster"]["name"]
    if booster not in _BOOSTERS:
        raise ExportError(
            f'XGBoost was trained with the booster "{booster}", which has no trees to convert; train with '
            '"gbtree"'
        )


class _Tree:
    """One tree, stored in arrays by node. `weight`: Multiplies the leaves, which dart stores unweighted."""

    def __init__(self, tree: dict[str, Any], weight: float) -> None:
        self._tree = tree
        self._weight = weight
        segments = zip(
            tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"], strict=True
        )
        self._categories = {node: tree["categories"][start : start + size] for node, start, size in segments}

    def node(self, index: int) -> Node:
        tree = self._tree
        left, right = tree["left_children"][index], tree["right_children"][index]
        cover = float(tree["sum_hessian"][index])
        if left == -1:
            return Leaf(float(tree["split_conditions"][index]) * self._weight, cover)
        is_set = index in self._categories
        is_missing_left = bool(tree["default_left"][index])
        # Members of a set go right, but numbers below the threshold go left.
        true_child, false_child = (right, left) if is_set else (left, right)
        return Split(
            column=int(tree["split_indices"][index]),
            test="in" if is_set else "<",
            # The file has decimals, which are a little off the float32 that XGBoost compares with.
            threshold=0.0 if is_set else float(np.float32(tree["split_conditions"][index])),
            members=tuple(int(category) for category in self._categories.get(index, ())),
            is_missing_true=is_missing_left != is_set,
            when_true=self.node(true_child),
            when_false=self.node(false_child),
            cover=cover,
        )
