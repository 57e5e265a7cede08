"""Follows the columns of a table through the fitted steps of a pipeline of scikit-learn."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from leadscore_export.convert.pipelines.selected_columns import indexes_of
from leadscore_export.convert.pipelines.trace_encoders import trace_one_hot, trace_ordinal
from leadscore_export.convert.pipelines.traced_columns import (
    CodeColumn,
    FieldColumn,
    MissingColumn,
    TracedColumn,
)
from leadscore_export.convert.pipelines.trained_table import Operation
from leadscore_export.errors import ExportError
from leadscore_export.featurizer.feature_types import Boolean, Number

Columns = Sequence[TracedColumn]
Names = Sequence[str] | None
_HANDLED = "imputers (SimpleImputer), OneHotEncoder, OrdinalEncoder and scalers"


class UnknownStep(ExportError):
    """A step that changes columns in a way that features cannot repeat."""


def trace(step: Any, columns: Columns, names: Names, path: str) -> Columns:
    """The columns after a fitted step. Raises UnknownStep for any other kind of step.

    `names`: Of the columns, None if the step gets an array.
    `path`: The step's name within the pipeline.
    """
    if step is None or isinstance(step, str):
        return [] if step == "drop" else columns
    kind = type(step).__name__
    if hasattr(step, "steps"):
        for name, inner in step.steps:
            columns = trace(inner, columns, names, f"{path} > {name}")
            names = names_after(inner, names)
        return columns
    if kind == "ColumnTransformer":
        return _column_transformer(step, columns, names, path)
    known = next((_KINDS[cls.__name__] for cls in type(step).__mro__ if cls.__name__ in _KINDS), None)
    if known is not None:
        return known(step, columns, f'"{path}" ({kind})')
    if hasattr(step, "get_support"):
        return [columns[index] for index in step.get_support(indices=True)]
    raise UnknownStep(
        f'the step "{path}" ({kind}) cannot become features: the exporter knows {_HANDLED}. Compute its '
        "result "
        "in the table before training, and have the CRM send it; or replace the step"
    )


def names_after(step: Any, names: Names) -> Names:
    """The names of the columns after a step, None if they are unknown."""
    if step is None or isinstance(step, str):
        return names
    try:
        return [str(name) for name in step.get_feature_names_out()]
    except Exception:  # steps without names raise several types of errors
        return None


def _column_transformer(step: Any, columns: Columns, names: Names, path: str) -> Columns:
    result: list[TracedColumn] = []
    for name, inner, chosen in step.transformers_:
        indexes = indexes_of(chosen, len(columns), names)
        if not indexes:
            continue
        own_names = None if names is None else [names[index] for index in indexes]
        result += trace(inner, [columns[index] for index in indexes], own_names, f"{path} > {name}")
    return result


def _impute(step: Any, columns: Columns, path: str) -> Columns:
    sentinel = step.missing_values
    if not (sentinel is None or type(sentinel).__name__ == "NAType" or sentinel != sentinel):
        raise ExportError(
            f"the step {path} fills {sentinel!r}, but the service sends NaN for missing values. Replace "
            f"{sentinel!r} by NaN in the frame, and train again with missing_values=numpy.nan"
        )
    kept: list[TracedColumn] = []
    for column, fill in zip(columns, _statistics(step), strict=True):
        if fill is None or fill != fill:  # a column without any value, which the imputer drops
            continue
        kept.append(_filled(column, fill, path))
    if step.add_indicator:
        kept += [_gaps(columns[index], path) for index in step.indicator_.features_]
    return kept


def _statistics(step: Any) -> list[Any]:
    return [value.item() if hasattr(value, "item") else value for value in list(step.statistics_)]


def _filled(column: TracedColumn, fill: Any, path: str) -> TracedColumn:
    if isinstance(column, FieldColumn) and column.fill is None:
        if column.operations:
            raise ExportError(
                f'the step {path} fills "{column.feature.field}" after a scaler; put the imputer before '
                "the scaler, "
                "and train again"
            )
        return dataclasses.replace(column, fill=fill, step=path)
    if isinstance(column, CodeColumn) and not column.operations:
        return dataclasses.replace(
            column,
            missing=fill if column.missing != column.missing else column.missing,
            unknown=fill if column.unknown != column.unknown else column.unknown,
            step=path,
        )
    return column


def _gaps(column: TracedColumn, path: str) -> MissingColumn:
    if not isinstance(column, FieldColumn) or column.fill is not None:
        raise ExportError(
            f'the step {path} marks gaps of "{column.feature.field}" after another step; let the imputer '
            "with "
            "add_indicator be the first step of its columns"
        )
    return MissingColumn(column.feature, step=path)


def _scale(operations: Callable[[Any, int], list[Operation]]) -> Callable[[Any, Columns, str], Columns]:
    def scaled(step: Any, columns: Columns, path: str) -> Columns:
        if getattr(step, "clip", False):
            raise ExportError(f"the step {path} has clip=True, which the bundle lacks; train with clip=False")
        for column in columns:
            if isinstance(column, FieldColumn) and not isinstance(column.feature, Number | Boolean):
                raise ExportError(
                    f'the step {path} scales "{column.feature.field}", which is no number; encode it before'
                )
        return [
            dataclasses.replace(column, operations=(*column.operations, *operations(step, index)), step=path)
            for index, column in enumerate(columns)
        ]

    return scaled


def _operation(name: Any, step: Any, attribute: str, index: int) -> list[Operation]:
    values = getattr(step, attribute, None)
    return [] if values is None else [(name, float(np.ravel(values)[index]))]


def _standard(step: Any, index: int) -> list[Operation]:
    mean = _operation("subtract", step, "mean_", index) if step.with_mean else []
    return [*mean, *(_operation("divide", step, "scale_", index) if step.with_std else [])]


def _robust(step: Any, index: int) -> list[Operation]:
    return [*_operation("subtract", step, "center_", index), *_operation("divide", step, "scale_", index)]


def _max_abs(step: Any, index: int) -> list[Operation]:
    return _operation("divide", step, "scale_", index)


def _min_max(step: Any, index: int) -> list[Operation]:
    return [*_operation("multiply", step, "scale_", index), *_operation("add", step, "min_", index)]


def _function(step: Any, columns: Columns, path: str) -> Columns:
    if step.func is None:
        return columns
    raise UnknownStep(
        f"the step {path} calls a function of yours, which a bundle cannot hold. Compute its result in the "
        "table before training, and have the CRM send it"
    )


_KINDS: dict[str, Callable[[Any, Columns, str], Columns]] = {
    "SimpleImputer": _impute,
    "OneHotEncoder": trace_one_hot,
    "OrdinalEncoder": trace_ordinal,
    "StandardScaler": _scale(_standard),
    "RobustScaler": _scale(_robust),
    "MaxAbsScaler": _scale(_max_abs),
    "MinMaxScaler": _scale(_min_max),
    "FunctionTransformer": _function,
}
