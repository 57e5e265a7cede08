"""An ONNX model is tried as the service does: each row must have one answer, of its kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from training_tables import FEATURES, FOREST, LINE, X, Y

from leadscore_export import ExportError, OnnxFile, export_bundle
from leadscore_export.bundle.check_answers import check_answers
from leadscore_export.convert.convert_model import convert_model
from leadscore_export.convert.converted_model import ConvertedModel

BASE_RATE = 0.1
STORED = {
    "w": np.array([[0.6], [-0.4]], dtype=np.float32),
    "w2": np.array([[0.6, -0.3], [-0.4, 0.9]], dtype=np.float32),
    "first": np.array([0], dtype=np.int64),
    "one": np.array([1, 1], dtype=np.int64),
    "hundred": np.array([100], dtype=np.float32),
    "ratio": np.array(0.5, dtype=np.float32),
    "on": np.array(True),
    "wide": np.array([[600], [-400]], dtype=np.float32),
    "little": np.array([-5e-5], dtype=np.float32),
}


def node(operator: str, inputs: str, output: str, **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(operator, inputs.split(), [output], **attributes)


SUM, SUMS = node("MatMul", "x w", "s"), node("MatMul", "x w2", "t")
SIGMOID, SOFTMAX = node("Sigmoid", "s", "y"), node("Softmax", "t", "y", axis=1)


def model(*nodes: onnx.NodeProto, **given: Any) -> ConvertedModel:
    names = {name for each in nodes for name in each.input}
    graph = helper.make_graph(
        list(nodes),
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        initializer=[numpy_helper.from_array(STORED[name], name) for name in STORED if name in names],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    return ConvertedModel(made.SerializeToString(), width=2, input="x", output="y", **given)


WRONG: dict[str, tuple[ConvertedModel, str]] = {
    "mean of the call": (
        model(
            node("ReduceMean", "x first", "m"),
            node("Sub", "x m", "d"),
            node("MatMul", "d w", "s"),
            SIGMOID,
        ),
        r"depends on the other rows of the call \(tried row \d+: \S+ alone, \S+ with others\); convert",
    ),
    "softmax of the call": (model(SUMS, node("Softmax", "t", "y", axis=0)), "depends on the other rows"),
    "dropout": (
        model(node("Dropout", "x ratio on", "k"), node("MatMul", "k w", "s"), SIGMOID),
        r"changes from call to call .* convert the model for inference \(model.eval\(\)\)",
    ),
    "one number": (
        model(SUM, node("ReduceMean", "s", "y", keepdims=1)),
        "has 1 values for 64 rows; let it have a row for each",
    ),
    "one row": (
        model(SUM, node("Reshape", "s one", "r"), node("Sigmoid", "r", "y")),
        "does not run 64 rows in one call .* convert the model with an open first dimension",
    ),
    "logit": (model(SUM, node("Identity", "s", "y")), r'looks like a logit; .*kind="logit"'),
    "two logits": (model(SUMS, node("Identity", "t", "y")), "of each class; end the graph in Softmax"),
    "two logits as a logit": (
        model(SUMS, node("Identity", "t", "y"), kind="logit"),
        r'2 columns that are not \[-s, s\].*kind="probability"',
    ),
    "logarithms": (model(SUMS, node("LogSoftmax", "t", "y")), "logarithm of a probability; end the graph"),
    "percent": (
        model(SUMS, node("Softmax", "t", "p"), node("Mul", "p hundred", "y")),
        "a percentage; divide it by 100",
    ),
    "percent with rounding": (
        model(
            node("MatMul", "x wide", "s"),
            node("Sigmoid", "s", "p"),
            node("Mul", "p hundred", "q"),
            node("Add", "q little", "y"),
        ),
        "a percentage; divide it by 100",
    ),
    "probability as a logit": (
        model(SUMS, SOFTMAX, kind="logit"),
        r"is a probability; give OnnxFile\(path, kind=",
    ),
    "single probability as a logit": (
        model(SUM, SIGMOID, kind="logit"),
        r'output "y" stays between 0 and 1 for every row tried, so it is a probability; '
        r'give OnnxFile\(path, kind="probability"\)$',
    ),
}


@pytest.mark.parametrize("kind", WRONG)
def test_refuses_a_model_without_one_answer_of_its_kind(kind: str) -> None:
    wrong, reason = WRONG[kind]
    with pytest.raises(ExportError, match=reason):
        check_answers(wrong, X, BASE_RATE)


RIGHT: dict[str, ConvertedModel] = {
    "probability": model(SUM, SIGMOID),
    "logit": model(SUM, node("Identity", "s", "y"), kind="logit"),
    "opposite logits": model(SUM, node("Neg", "s", "n"), node("Concat", "n s", "y", axis=1), kind="logit"),
    "softmax": model(SUMS, SOFTMAX),
    "line": convert_model(LINE, 2),
    "forest": convert_model(FOREST, 2),
    "float16": model(
        node("Cast", "x", "h", to=TensorProto.FLOAT16),
        node("Cast", "h", "f", to=TensorProto.FLOAT),
        node("MatMul", "f w", "s"),
        SIGMOID,
    ),
}


@pytest.mark.parametrize("kind", RIGHT)
def test_accepts_a_model_with_one_answer_of_its_kind(kind: str) -> None:
    check_answers(RIGHT[kind], X, BASE_RATE)
    check_answers(RIGHT[kind], X[:2], BASE_RATE)


def test_a_single_logit_may_stay_above_0_at_a_base_rate_of_a_half() -> None:
    named, reason = WRONG["single probability as a logit"]
    check_answers(named, X, 0.5)
    with pytest.raises(ExportError, match=reason):
        check_answers(named, X, 0.499)


def test_an_export_expects_logits_of_the_rate_of_the_manifest(tmp_path: Path) -> None:
    named, reason = WRONG["single probability as a logit"]
    file, common, rare = tmp_path / "m.onnx", (X[:, 0] > -1).astype(int), (X[:, 0] > 1).astype(int)
    file.write_bytes(named.file)
    # The rate of the holdout counts. The second export comes as far as the comparison with the holdout.
    for y, held, refusal in ((common, rare, reason), (rare, common, "likelihoods average .* on the holdout")):
        given: dict[str, Any] = {"X": X, "y": y, "holdout": (X, held), "oof_raw": np.full(len(X), 0.5)}
        with pytest.raises(ExportError, match=refusal):
            export_bundle(
                OnnxFile(file, kind="logit"), FEATURES, tmp_path / "b", name="n", version="1", **given
            )


def test_an_export_writes_nothing_of_a_refused_model(tmp_path: Path) -> None:
    file, out = tmp_path / "m.onnx", tmp_path / "bundle"
    file.write_bytes(WRONG["softmax of the call"][0].file)
    given = OnnxFile(file)
    with pytest.raises(ExportError, match="depends on the other rows"):
        export_bundle(given, FEATURES, out, name="n", version="1", X=X, y=Y, oof_raw=np.full(len(X), 0.5))
    assert not out.exists()
