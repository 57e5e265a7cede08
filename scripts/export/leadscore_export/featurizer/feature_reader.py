"""Reads one feature from a record and fills its columns of a row."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leadscore_export.errors import UnusableRecord
from leadscore_export.featurizer.read_cell import (
    MISSING,
    NoValue,
    Scalar,
    boolean_reader,
    category_reader,
    date_reader,
    multi_reader,
    number_reader,
)
from leadscore_export.featurizer.read_date import MS_PER_DAY
from leadscore_export.featurizer.record_values import Record, folded_name

# Fills a row's columns from one scalar and the request's Unix ms. Returns the reason if there is no value.
Writer = Callable[[list[float], Scalar, float], NoValue | None]
FLOAT32_MAX = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class FoldedKeys:
    """The first key of a record per folded name, with its index."""

    all: Mapping[str, tuple[int, str]]
    """All keys count."""
    other: Mapping[str, tuple[int, str]]
    """A key that is the exact name of a field with a namesake does not count."""


class FeatureReader:
    """One feature, compiled to read records."""

    def __init__(self, feature: Mapping[str, Any], missing: frozenset[str]) -> None:
        self.field: str = feature["field"]
        self.is_required: bool = feature.get("required", False)
        self._folded = folded_name(self.field)
        aliases = {alias: folded_name(alias) for alias in feature.get("aliases", ())}
        self._same = [alias for alias, folded in aliases.items() if folded == self._folded]
        self._aliases = [folded for folded in aliases.values() if folded != self._folded]
        self._takes_several = feature["type"] == "multi"
        self._missing_column: int | None = feature.get("missing_column")
        self._write = _writer(feature, missing)

    def key_in(self, record: Record, keys: FoldedKeys) -> str | None:
        """The record's key for the feature: the exact name, else the folded name, else a folded alias.

        The exact name of another field that differs by case alone is no folded name, unless it is an alias.
        """
        if self.field in record:
            return self.field
        named = [(list(record).index(alias), alias) for alias in self._same if alias in record]
        if self._folded in keys.other:
            named.append(keys.other[self._folded])
        if named:
            return min(named)[1]
        return min((keys.all[alias] for alias in self._aliases if alias in keys.all), default=(0, None))[1]

    def fill(self, row: list[float], value: Any, now_ms: float) -> bool:
        """Fills the feature's columns of a row of missing values. Returns whether it found a value."""
        has_value = False
        for scalar in self._scalars(value):
            if self._write(row, scalar, now_ms) is None:
                has_value = True
        if has_value and self._missing_column is not None:
            row[self._missing_column] = 0.0
        return has_value

    def _scalars(self, value: Any) -> Iterator[Scalar]:
        values = value if isinstance(value, list) else [value]
        for scalar in values:
            if isinstance(scalar, dict | list):
                raise UnusableRecord(
                    f"{self.field} holds {'a nested array' if values is value else 'an object'}"
                )
            if isinstance(scalar, int | float) and not _is_finite(scalar):
                raise UnusableRecord(f"{self.field} holds a number beyond 1.8e308")
        if len(values) > 1 and not self._takes_several:
            raise UnusableRecord(f"{self.field} holds {len(values)} values; one is expected")
        return (scalar for scalar in values if scalar is not None)


def _writer(feature: Mapping[str, Any], missing: frozenset[str]) -> Writer:
    columns: Sequence[int] = feature["columns"]
    column = columns[0]
    if feature["type"] == "multi":
        read_multi = multi_reader(missing, feature["categories"], feature.get("separator", ";"))

        def write_multi(row: list[float], value: Scalar, _now_ms: float) -> NoValue | None:
            indexes, reading = read_multi(value)
            for index in indexes:
                row[columns[index]] = 1.0
            return reading

        return write_multi
    if feature["type"] == "category":
        return _category_writer(feature, missing)
    if feature["type"] == "date":
        read_date = date_reader(missing, feature.get("date_order"))

        def write_date(row: list[float], value: Scalar, now_ms: float) -> NoValue | None:
            date_ms = read_date(value)
            if isinstance(date_ms, NoValue):
                return date_ms
            row[column] = (now_ms - date_ms) / MS_PER_DAY
            return None

        return write_date
    is_number = feature["type"] == "number"
    read = number_reader(missing, feature.get("unit")) if is_number else boolean_reader(missing)

    def write_number(row: list[float], value: Scalar, _now_ms: float) -> NoValue | None:
        number = read(value)
        if isinstance(number, NoValue):
            return number
        row[column] = min(max(number, -FLOAT32_MAX), FLOAT32_MAX)
        return None

    return write_number


def _category_writer(feature: Mapping[str, Any], missing: frozenset[str]) -> Writer:
    read = category_reader(missing, feature["categories"], feature.get("category_aliases"))
    columns: Sequence[int] = feature["columns"]
    is_ordinal = feature["encoding"] == "ordinal"
    other_column: int | None = feature.get("other_column")
    other_value = float(feature.get("other_value", math.nan))

    def write(row: list[float], value: Scalar, _now_ms: float) -> NoValue | None:
        index = read(value)
        if index is MISSING:
            return MISSING
        if is_ordinal:
            row[columns[0]] = other_value if isinstance(index, NoValue) else float(index)
        elif not isinstance(index, NoValue):
            row[columns[index]] = 1.0
        elif other_column is not None:
            row[other_column] = 1.0
        return None

    return write


def _is_finite(value: int | float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond float64
        return False
