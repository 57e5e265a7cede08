"""The table that a classifier was trained on, as it follows from the rows of a bundle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]
Operation = tuple[Literal["subtract", "divide", "multiply", "add"], float]
_APPLY = {"subtract": np.subtract, "divide": np.divide, "multiply": np.multiply, "add": np.add}


@dataclass(frozen=True)
class TableColumn:
    """One column of the table.

    `column`: The bundle's column that it follows from.
    `added`: Further columns of the bundle, which are added to it.
    `members`: For a category, the indexes for which the column is 1, else 0. None for a number.
    `operations`: Those of the scalers, in order, on float64.
    """

    column: int
    added: tuple[int, ...] = ()
    members: tuple[int, ...] | None = None
    operations: tuple[Operation, ...] = ()

    def of_rows(self, rows: Vector) -> Vector:
        """The column for some rows of the bundle."""
        values = rows[:, [self.column, *self.added]].sum(axis=1)
        if self.members is not None:
            values = np.isin(values, self.members).astype(np.float64)
        return self.scaled(values)

    def scaled(self, values: Vector) -> Vector:
        """Numbers as the scalers change them, operation by operation as in training."""
        for name, operand in self.operations:
            values = _APPLY[name](values, operand)
        return values

    @property
    def offset_and_scale(self) -> tuple[float, float]:
        """The operations as (x - offset) * scale."""
        offset, scale = 0.0, 1.0
        for name, operand in self.operations:
            if name == "divide":
                scale /= operand
            elif name == "multiply":
                scale *= operand
            else:
                offset += (operand if name == "subtract" else -operand) / scale
        return offset, scale


@dataclass(frozen=True)
class TrainedTable:
    """The columns of the table, in the order of training.

    `width`: Number of input columns of the bundle.
    `columns`: Empty if the table is the rows of the bundle themselves.
    `decimals`: The bundle's columns with numbers in X that float32 cannot hold.
    `positive`: The index of the class that means converted among the model's classes.
    """

    width: int
    columns: Sequence[TableColumn] = ()
    decimals: frozenset[int] = field(default_factory=frozenset)
    positive: int = 1

    def column(self, index: int) -> TableColumn:
        """The column of the table at an index."""
        return self.columns[index] if self.columns else TableColumn(index)

    def of_rows(self, rows: Vector) -> Vector:
        """The table for some rows of the bundle."""
        if not self.columns:
            return rows
        wide = np.asarray(rows, dtype=np.float64)
        return np.column_stack([column.of_rows(wide) for column in self.columns])

    def weights_of(self, weights: Vector) -> Vector:
        """Weights of the table's columns, [columns, ...], as weights of the bundle's columns."""
        if not self.columns:
            return weights
        moved = np.zeros((self.width, *weights.shape[1:]))
        for index, column in enumerate(self.columns):
            # A pipeline may pass one field on twice.
            moved[[column.column, *column.added]] += weights[index]
        return moved

    def scaling(self) -> tuple[Vector, Vector] | None:
        """Offset and scale of each column of the bundle; None if no column is scaled."""
        if not any(column.operations for column in self.columns):
            return None
        offsets, scales = np.zeros(self.width), np.ones(self.width)
        for column in self.columns:
            offset, scale = column.offset_and_scale
            offsets[column.column] = offset
            scales[[column.column, *column.added]] = scale
        return offsets, scales


def decimal_columns(rows: Vector) -> frozenset[int]:
    """The columns that hold a number which float32 cannot hold."""
    with np.errstate(over="ignore"):
        differs = (rows.astype(np.float32).astype(np.float64) != rows) & ~np.isnan(rows)
    return frozenset(np.flatnonzero(differs.any(axis=0)).tolist())
