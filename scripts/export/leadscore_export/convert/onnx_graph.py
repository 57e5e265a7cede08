"""ONNX files in the form of a bundle: one float32 input, tensors as outputs."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper

# onnxruntime 1.29 and later report the models that they run, unless this is set before the import.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import onnxruntime

INPUT_NAME = "input"
OUTPUT_NAME = "probabilities"
_IR_VERSION = 8
_OPSET, _ML_OPSET = 15, 3


def onnx_model(
    nodes: Sequence[onnx.NodeProto],
    *,
    width: int,
    initializers: Sequence[onnx.TensorProto] = (),
    classes: int = 2,
    has_label: bool = True,
    name: str = "leadscore",
    producer: str = "leadscore-export",
) -> bytes:
    """An ONNX file from `input`, float32 [N, width], to `probabilities`, float32 [N, classes].

    `has_label`: Whether the nodes also output `label`, int64 [N], as the operators for classifiers do.
    """
    label = [helper.make_tensor_value_info("label", TensorProto.INT64, [None])] if has_label else []
    graph = helper.make_graph(
        list(nodes),
        name,
        [helper.make_tensor_value_info(INPUT_NAME, TensorProto.FLOAT, [None, width])],
        [*label, helper.make_tensor_value_info(OUTPUT_NAME, TensorProto.FLOAT, [None, classes])],
        initializer=list(initializers),
    )
    opsets = [helper.make_opsetid("ai.onnx.ml", _ML_OPSET), helper.make_opsetid("", _OPSET)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION, producer_name=producer)
    onnx.checker.check_model(model)
    file: bytes = model.SerializeToString()
    return file


def onnx_session(file: bytes) -> onnxruntime.InferenceSession:
    """An ONNX file ready to run in one thread. Its errors are raised, and not printed as well."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])


def run_onnx(
    file: bytes, rows: npt.ArrayLike, *, input_name: str, output_name: str
) -> npt.NDArray[np.float32]:
    """The output of an ONNX file for float32 rows, in one call and one thread."""
    answer: npt.NDArray[np.float32] = onnx_session(file).run(
        [output_name], {input_name: np.asarray(rows, dtype=np.float32)}
    )[0]
    return answer
