"""A model as a bundle holds it: an ONNX file and what is known of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from leadscore_export.layered_model import LinearModel
from leadscore_export.onnx_graph import INPUT_NAME, OUTPUT_NAME, run_onnx
from leadscore_export.tree_model import TreeModel
from leadscore_export.tree_onnx import Covers, tree_onnx

Rows32 = npt.NDArray[np.float32]
Probabilities = npt.NDArray[np.float64]
Predict = Callable[[Rows32], Probabilities]

# How far a probability may be beyond 0 or 1 by rounding: ten times 0.1 is 1.0000001 in float32.
_ROUNDING = 1e-4


@dataclass(frozen=True)
class ConvertedModel:
    """An ONNX file from float32 rows to the positive class's probability (or logit).

    width: number of input columns; None where the file leaves it open.
    predict: the trainer's own probability, to compare with; None for a file that came as it is.
    trees and covers, or linear: what the file was written from, where contributions are exact.
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

    def raw(self, rows: npt.ArrayLike) -> Probabilities:
        """The probability that ONNX gives each row, as the service computes it."""
        output = run_onnx(self.file, rows, input_name=self.input, output_name=self.output)
        values = output.reshape(len(output), -1).astype(np.float64)
        column = values[:, 0 if values.shape[1] == 1 else self.positive_class]
        if self.kind == "logit":
            return 1 / (1 + np.exp(-column))
        within = np.clip(column, 0, 1)
        return np.where(np.abs(column - within) <= _ROUNDING, within, column)


def converted_trees(trees: TreeModel, predict: Predict) -> ConvertedModel:
    """A model of trees as ONNX."""
    file, covers = tree_onnx(trees)
    return ConvertedModel(file=file, width=trees.width, predict=predict, trees=trees, covers=covers)
