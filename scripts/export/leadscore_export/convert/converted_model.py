"""A model as a bundle stores it: an ONNX file with its input and output."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto

from leadscore_export.bundle import limits
from leadscore_export.convert.layered_model import LinearModel
from leadscore_export.convert.onnx_graph import INPUT_NAME, OUTPUT_NAME, run_onnx
from leadscore_export.convert.pipelines.table_trees import served_trees
from leadscore_export.convert.pipelines.trained_table import TrainedTable
from leadscore_export.convert.tree_model import Covers, TreeModel, tree_onnx
from leadscore_export.errors import ExportError, failures_advise

Rows32 = npt.NDArray[np.float32]
Probabilities = npt.NDArray[np.float64]
Predict = Callable[[Rows32], Probabilities]
_DOMAINS = ("", "ai.onnx", "ai.onnx.ml")
_QUANTISED = ("QLinear", "QAttention", "DequantizeLinear", "DynamicQuantize")


@dataclass(frozen=True)
class ConvertedModel:
    """An ONNX file from float32 rows to the positive class's probability (or logit).

    `width`: Number of input columns, None if the file leaves it open.
    `predict`: The trainer's own probability, to compare with. None for an `OnnxFile`.
    `trees` and `covers`, or `linear`: The source of the file, if contributions are exact.
    `notes`: For the report, where the file is another than the author may expect.
    `table`: The table that the trainer's `predict` takes. None if it takes the rows of the bundle.
    `is_wide`: Whether the trainer compares float64, and not float32.
    """

    file: bytes
    width: int | None
    predict: Predict | None = None
    input: str = INPUT_NAME
    output: str = OUTPUT_NAME
    kind: Literal["probability", "logit"] = "probability"
    positive_class: int = 1
    trees: TreeModel | None = None
    covers: Covers | None = None
    linear: LinearModel | None = None
    notes: tuple[str, ...] = ()
    table: TrainedTable | None = None
    is_wide: bool = False

    def raw(self, rows: npt.ArrayLike) -> Probabilities:
        """The probability of each row, computed by ONNX as in the service."""
        with failures_advise(
            "ONNX Runtime does not run the model",
            "convert it with float tensors of any number of rows and operator set 15, and set "
            "model.ir_version = 10 before onnx.save",
        ):
            output = run_onnx(self.file, rows, input_name=self.input, output_name=self.output)
        return self.probabilities(output.reshape(len(output), -1).astype(np.float64))

    def probabilities(self, values: Probabilities) -> Probabilities:
        """The probability of each row of an output, [N, classes]. Values far outside 0..1 are kept."""
        column = values[:, 0 if values.shape[1] == 1 else self.positive_class]
        if self.kind == "logit":
            with np.errstate(over="ignore"):
                return 1 / (1 + np.exp(-column))
        within = np.clip(column, 0, 1)
        return np.where(np.abs(column - within) <= limits.BEYOND_RANGE, within, column)

    def trained(self, rows: npt.NDArray[Any]) -> Probabilities | None:
        """The trainer's own probability of each row, None for an `OnnxFile`.

        It computes with float32 rows, as the service sends them. A trainer that compares float64, or whose
        pipeline computes with it, gets the numbers of X if float32 cannot hold them.
        """
        if self.predict is None:
            return None
        with (
            failures_advise(
                "the model's own predict fails on the rows",
                "give X as Featurizer.rows makes it, and a model that was trained on that",
            ),
            warnings.catch_warnings(),
        ):
            # A model that was trained on a table with names asks for one.
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            return self.predict(self._as_trained(rows))

    def _as_trained(self, rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        table = self.table
        if table is None:
            return rows.astype(np.float32)
        if table.columns:
            return table.of_rows(rows)
        return rows if self.is_wide and table.decimals else rows.astype(np.float32)


def converted_trees(
    trees: TreeModel, predict: Predict, table: TrainedTable, *, notes: Sequence[str] = ()
) -> ConvertedModel:
    """A model of trees as ONNX."""
    if not table.columns:
        table = replace(table, width=trees.width)
    served = served_trees(trees, table)
    file, covers = tree_onnx(served)
    return ConvertedModel(
        file=file,
        width=served.width,
        predict=predict,
        trees=served,
        covers=covers,
        notes=tuple(notes),
        table=table,
        is_wide=trees.is_wide,
    )


@dataclass(frozen=True)
class OnnxFile:
    """An ONNX file: float32 [N, width] in, probabilities (or logits) out.

    `output`: The name of the output. Required if several are float32.
    `positive_class`: The column of the class that means converted, for an output with several.
    """

    path: str | Path
    output: str | None = None
    kind: Literal["probability", "logit"] = "probability"
    positive_class: int = 1


def read_onnx_file(given: OnnxFile) -> ConvertedModel:
    """The file with its input and output. Raises ExportError if it cannot be served."""
    path = Path(given.path)
    try:
        file = path.read_bytes()
        model = onnx.load_from_string(file)
    except Exception as problem:  # protobuf raises several types
        raise ExportError(
            f"{path} cannot be read as ONNX: {problem}; check the path and the file"
        ) from problem
    return described_file(file, model, given)


def described_file(file: bytes, model: onnx.ModelProto, given: OnnxFile) -> ConvertedModel:
    """An ONNX model with its input and output."""
    _check_operators(model)
    name, width = _input(model.graph)
    return ConvertedModel(
        file=file,
        width=width,
        input=name,
        output=_output(model.graph, given.output),
        kind=given.kind,
        positive_class=given.positive_class,
    )


def _check_operators(model: onnx.ModelProto) -> None:
    """Refuses subgraphs, functions, and operators of a single runtime, as the service does."""
    graphs = (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS)
    for node in model.graph.node:
        if node.op_type.startswith(_QUANTISED) or node.op_type.endswith(("Integer", "QuantizeLinear")):
            raise ExportError(
                f'the ONNX model is quantised (operator "{node.op_type}"), which the service refuses; do not '
                "quantise it: give the file with float32 weights"
            )
        has_graph = any(attribute.type in graphs for attribute in node.attribute)
        if has_graph or node.domain not in _DOMAINS:
            raise ExportError(
                f'the ONNX model needs the operator "{node.op_type}", which the service refuses; train '
                "another kind of model (scripts/export/README.md lists them), or convert this one "
                "without it"
            )
    if model.functions:
        raise ExportError(
            "the ONNX model has functions of its own, which the service refuses; convert it without them"
        )


def _input(graph: onnx.GraphProto) -> tuple[str, int | None]:
    stored = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in stored]
    if len(inputs) != 1:
        names = ", ".join(value.name for value in inputs)
        raise ExportError(
            f"the ONNX model has {len(inputs)} inputs ({names}); convert it with one, float32 [N, width]"
        )
    tensor = inputs[0].type.tensor_type
    if tensor.elem_type != TensorProto.FLOAT:
        raise ExportError(
            f"the ONNX model's input {inputs[0].name} is not float32; convert it with float tensors: a "
            "FloatTensorType input in skl2onnx, model.float() in PyTorch"
        )
    dimensions = tensor.shape.dim
    width = dimensions[1].dim_value if len(dimensions) == 2 else 0
    return inputs[0].name, width or None


def _output(graph: onnx.GraphProto, wanted: str | None) -> str:
    if any(node.op_type == "ZipMap" for node in graph.node):
        raise ExportError("the ONNX model ends in a ZipMap; convert it with the option zipmap=False")
    tensors = [value.name for value in graph.output if value.type.tensor_type.elem_type == TensorProto.FLOAT]
    if wanted is not None:
        if wanted not in tensors:
            raise ExportError(
                f'the ONNX model has no float32 output "{wanted}"; its outputs are '
                f"{', '.join(tensors) or 'none'}"
            )
        return wanted
    if not tensors:
        raise ExportError(
            "the ONNX model has no float32 output; convert it with float tensors, so that the probabilities "
            "are float32"
        )
    if len(tensors) != 1:
        raise ExportError(
            f"the ONNX model has {len(tensors)} float32 outputs ({', '.join(tensors)}); choose one with "
            "OnnxFile(path, output=...)"
        )
    return str(tensors[0])
