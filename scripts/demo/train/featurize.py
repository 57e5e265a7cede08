"""Turns CRM records into the input rows of a model, by the bundle format (docs/models.md).

Written from that text alone and apart from the TypeScript that serves: where the two disagree, one of them is wrong.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from read_cell import (
    MS_PER_DAY,
    Scalar,
    is_missing_text,
    read_boolean,
    read_category_text,
    read_date_ms,
    read_number,
    tidy_text,
)

Record = Mapping[str, Any]
Feature = Mapping[str, Any]
NAN = math.nan


class UnusableRecord(ValueError):
    """The record cannot become a row at all: the service would refuse the whole call."""


def feature_rows(records: Sequence[Record], manifest: Mapping[str, Any], now_ms: Sequence[float]) -> list[list[float]]:
    """One row of `width` float64 values (NaN where missing) per record.

    `now_ms`: the time of each record's request, milliseconds since 1970. Raises UnusableRecord.
    """
    return [feature_row(record, manifest, now) for record, now in zip(records, now_ms, strict=True)]


def feature_row(record: Record, manifest: Mapping[str, Any], now_ms: float) -> list[float]:
    """The row of one record; see `feature_rows`."""
    row = [0.0] * manifest["width"]
    tokens = frozenset(tidy_text(token).lower() for token in manifest.get("missing_tokens", ()))
    known = False
    for feature in manifest["features"]:
        key = matching_key(record, feature)
        known = known or key is not None
        filled = _fill(row, feature, None if key is None else record[key], tokens, now_ms)
        if feature.get("required") and not filled:
            raise UnusableRecord(f"{feature['field']} is required")
    if not known:
        raise UnusableRecord("no known field")
    return row


def matching_key(record: Record, feature: Feature) -> str | None:
    """The record's key that a feature reads: the same name, else the same folded, else a folded alias."""
    if feature["field"] in record:
        return str(feature["field"])
    for names in ([feature["field"]], feature.get("aliases", [])):
        wanted = {fold_name(name) for name in names}
        for key in record:
            if fold_name(key) in wanted:
                return key
    return None


def fold_name(name: str) -> str:
    """A field's name without case, spaces, underscores and hyphens."""
    return re.sub(r"[\s_-]", "", name).lower()


def _fill(row: list[float], feature: Feature, value: Any, tokens: frozenset[str], now_ms: float) -> bool:
    """Fills a feature's columns; whether there was a readable value."""
    if feature["type"] == "multi":
        return _fill_multi(row, feature, value, tokens)
    scalar = _single(value, feature)
    if feature["type"] == "category":
        return _fill_category(row, feature, scalar, tokens)
    number = _read_one(feature, scalar, tokens, now_ms)
    row[feature["columns"][0]] = feature.get("impute", NAN) if number is None else number
    _mark(row, feature.get("missing_column"), number is None)
    return number is not None


def _single(value: Any, feature: Feature) -> Scalar:
    if isinstance(value, (list, tuple)) and len(value) == 1:
        value = value[0]
    if isinstance(value, (dict, list, tuple)):
        raise UnusableRecord(f"{feature['field']} holds more than one value")
    return value


def _read_one(feature: Feature, value: Scalar, tokens: frozenset[str], now_ms: float) -> float | None:
    if isinstance(value, str) and is_missing_text(value, tokens):
        return None
    if feature["type"] == "number":
        return read_number(value, feature.get("unit"))
    if feature["type"] == "boolean":
        answer = read_boolean(value)
        return None if answer is None else float(answer)
    date_ms = read_date_ms(value, feature.get("date_order"))
    return None if date_ms is None else (now_ms - date_ms) / MS_PER_DAY


def _fill_category(row: list[float], feature: Feature, value: Scalar, tokens: frozenset[str]) -> bool:
    text = read_category_text(value)
    index = None if text is None else _vocabulary(feature).get(text)
    missing = text is None or (index is None and is_missing_text(text, tokens))
    _mark(row, feature.get("missing_column"), missing)
    if feature["encoding"] == "ordinal":
        unknown = feature.get("impute", NAN) if missing else feature.get("other_value", NAN)
        row[feature["columns"][0]] = unknown if index is None else float(index)
    elif index is not None:
        row[feature["columns"][index]] = 1.0
    elif not missing:
        _mark(row, feature.get("other_column"), True)
    return not missing


def _vocabulary(feature: Feature) -> dict[str, int]:
    """From a text in lower case to the category's index; a category wins over an alias of the same text."""
    words = {tidy_text(category).lower(): index for index, category in enumerate(feature["categories"])}
    for seen, canonical in feature.get("category_aliases", {}).items():
        words.setdefault(tidy_text(seen).lower(), words[tidy_text(canonical).lower()])
    return words


def _fill_multi(row: list[float], feature: Feature, value: Any, tokens: frozenset[str]) -> bool:
    parts = value if isinstance(value, (list, tuple)) else [value]
    if any(isinstance(part, (dict, list, tuple)) for part in parts):
        raise UnusableRecord(f"{feature['field']} holds a nested value")
    words = _vocabulary(feature)
    seen = [
        text
        for part in parts
        for piece in (part.split(feature.get("separator", ";")) if isinstance(part, str) else [part])
        if (text := read_category_text(piece)) is not None
    ]
    for text in seen:
        if text in words:
            row[feature["columns"][words[text]]] = 1.0
    return any(text in words or not is_missing_text(text, tokens) for text in seen)


def _mark(row: list[float], column: int | None, condition: bool) -> None:
    if column is not None:
        row[column] = 1.0 if condition else 0.0
