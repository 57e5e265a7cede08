"""Reads the trees of scikit-learn: decision trees, forests, gradient boosting in both forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from leadscore_export.export_error import ExportError
from leadscore_export.feature_reader import FLOAT32_MAX
from leadscore_export.serving_figures import logit
from leadscore_export.tree_model import Leaf, Node, Split, TreeModel, float32_below

_NO_CHILD = -1


def forest_trees(model: Any) -> TreeModel:
    """A forest, or a single decision tree: the mean of its trees' probabilities. Covers are weights of rows."""
    estimators = getattr(model, "estimators_", [model])
    trees = [
        _node(estimator.tree_, 0, lambda value: _positive_share(value) / len(estimators)) for estimator in estimators
    ]
    return TreeModel(trees, base=0.0, width=int(model.n_features_in_), is_probability=True)


def boosted_trees(model: Any) -> TreeModel:
    """A GradientBoostingClassifier."""
    # The exponential loss doubles the sum on its way to a probability.
    factor = 2.0 if model.loss == "exponential" else 1.0
    if model.loss not in ("log_loss", "exponential"):
        raise ExportError(f'GradientBoostingClassifier has the loss "{model.loss}"; train with "log_loss"')
    rate = float(model.learning_rate) * factor
    trees = [_node(stage[0].tree_, 0, lambda value: float(value[0, 0]) * rate) for stage in model.estimators_]
    return TreeModel(trees, base=_initial_log_odds(model), width=int(model.n_features_in_))


def histogram_trees(model: Any) -> TreeModel:
    """A HistGradientBoostingClassifier, read from its own nodes: converters of scikit-learn stumble over its types."""
    if getattr(model, "is_categorical_", None) is not None and np.any(model.is_categorical_):
        raise ExportError(
            "HistGradientBoostingClassifier was trained with categorical_features, whose columns it puts in another "
            'order; give it plain numbers: Category(..., encoding="onehot"), or "ordinal" without categorical_features'
        )
    trees = [_histogram_node(stage[0].nodes, 0) for stage in model._predictors]
    return TreeModel(trees, base=float(np.ravel(model._baseline_prediction)[0]), width=int(model.n_features_in_))


def _node(tree: Any, index: int, leaf_value: Callable[[Any], float]) -> Node:
    left, right = int(tree.children_left[index]), int(tree.children_right[index])
    cover = float(tree.weighted_n_node_samples[index])
    if left == _NO_CHILD:
        return Leaf(leaf_value(tree.value[index]), cover)
    missing_left = getattr(tree, "missing_go_to_left", None)
    return Split(
        column=int(tree.feature[index]),
        test="<=",
        threshold=_threshold(tree.threshold[index]),
        members=(),
        is_missing_true=missing_left is not None and bool(missing_left[index]),
        when_true=_node(tree, left, leaf_value),
        when_false=_node(tree, right, leaf_value),
        cover=cover,
    )


def _positive_share(value: Any) -> float:
    """The share of class 1 in a leaf; scikit-learn before 1.3 kept weights of rows there."""
    weights = np.ravel(value)
    if len(weights) != 2:
        raise ExportError(f"the trees tell {len(weights)} classes apart; a bundle is for two")
    return float(weights[1] / weights.sum())


def _initial_log_odds(model: Any) -> float:
    init = model.init_
    if isinstance(init, str) and init == "zero":
        return 0.0
    prior = getattr(init, "class_prior_", None)
    if prior is None:
        raise ExportError(
            f"GradientBoostingClassifier starts from {type(init).__name__}; train with init=None: a bundle starts from "
            "one number"
        )
    return logit(float(prior[1]))


def _histogram_node(nodes: Any, index: int) -> Node:
    node = nodes[index]
    if node["is_leaf"]:
        return Leaf(float(node["value"]), float(node["count"]))
    return Split(
        column=int(node["feature_idx"]),
        test="<=",
        threshold=_threshold(node["num_threshold"]),
        members=(),
        is_missing_true=bool(node["missing_go_to_left"]),
        when_true=_histogram_node(nodes, int(node["left"])),
        when_false=_histogram_node(nodes, int(node["right"])),
        cover=float(node["count"]),
    )


def _threshold(value: float) -> float:
    """A split of "any value" against NaN has an infinite threshold."""
    return min(float32_below(float(value)), FLOAT32_MAX)
