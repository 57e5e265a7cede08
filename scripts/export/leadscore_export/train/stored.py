"""Reads the stored leads of a model, which a program hands over as JSON lines.

The first line describes the rows:

    {"version": "2026.11.0", "name": "Lead conversion", "horizon_days": 90, "columns": ["company_size"],
     "features": [...], "missing_tokens": ["unknown"], "counts": {"unnamed": 12}}

`features` are those of the current version's manifest, without skipped ones. They read the columns. `counts`
may be absent: it holds leads that were left out, by reason. Its member `unnamed_by_band` may hold the leads
without an outcome of each of the five bands of earlier scores.

Each further line is a lead as it was at its first score:

    {"at": "2026-05-01T08:00:00Z", "converted": true, "days": 31.5, "score": 40, "likelihood": 0.4,
     "version": "2026.10.0", "cells": [10]}

The last line is `{"end": 1234}` with the number of leads, so that a stream that breaks off is noticed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from leadscore_export.featurizer.feature_types import Boolean, Category, Date, Feature, Multi, Number
from leadscore_export.featurizer.featurizer import unix_ms
from leadscore_export.featurizer.read_cell import (
    NoValue,
    boolean_reader,
    missing_texts,
    number_reader,
    scalar_text,
)
from leadscore_export.featurizer.read_date import MS_PER_DAY
from leadscore_export.featurizer.record_values import folded_text, normal_text
from leadscore_export.train.columns import ChosenColumns
from leadscore_export.train.command.failures import TrainError
from leadscore_export.train.outcomes import check_classes
from leadscore_export.train.read_table import Column, Table
from leadscore_export.train.rows.feature_rows import dates_of

Vector = npt.NDArray[np.float64]
Indexes = npt.NDArray[np.intp]

_MIN_ROWS = 10  # of a category, and of a field
_MAX_CATEGORIES = 100


@dataclass(frozen=True)
class StoredLeads:
    """Leads with the cells that were scored, in the order of their first scores.

    `days`: From the score to the conversion, NaN for others.
    `scores`: The answers of the service then, 0 to 100.
    `unnamed_by_band`: Leads without an outcome by band of the earlier score, None if not given.
    """

    table: Table
    converted: Vector
    at_ms: Vector
    days: Vector
    scores: Vector
    version: str
    name: str
    horizon_days: int
    features: tuple[Mapping[str, Any], ...]
    missing_tokens: tuple[str, ...]
    counts: dict[str, int]
    unnamed_by_band: tuple[int, ...] | None


def read_stored(lines: Iterable[str]) -> StoredLeads:
    """Reads the lines of the module's docstring. Raises TrainError if they are malformed or end early."""
    try:
        return _read(iter(lines))
    except (KeyError, TypeError, ValueError) as problem:
        if isinstance(problem, TrainError):
            raise
        raise TrainError(
            "bad_stored_leads",
            f"the stream of stored leads is malformed ({problem!r}); use one release",
        ) from problem


def stored_features(stored: StoredLeads, rows: Indexes, left_out: Mapping[str, str]) -> ChosenColumns:
    """The features of the current version, with the categories that ten of the rows have.

    Raises TrainError if none is left.
    """
    reasons = dict(left_out)
    missing = missing_texts(stored.missing_tokens)
    features: list[Feature] = []
    for feature in stored.features:
        field = feature["field"]
        if field in left_out:
            continue
        column = stored.table.columns[field].taken(rows)
        try:
            features.append(_feature(feature, column, missing, stored.at_ms[rows]))
        except _Skipped as reason:
            reasons[field] = str(reason)
    if not features:
        raise TrainError("no_features", "no field is left to train on; see the reasons", left_out=reasons)
    return ChosenColumns(features, reasons, {})


class _Skipped(Exception):
    """The reason why a field becomes no feature."""


def _read(lines: Iterable[str]) -> StoredLeads:
    rest = iter(lines)
    head = json.loads(next(rest, "") or "{}")
    names: list[str] = head["columns"]
    words: list[dict[str, int]] = [{} for _ in names]
    values: list[list[Any]] = [[] for _ in names]
    codes: list[list[int]] = [[] for _ in names]
    found: dict[str, list[float]] = {"at": [], "converted": [], "days": [], "score": []}
    end: int | None = None
    for line in rest:
        lead = json.loads(line)
        if "end" in lead:
            end = lead["end"]
            break
        found["at"].append(unix_ms(lead["at"]))
        found["converted"].append(float(lead["converted"]))
        found["days"].append(np.nan if lead["days"] is None else float(lead["days"]))
        found["score"].append(float(lead["score"]))
        for index, cell in enumerate(lead["cells"]):
            value = _plain(cell)
            key = json.dumps(value)
            if key not in words[index]:
                words[index][key] = len(values[index])
                values[index].append(value)
            codes[index].append(words[index][key])
    if end is None or end != len(found["at"]) or any(len(own) != end for own in codes):
        raise TrainError(
            "bad_stored_leads", f"the stream of stored leads ended after {len(found['at']):,}; run it again"
        )
    converted = np.array(found["converted"])
    check_classes(converted)
    columns = {
        name: Column(name, np.array(own, dtype=np.int32), texts)
        for name, own, texts in zip(names, codes, values, strict=True)
    }
    counts = dict(head.get("counts", {}))
    unnamed = counts.pop("unnamed_by_band", None)
    return StoredLeads(
        table=Table(columns, end),
        converted=converted,
        at_ms=np.array(found["at"]),
        days=np.array(found["days"]),
        scores=np.array(found["score"]),
        version=str(head["version"]),
        name=str(head["name"]),
        horizon_days=int(head["horizon_days"]),
        features=tuple(head["features"]),
        missing_tokens=tuple(head.get("missing_tokens", ())),
        counts={name: int(count) for name, count in counts.items()},
        unnamed_by_band=None if unnamed is None else tuple(unnamed),
    )


