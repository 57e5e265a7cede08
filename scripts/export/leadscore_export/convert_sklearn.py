"""Writes models of scikit-learn as ONNX: trees, linear models and networks here, anything else through skl2onnx."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from leadscore_export.converted_model import ConvertedModel, Rows32, converted_trees
from leadscore_export.export_error import ExportError
from leadscore_export.layered_model import Scaling, linear_model, linear_onnx, network_onnx, scaling_of
from leadscore_export.onnx_file import OnnxFile, described_file
from leadscore_export.sklearn_trees import boosted_trees, forest_trees, histogram_trees
from leadscore_export.tree_model import TreeModel

_TREES: dict[str, Callable[[Any], TreeModel]] = {
    "DecisionTreeClassifier": forest_trees,
    "RandomForestClassifier": forest_trees,
    "ExtraTreesClassifier": forest_trees,
    "GradientBoostingClassifier": boosted_trees,
    "HistGradientBoostingClassifier": histogram_trees,
}
_LINEAR = {"LogisticRegression", "LogisticRegressionCV", "LinearDiscriminantAnalysis", "SGDClassifier"}
_LONGEST_PROBLEM = 200


def convert_sklearn_model(model: Any, width: int) -> ConvertedModel:
    """A classifier, or a pipeline of scalers and one. Raises ExportError, saying what to do."""
    if not hasattr(model, "predict_proba"):
        raise ExportError(
            f"{type(model).__name__} gives no probabilities (predict_proba); train a classifier that does, such as "
            "LogisticRegression"
        )
    scalings, last = _taken_apart(model)
    if scalings is None:
        return _convert_any(model, width)
    names = {cls.__name__ for cls in type(last).__mro__}
    read_trees = next((read for name, read in _TREES.items() if name in names), None)
    if read_trees is not None and not scalings:
        return converted_trees(read_trees(last), _predict(model))
    if read_trees is not None:
        raise ExportError("trees need no scaler before them; train the last step of the pipeline alone")
    if names & _LINEAR and len(np.ravel(last.intercept_)) == 1:
        linear = linear_model(last, scalings)
        file = linear_onnx(last, scalings)
        return ConvertedModel(file=file, width=len(linear.weights), predict=_predict(model), linear=linear)
    if "MLPClassifier" in names:
        return ConvertedModel(
            file=network_onnx(last, scalings), width=int(last.n_features_in_), predict=_predict(model)
        )
    return _convert_any(model, width)


def short_text(problem: Exception) -> str:
    """What another library says, in one line that can be read."""
    text = " ".join(str(problem).split())
    return text if len(text) <= _LONGEST_PROBLEM else f"{text[:_LONGEST_PROBLEM]}..."


def _taken_apart(model: Any) -> tuple[list[Scaling] | None, Any]:
    """The scalers of a pipeline and its classifier; None when something else than scalers comes before it."""
    if not hasattr(model, "steps"):
        return [], model
    steps = [step for _, step in model.steps if step not in (None, "passthrough")]
    scalings = [scaling_of(step) for step in steps[:-1]]
    known = [scaling for scaling in scalings if scaling is not None]
    return (known if len(known) == len(scalings) else None), steps[-1]


def _predict(model: Any) -> Callable[[Rows32], Any]:
    return lambda rows: np.asarray(model.predict_proba(rows), dtype=np.float64)[:, 1]


def _convert_any(model: Any, width: int) -> ConvertedModel:
    name = type(model).__name__
    try:
        from skl2onnx import convert_sklearn
        from skl2onnx.common.data_types import FloatTensorType
    except ImportError as problem:
        raise ExportError(f"{name} is converted by skl2onnx: pip install skl2onnx") from problem
    try:
        proto = convert_sklearn(
            model,
            initial_types=[("input", FloatTensorType([None, width]))],
            options={id(model): {"zipmap": False}},
            target_opset={"": 15, "ai.onnx.ml": 3},
        )
    except Exception as problem:  # skl2onnx raises whatever its converters do
        if name == "CalibratedClassifierCV":
            raise ExportError(
                "CalibratedClassifierCV could not be converted: export the classifier inside (trained by itself on X "
                "and y); the exporter calibrates by itself"
            ) from problem
        raise ExportError(
            f"skl2onnx could not convert {name} ({short_text(problem)}). Put imputing and encoding into the features "
            "and export the classifier alone (a pipeline of scalers and a classifier is fine), or convert it yourself "
            "and give OnnxFile(path)"
        ) from problem
    described = described_file(proto.SerializeToString(), proto, OnnxFile(name))
    return dataclasses.replace(described, predict=_predict(model))
