"""Linear models and networks of scikit-learn, with the scalers before them, as ONNX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

from leadscore_export.convert.onnx_graph import INPUT_NAME, OUTPUT_NAME, onnx_model
from leadscore_export.convert.pipelines.trained_table import TrainedTable
from leadscore_export.errors import ExportError

Vector = npt.NDArray[np.float64]

_ACTIVATIONS = {"relu": "Relu", "tanh": "Tanh", "logistic": "Sigmoid"}
_SCALED = "scaled"


@dataclass(frozen=True)
class Scaling:
    """(x - offset) * scale, column by column."""

    offset: Vector
    scale: Vector


@dataclass(frozen=True)
class LinearModel:
    """Log-odds = intercept + weights · columns, for the columns of a bundle's features."""

    weights: Vector
    intercept: float

    def contributions(self, rows: npt.ArrayLike, means: Vector) -> tuple[Vector, float]:
        """The exact Shapley values of the columns, [N, width], and the log-odds of an average row."""
        return self.weights * (np.asarray(rows, dtype=np.float64) - means), float(
            self.weights @ means + self.intercept
        )


def scaling_of(step: Any) -> Scaling | None:
    """The scaling of a fitted scaler of scikit-learn, None if the step is no scaler."""
    width = int(getattr(step, "n_features_in_", 0))
    zeros, ones = np.zeros(width), np.ones(width)

    def given(name: str, otherwise: Vector) -> Vector:
        value = getattr(step, name, None)
        return otherwise if value is None else np.asarray(value, dtype=np.float64)

    kind = type(step).__name__
    if kind == "StandardScaler":
        return Scaling(given("mean_", zeros), 1 / given("scale_", ones))
    if kind == "RobustScaler":
        return Scaling(given("center_", zeros), 1 / given("scale_", ones))
    if kind == "MaxAbsScaler":
        return Scaling(zeros, 1 / given("scale_", ones))
    if kind == "MinMaxScaler" and not step.clip:
        scale = given("scale_", ones)
        return Scaling(-given("min_", zeros) / scale, scale)
    return None


def linear_model(model: Any, table: TrainedTable) -> LinearModel:
    """The weights of a binary linear classifier for the scaled columns of the bundle."""
    sign = 1.0 if table.positive else -1.0
    weights = table.weights_of(np.asarray(model.coef_, dtype=np.float64).reshape(-1))
    return LinearModel(sign * weights, sign * float(np.ravel(model.intercept_)[0]))


def unscaled(model: LinearModel, scalings: Sequence[Scaling]) -> LinearModel:
    """The model in terms of the unscaled columns."""
    weights, intercept = model.weights, model.intercept
    for scaling in reversed(scalings):
        weights = weights * scaling.scale
        intercept -= float(weights @ scaling.offset)
    return LinearModel(weights, intercept)


def linear_onnx(model: LinearModel, scalings: Sequence[Scaling]) -> bytes:
    """A linear model of scaled columns as a LinearClassifier, after a Scaler for each scaling."""
    weights, intercept = model.weights, model.intercept
    nodes, name = scaler_nodes(scalings)
    classifier = helper.make_node(
        "LinearClassifier",
        [name],
        ["label", OUTPUT_NAME],
        domain="ai.onnx.ml",
        classlabels_ints=[0, 1],
        coefficients=[*(-weights).tolist(), *weights.tolist()],
        intercepts=[-intercept, intercept],
        post_transform="LOGISTIC",
    )
    return onnx_model([*nodes, classifier], width=len(weights))


def network_onnx(model: Any, scalings: Sequence[Scaling], table: TrainedTable) -> tuple[bytes, int]:
    """An MLPClassifier, layer by layer, with one probability as output, [N, 1]; and its number of inputs."""
    if model.activation not in (*_ACTIVATIONS, "identity"):
        raise ExportError(
            f'MLPClassifier has the activation "{model.activation}"; use one of {sorted(_ACTIVATIONS)}'
        )
    if model.out_activation_ != "logistic":
        raise ExportError("MLPClassifier has more than two classes; train it on 0 and 1")
    nodes, name = scaler_nodes(scalings)
    width = len(table.weights_of(model.coefs_[0]))
    initializers: list[onnx.TensorProto] = []
    for layer, (weights, biases) in enumerate(zip(model.coefs_, model.intercepts_, strict=True)):
        is_last = layer == len(model.coefs_) - 1
        if layer == 0:
            weights = table.weights_of(weights)
        if is_last and table.positive == 0:
            weights, biases = -weights, -biases
        stored = {f"weights{layer}": weights, f"biases{layer}": biases}
        initializers += [
            numpy_helper.from_array(np.asarray(v, dtype=np.float32), k) for k, v in stored.items()
        ]
        nodes.append(helper.make_node("Gemm", [name, *stored], [f"sums{layer}"]))
        activation = "Sigmoid" if is_last else _ACTIVATIONS.get(model.activation, "Identity")
        name = OUTPUT_NAME if is_last else f"layer{layer}"
        nodes.append(helper.make_node(activation, [f"sums{layer}"], [name]))
    file = onnx_model(nodes, width=width, initializers=initializers, classes=1, has_label=False)
    return file, width


def scaler_nodes(scalings: Sequence[Scaling]) -> tuple[list[onnx.NodeProto], str]:
    """The nodes that scale the input, and the name of the last output."""
    nodes, name = [], INPUT_NAME
    for index, scaling in enumerate(scalings):
        output = f"{_SCALED}{index}"
        nodes.append(
            helper.make_node(
                "Scaler",
                [name],
                [output],
                domain="ai.onnx.ml",
                offset=scaling.offset.tolist(),
                scale=scaling.scale.tolist(),
            )
        )
        name = output
    return nodes, name
