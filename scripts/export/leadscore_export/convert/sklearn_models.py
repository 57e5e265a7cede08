"""Converts models of scikit-learn: trees, linear models and networks directly, others through skl2onnx."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from leadscore_export.convert.converted_model import (
    ConvertedModel,
    OnnxFile,
    Rows32,
    converted_trees,
    described_file,
)
from leadscore_export.convert.layered_model import (
    Scaling,
    linear_model,
    linear_onnx,
    network_onnx,
    scaling_of,
    unscaled,
)
from leadscore_export.convert.pipelines.table_graph import graph_of_bundle
from leadscore_export.convert.pipelines.trained_table import TrainedTable
from leadscore_export.convert.tree_model import Leaf, Node, Split, TreeModel, float32_below
from leadscore_export.errors import ExportError, short_text
from leadscore_export.featurizer.feature_reader import FLOAT32_MAX
from leadscore_export.scores.serving_figures import logit

_LINEAR = {"LogisticRegression", "LogisticRegressionCV", "LinearDiscriminantAnalysis", "SGDClassifier"}
_NO_CHILD = -1
_NO_SCALER = (
    "trees need no scaler: train the last step of the pipeline alone, on X without the scaler, and give "
    "that step alone"
)
_REMEDY_OF_UNKNOWN = (
    "Do such a step in the table before training, and have the CRM send its result; or train a kind that "
    "docs/models.md lists"
)
_TREE_LIBRARIES = {"lightgbm", "xgboost", "catboost"}


def convert_sklearn_model(model: Any, table: TrainedTable) -> ConvertedModel:
    """A classifier, or a pipeline of scalers and one, as ONNX. Raises ExportError, saying what to do."""
    if not hasattr(model, "predict_proba"):
        raise ExportError(
            f"{type(model).__name__} gives no probabilities (predict_proba); train a classifier that "
            "does, such as LogisticRegression"
        )
    scalings, last = _split_pipeline(model)
    if scalings is None:
        return _convert_any(model, table)
    names = {cls.__name__ for cls in type(last).__mro__}
    read_trees = next((read for name, read in _TREES.items() if name in names), None)
    if read_trees is not None and not scalings:
        return converted_trees(read_trees(last), _predict(model, table), table)
    if read_trees is not None:
        raise ExportError(_NO_SCALER)
    given = table if table.columns else None
    if (folded := table.scaling()) is not None:
        scalings = [Scaling(*folded)]
    if names & _LINEAR and len(np.ravel(last.intercept_)) == 1:
        linear = linear_model(last, table)
        return ConvertedModel(
            file=linear_onnx(linear, scalings),
            width=len(linear.weights),
            predict=_predict(model, table),
            linear=unscaled(linear, scalings),
            table=given,
        )
    if "MLPClassifier" in names:
        file, width = network_onnx(last, scalings, table)
        return ConvertedModel(file=file, width=width, predict=_predict(model, table), table=given)
    return _convert_any(model, table)


def libraries_of(model: Any) -> set[str]:
    """The packages that define the model's class and its bases."""
    return {cls.__module__.partition(".")[0] for cls in type(model).__mro__}


def only_step(model: Any) -> Any:
    """The classifier of a pipeline that has no other step, else the model itself."""
    steps = [step for _, step in getattr(model, "steps", ()) if step not in (None, "passthrough")]
    return steps[0] if len(steps) == 1 else model


def is_of_trees(model: Any) -> bool:
    """Whether a classifier becomes trees of the bundle's columns."""
    names = {cls.__name__ for cls in type(model).__mro__}
    return bool(libraries_of(model) & _TREE_LIBRARIES or names & set(_TREES))


def _split_pipeline(model: Any) -> tuple[list[Scaling] | None, Any]:
    """The scalers of a pipeline and its classifier. The scalers are None if any other step precedes it."""
    if not hasattr(model, "steps"):
        return [], model
    steps = [step for _, step in model.steps if step not in (None, "passthrough")]
    scalings = [scaling_of(step) for step in steps[:-1]]
    known = [scaling for scaling in scalings if scaling is not None]
    return (known if len(known) == len(scalings) else None), steps[-1]


def _predict(model: Any, table: TrainedTable) -> Callable[[Rows32], Any]:
    return lambda rows: np.asarray(model.predict_proba(rows), dtype=np.float64)[:, table.positive]


