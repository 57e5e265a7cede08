"""Follows columns through the encoders of scikit-learn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from leadscore_export.convert.pipelines.traced_columns import (
    CodeColumn,
    Encoding,
    FieldColumn,
    OneHotColumn,
    TracedColumn,
)
from leadscore_export.errors import ExportError
from leadscore_export.featurizer.feature_types import Category
from leadscore_export.featurizer.read_cell import scalar_text
from leadscore_export.featurizer.record_values import folded_text, plain_value

Columns = Sequence[TracedColumn]
_IN_NUMBERS = ("min_frequency", "max_categories")


def trace_one_hot(step: Any, columns: Columns, path: str) -> Columns:
    """The columns of a OneHotEncoder: one for each category that is not dropped, the infrequent ones last."""
    dropped = step.drop_idx_ if getattr(step, "drop_idx_", None) is not None else [None] * len(columns)
    rare = getattr(step, "infrequent_categories_", None)
    rare = [None] * len(columns) if rare is None else rare
    if any(each is not None for each in rare) and any(each is not None for each in dropped):
        raise ExportError(f"the step {path} has drop and infrequent categories; train with one of both")
    result: list[TracedColumn] = []
    for column, values, drop, infrequent in zip(columns, step.categories_, dropped, rare, strict=True):
        result += _one_hot(step, _field(column, path), list(values), drop, infrequent, path)
    return result


def _one_hot(
    step: Any, column: FieldColumn, values: list[Any], drop: Any, infrequent: Any, path: str
) -> list[TracedColumn]:
    texts, missing_positions = _texts(column, values, path)
    encoding = Encoding(column.feature, tuple(texts))
    is_rare = [infrequent is not None and _is_among(value, infrequent) for value in values]
    indexes = _indexes(values, missing_positions, encoding.missing)
    # A value that the encoder does not know: of the infrequent column, or of none.
    takes_unknown = step.handle_unknown == "infrequent_if_exist" and any(is_rare)
    missing_as = _index_of_missing(column, texts, missing_positions, encoding.unknown, encoding.missing)
    groups = [[position] for position, rare in enumerate(is_rare) if not rare and position != drop]
    if any(is_rare):
        groups.append([position for position, rare in enumerate(is_rare) if rare])
    result: list[TracedColumn] = []
    for group in groups:
        members = [indexes[position] for position in group]
        if takes_unknown and any(is_rare[position] for position in group):
            members.append(encoding.unknown)
        if missing_as in members and encoding.missing not in members:
            members.append(encoding.missing)
        result.append(OneHotColumn(encoding, tuple(dict.fromkeys(members)), step=path))
    return result


def trace_ordinal(step: Any, columns: Columns, path: str) -> Columns:
    """The columns of an OrdinalEncoder: the index of each category."""
    if any(getattr(step, name, None) is not None for name in _IN_NUMBERS):
        raise ExportError(
            f"the step {path} merges infrequent categories (min_frequency, max_categories); train without, "
            "or with a OneHotEncoder"
        )
    result: list[TracedColumn] = []
    for column, values in zip(columns, step.categories_, strict=True):
        field = _field(column, path)
        if step.handle_unknown != "use_encoded_value":
            raise ExportError(
                f'the step {path} fails on a new category of "{field.feature.field}", but the service must '
                'score such a lead. Train with handle_unknown="use_encoded_value", unknown_value=-1'
            )
        texts, missing_positions = _texts(field, list(values), path)
        unknown = float(step.unknown_value)
        missing = float(step.encoded_missing_value) if missing_positions else unknown
        if field.fill is not None:
            index = _index_of_text(field.fill, texts)
            missing = unknown if index is None else float(index)
        result.append(CodeColumn(field.feature, tuple(texts), missing, unknown, step=path))
    return result


def _field(column: TracedColumn, path: str) -> FieldColumn:
    if isinstance(column, FieldColumn) and not column.operations:
        return column
    raise ExportError(
        f'the step {path} encodes "{column.feature.field}" after a scaler or another encoder; encode the '
        "field "
        "as it is"
    )


def _texts(column: FieldColumn, values: list[Any], path: str) -> tuple[list[str], list[int]]:
    """The categories as texts, and the positions of missing values among them."""
    plain = [plain_value(value) for value in values]
    missing = [position for position, value in enumerate(plain) if value is None]
    field = column.feature.field
    if len(missing) > 1:
        raise ExportError(
            f'the step {path} has None and NaN as categories of "{field}", which the service cannot tell '
            f'apart; train on df["{field}"].fillna(numpy.nan)'
        )
    if missing and missing[0] != len(values) - 1:
        raise ExportError(f'the step {path} has a missing value of "{field}" before a category; list it last')
    texts = [scalar_text(value) for value in plain if value is not None]
    if not texts:
        raise ExportError(f'the step {path} knows no category of "{field}"; drop the field, and train again')
    try:
        Category(field, texts)
    except ExportError as problem:
        raise ExportError(
            f"the step {path}: {problem}. The service ignores case and spaces: merge them in the frame "
            f'(df["{field}"].replace), and train again'
        ) from problem
    return texts, missing


def _indexes(values: list[Any], missing_positions: list[int], missing: int) -> list[int]:
    """The index of each category: its position, and that of a missing value behind all."""
    return [missing if position in missing_positions else position for position in range(len(values))]


def _index_of_missing(
    column: FieldColumn, texts: Sequence[str], missing_positions: list[int], unknown: int, missing: int
) -> int:
    """The index of the category that a missing value becomes."""
    if column.fill is not None:
        index = _index_of_text(column.fill, texts)
        return unknown if index is None else index
    return missing if missing_positions else unknown


def _index_of_text(value: Any, texts: Sequence[str]) -> int | None:
    text = folded_text(scalar_text(plain_value(value)))
    return next((position for position, each in enumerate(texts) if folded_text(each) == text), None)


def _is_among(value: Any, values: Any) -> bool:
    def is_missing(one: Any) -> bool:
        return one is None or (isinstance(one, float) and math.isnan(one))

    return any((is_missing(value) and is_missing(one)) or value == one for one in values)
