"""Makes the rows of a model from the columns of a table: each different cell is read once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from leadscore_export.featurizer.feature_types import columns_of
from leadscore_export.featurizer.featurizer import Featurizer
from leadscore_export.featurizer.read_cell import NoValue, date_reader, missing_texts
from leadscore_export.featurizer.read_date import MS_PER_DAY
from leadscore_export.train.read_table import Column, Table

Rows = npt.NDArray[np.float32]
Vector = npt.NDArray[np.float64]


def feature_rows(table: Table, featurizer: Featurizer, at_ms: Vector | None) -> Rows:
    """The rows that `Featurizer.rows` makes, as float32.

    `at_ms`: The time of each row, for the ages of dates; None without date features.
    """
    rows = np.empty((table.rows, featurizer.width), dtype=np.float32)
    missing = missing_texts(featurizer.missing_tokens)
    for feature in featurizer.features:
        column = table.columns[feature["field"]]
        indexes = columns_of(feature)
        if feature["type"] == "date":
            if at_ms is None:
                raise ValueError("a date feature needs the time of each row")
            rows[:, indexes] = _ages(column, feature, missing, at_ms)
        else:
            rows[:, indexes] = _by_text(column, feature, featurizer)[column.codes]
    return rows


def dates_of(column: Column, missing: frozenset[str], date_order: str | None) -> Vector:
    """Unix ms of each row, NaN where the cell is missing or no date."""
    read = date_reader(missing, date_order)
    found = [NoValue.UNREADABLE if isinstance(cell, list) else read(cell) for cell in column.texts]
    by_text = np.array([np.nan if isinstance(value, NoValue) else value for value in found], dtype=np.float64)
    dates: Vector = by_text[column.codes]
    return dates


def _by_text(column: Column, feature: Mapping[str, Any], featurizer: Featurizer) -> Rows:
    """The feature's own columns for each different cell."""
    alone, width = dict(feature), len(feature["columns"])
    alone["columns"] = list(range(width))
    for key in ("other_column", "missing_column"):
        if key in feature:
            alone[key], width = width, width + 1
    reader = Featurizer.from_manifest(
        {"features": [alone], "width": width, "missing_tokens": featurizer.missing_tokens}
    )
    # A record of its own a cell: with twenty cells or more, `rows` warns if none has a value.
    takes_lists = feature["type"] == "multi"
    cells = ["" if isinstance(cell, list) and not takes_lists else cell for cell in column.texts]
    parts = [reader.rows([{feature["field"]: cell}])[0] for cell in cells]
    return np.asarray(parts, dtype=np.float32)


def _ages(column: Column, feature: Mapping[str, Any], missing: frozenset[str], at_ms: Vector) -> Vector:
    ages = (at_ms - dates_of(column, missing, feature.get("date_order"))) / MS_PER_DAY
    unread = np.isnan(ages)
    ages[unread] = feature.get("impute", np.nan)
    return np.column_stack([ages, unread]) if "missing_column" in feature else ages[:, None]