def _convert_any(model: Any, table: TrainedTable) -> ConvertedModel:
    name = type(model).__name__
    scalings, last = _split_pipeline(model)
    if scalings and libraries_of(last) & _TREE_LIBRARIES:
        raise ExportError(_NO_SCALER)
    if list(model.classes_) != [0, 1]:
        raise ExportError(f"{name} was trained on the classes {list(model.classes_)}; train it on 0 and 1")
    try:
        from skl2onnx import convert_sklearn
        from skl2onnx.common.data_types import FloatTensorType
    except ImportError as problem:
        raise ExportError(
            f"{_unknown_step(model)} has no converter here, only in skl2onnx, which is not installed. "
            f"{_REMEDY_OF_UNKNOWN}, or run pip install skl2onnx, which may convert it"
        ) from problem
    try:
        proto = convert_sklearn(
            model,
            initial_types=[("input", FloatTensorType([None, len(table.columns) or table.width]))],
            options={id(model): {"zipmap": False}},
            target_opset={"": 15, "ai.onnx.ml": 3},
        )
    except Exception as problem:  # skl2onnx passes on the errors of its converters
        if name == "CalibratedClassifierCV":
            raise ExportError(
                "CalibratedClassifierCV could not be converted: export the classifier inside instead, "
                "trained alone on X and y. The exporter calibrates by itself"
            ) from problem
        raise ExportError(
            f"skl2onnx could not convert {_unknown_step(model)} ({short_text(problem)}). "
            f"{_REMEDY_OF_UNKNOWN}, or convert it yourself and give OnnxFile(path)"
        ) from problem
    proto = graph_of_bundle(proto, table)
    described = described_file(proto.SerializeToString(), proto, OnnxFile(name))
    return dataclasses.replace(
        described, predict=_predict(model, table), table=table if table.columns else None
    )


def _unknown_step(model: Any) -> str:
    """The first step of a pipeline that is no scaler, by its name; or the kind of the model."""
    for step_name, step in getattr(model, "steps", [])[:-1]:
        if step not in (None, "passthrough") and scaling_of(step) is None:
            return f'the step "{step_name}" ({type(step).__name__})'
    return type(model.steps[-1][1] if hasattr(model, "steps") else model).__name__


def forest_trees(model: Any) -> TreeModel:
    """A forest or decision tree: the mean of its trees' probabilities. Covers are weights of rows."""
    estimators = getattr(model, "estimators_", [model])
    trees = [
        _node(estimator.tree_, 0, lambda value: _positive_share(value) / len(estimators))
        for estimator in estimators
    ]
    return TreeModel(trees, base=0.0, width=int(model.n_features_in_), is_probability=True)


def boosted_trees(model: Any) -> TreeModel:
    """A GradientBoostingClassifier."""
    # The probability of the exponential loss is logistic(2 * sum).
    factor = 2.0 if model.loss == "exponential" else 1.0
    if model.loss not in ("log_loss", "exponential"):
        raise ExportError(f'GradientBoostingClassifier has the loss "{model.loss}"; train with "log_loss"')
    rate = float(model.learning_rate) * factor
    trees = [_node(stage[0].tree_, 0, lambda value: float(value[0, 0]) * rate) for stage in model.estimators_]
    return TreeModel(trees, base=_initial_log_odds(model), width=int(model.n_features_in_))


def histogram_trees(model: Any) -> TreeModel:
    """A HistGradientBoostingClassifier, read from its nodes, because skl2onnx fails on its types."""
    if getattr(model, "is_categorical_", None) is not None and np.any(model.is_categorical_):
        raise ExportError(
            "HistGradientBoostingClassifier was trained with categorical_features, whose columns it "
            'reorders; give it plain numbers: Category(..., encoding="onehot"), or "ordinal" without '
            "categorical_features"
        )
    trees = [_histogram_node(stage[0].nodes, 0) for stage in model._predictors]
    return TreeModel(
        trees,
        base=float(np.ravel(model._baseline_prediction)[0]),
        width=int(model.n_features_in_),
        is_wide=True,
    )


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
    """The share of class 1 in a leaf. Leaves store weights of rows before scikit-learn 1.3."""
    weights = np.ravel(value)
    if len(weights) != 2:
        raise ExportError(f"the trees have {len(weights)} classes; train them on 0 and 1")
    return float(weights[1] / weights.sum())


def _initial_log_odds(model: Any) -> float:
    init = model.init_
    if isinstance(init, str) and init == "zero":
        return 0.0
    prior = getattr(init, "class_prior_", None)
    if prior is None:
        raise ExportError(
            f"GradientBoostingClassifier starts from {type(init).__name__}, but a bundle starts from "
            "one number; train with init=None"
        )
    return logit(float(prior[1]))


def _histogram_node(nodes: Any, index: int) -> Node:
    node = nodes[index]
    if node["is_leaf"]:
        return Leaf(float(node["value"]), float(node["count"]))
    return Split(
        column=int(node["feature_idx"]),
        test="<=",
        threshold=float(node["num_threshold"]),
        members=(),
        is_missing_true=bool(node["missing_go_to_left"]),
        when_true=_histogram_node(nodes, int(node["left"])),
        when_false=_histogram_node(nodes, int(node["right"])),
        cover=float(node["count"]),
    )


def _threshold(value: float) -> float:
    """The threshold in float32. It is infinite in a split of any value against NaN."""
    return min(float32_below(float(value)), FLOAT32_MAX)


_TREES: dict[str, Callable[[Any], TreeModel]] = {
    "DecisionTreeClassifier": forest_trees,
    "RandomForestClassifier": forest_trees,
    "ExtraTreesClassifier": forest_trees,
    "GradientBoostingClassifier": boosted_trees,
    "HistGradientBoostingClassifier": histogram_trees,
}