def _plain(cell: Any) -> Any:
    """A cell that a feature can read: a list of one value is this value."""
    if isinstance(cell, list):
        scalars = [part for part in cell if isinstance(part, str | int | float)]
        return scalars[0] if len(scalars) == 1 else scalars or ""
    return "" if cell is None else cell


def _feature(feature: Mapping[str, Any], column: Column, missing: frozenset[str], at_ms: Vector) -> Feature:
    counts = np.bincount(column.codes, minlength=len(column.texts)).tolist()
    cells = [(value, count) for value, count in zip(column.texts, counts, strict=True) if count]
    present = [(value, count) for value, count in cells if not _is_missing(value, missing)]
    rows, has_missing = sum(count for _, count in present), len(present) < len(cells)
    if rows < _MIN_ROWS:
        raise _Skipped(f"only {rows} leads have it")
    if len(present) < 2 and not has_missing:
        raise _Skipped("it always has the same value")
    common = {key: feature[key] for key in ("label", "aliases") if key in feature}
    kind = feature["type"]
    if kind in ("category", "multi"):
        return _category(feature, present, has_missing, common)
    if kind == "date":
        ages = (at_ms - dates_of(column, missing, feature.get("date_order"))) / MS_PER_DAY
        return Date(
            feature["field"],
            date_order=feature.get("date_order"),
            impute=_impute(ages.tolist(), cells),
            **common,
        )
    reader = boolean_reader(missing) if kind == "boolean" else number_reader(missing, feature.get("unit"))
    read = [(reader(value), count) for value, count in cells if not isinstance(value, list)]
    numbers = [
        np.nan if isinstance(value, NoValue) else float(value) for value, count in read for _ in range(count)
    ]
    impute = _impute(numbers, cells)
    if kind == "boolean":
        return Boolean(feature["field"], impute=impute, **common)
    return Number(feature["field"], impute=impute, unit=feature.get("unit"), **common)


def _impute(numbers: Sequence[float], cells: Sequence[tuple[Any, int]]) -> float | None:
    """The median of a field without gaps: no model learns about NaN from it."""
    values = np.array(numbers)
    has_gaps = bool(np.isnan(values).any()) or len(values) < sum(count for _, count in cells)
    if np.isnan(values).all():
        raise _Skipped("no lead has a readable value")
    return None if has_gaps else float(np.median(values))


def _category(
    feature: Mapping[str, Any],
    present: Sequence[tuple[Any, int]],
    has_missing: bool,
    common: Mapping[str, Any],
) -> Feature:
    """A category or multi. Known categories keep their spelling and their aliases."""
    separator = feature.get("separator", ";")
    known = {folded_text(text): text for text in feature["categories"]}
    aliases = {folded_text(text): target for text, target in feature.get("category_aliases", {}).items()}
    counts: Counter[str] = Counter()
    spelling: dict[str, str] = {}
    for value, count in present:
        parts = value if isinstance(value, list) else [value]
        texts = [scalar_text(part) for part in parts]
        if feature["type"] == "multi" and separator:
            texts = [piece for text in texts for piece in text.split(separator) if piece.strip()]
        for text in texts:
            folded = folded_text(text)
            folded = folded_text(aliases[folded]) if folded in aliases else folded
            spelling.setdefault(folded, known.get(folded, normal_text(text)))
            counts[folded] += count
    chosen = [
        folded for folded, count in counts.most_common(_MAX_CATEGORIES) if count >= _MIN_ROWS and folded
    ]
    if not chosen:
        raise _Skipped(f"none of its values is in {_MIN_ROWS} leads")
    categories = [spelling[folded] for folded in chosen]
    if feature["type"] == "multi":
        return Multi(feature["field"], categories, separator=separator, **common)
    kept = {
        text: target
        for text, target in feature.get("category_aliases", {}).items()
        if folded_text(target) in chosen and folded_text(text) not in chosen
    }
    return Category(
        feature["field"],
        categories,
        category_aliases=kept,
        other_column=len(chosen) < len(counts),
        missing_column=has_missing,
        **common,
    )


def _is_missing(value: Any, missing: frozenset[str]) -> bool:
    return value == "" or value == [] or (isinstance(value, str) and folded_text(value) in missing)
