"""Cells that the service and this package read alike: both suites read test/fixtures/cell-values.json."""

from __future__ import annotations

import json
import math
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leadscore_export import Boolean, Category, Date, Featurizer, Multi, Number, infer_features
from leadscore_export.featurizer.featurizer import unix_ms
from leadscore_export.featurizer.read_cell import (
    MISSING,
    UNREADABLE,
    boolean_reader,
    category_reader,
    date_reader,
    missing_texts,
    multi_reader,
    number_reader,
)
from leadscore_export.featurizer.record_values import plain_value

GROUPS = json.loads(
    (Path(__file__).parents[4] / "test" / "fixtures" / "cell-values.json").read_text(encoding="utf-8")
)
NOTHING: list[Any] = [None, np.nan, pd.NA, pd.NaT, np.float32("nan"), np.datetime64("NaT"), Decimal("NaN")]


def reader_of(group: dict[str, Any]) -> Any:
    """Reads one scalar: to a value, MISSING or UNREADABLE."""
    feature, missing = group["feature"], missing_texts(group.get("missing_tokens", ()))
    if feature["type"] == "number":
        return number_reader(missing, None)
    if feature["type"] == "boolean":
        return boolean_reader(missing)
    if feature["type"] == "date":
        return date_reader(missing, None)
    if feature["type"] == "category":
        return category_reader(missing, feature["categories"], feature.get("category_aliases"))
    read = multi_reader(missing, feature["categories"], feature.get("separator", ";"))

    def read_multi(value: Any) -> Any:
        indexes, reason = read(value)
        return indexes if reason is None else reason

    return read_multi


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group["feature"]["type"])
def test_reads_the_cells_of_the_table(group: dict[str, Any]) -> None:
    read, categories = reader_of(group), group["feature"].get("categories", ())
    for cell, value in group.get("reads", ()):
        if isinstance(cell, list):
            found = {index for part in cell for index in (read(part) if read(part) is not MISSING else ())}
        else:
            found = read(cell)
        if group["feature"]["type"] == "date":
            assert found == unix_ms(value), cell
        elif isinstance(value, list):
            assert sorted(found) == [categories.index(each) for each in value], cell
        else:
            assert found == (categories.index(value) if categories else value), cell
    for cell in group["missing"]:
        for part in cell if isinstance(cell, list) else [cell]:
            assert part is None or read(part) is MISSING, cell
    for cell in (*group.get("unread", ()), *group.get("unseen", ())):
        assert read(cell) is UNREADABLE, cell


@pytest.mark.parametrize("nothing", NOTHING, ids=lambda nothing: f"{type(nothing).__name__}")
def test_takes_what_pandas_writes_for_no_value_as_missing(nothing: Any) -> None:
    features = [
        Number("n", impute=7),
        Boolean("b", impute=7),
        Date("d", impute=7),
        Category("c", ["a"], other_column=True, missing_column=True),
        Multi("m", ["a"]),
    ]
    frame = pd.DataFrame({name: pd.Series([nothing, "x"], dtype=object) for name in "nbdcm"})
    assert Featurizer(features).rows(frame, 0)[0].tolist() == [7, 7, 7, 0, 0, 1, 0]


@pytest.mark.parametrize(
    "moment",
    [
        20261119, 20261119.0, np.int64(20261119), np.float64(20261119),
        46345, np.float32(46345), np.int32(46345), Decimal("46345"),
        1795046400, np.float64(1795046400000),
        pd.Timestamp("2026-11-19"), pd.Timestamp("2026-11-19", tz="UTC"),
        datetime(2026, 11, 19, tzinfo=timezone.utc),
        np.datetime64("2026-11-19"), np.datetime64("2026-11-19", "ms"), np.datetime64("2026-11-19", "ns"),
    ],
    ids=repr,
)  # fmt: skip
def test_reads_the_dates_of_python_numpy_and_pandas(moment: Any) -> None:
    assert Featurizer([Date("d")]).rows([{"d": moment}], "2026-11-20").tolist() == [[1]]
    frame = pd.DataFrame({"d": pd.Series([moment, None], dtype=object)})
    assert Featurizer([Date("d", impute=3)]).rows(frame, "2026-11-20").tolist() == [[1], [3]]


def test_writes_a_time_of_numpy_without_a_date_as_missing() -> None:
    assert plain_value(np.datetime64("NaT", "ns")) is None


def test_makes_no_category_of_a_placeholder() -> None:
    cells = ["a", "B", "#N/A", "NaN", "(blank)", "undefined", "<NA>", "b"] * 20
    inferred = infer_features(pd.DataFrame({"kind": cells, "list": [f"{cell};c" for cell in cells]}))
    assert inferred.features == [
        Category("kind", ["B", "a"], missing_column=True),
        Multi("list", ["c", "B", "a"]),
    ]


def test_counts_a_whole_number_with_and_without_its_fraction_as_one_category() -> None:
    cells = ["3.0"] * 30 + ["3"] * 12 + ["enterprise"] * 20 + ["4"] * 11
    inferred = infer_features([{"level": cell} for cell in cells])
    assert inferred.features == [Category("level", ["3.0", "enterprise", "4"])]
    rows = Featurizer(inferred.features).rows([{"level": cell} for cell in (3, "3", "3.0", "4.0")])
    assert rows.tolist() == [[1, 0, 0], [1, 0, 0], [1, 0, 0], [0, 0, 1]]


def test_infers_booleans_from_the_texts_of_a_data_frame() -> None:
    cells = ["1.0", "0.0", "", "nan"] * 20
    assert infer_features([{"flag": cell} for cell in cells]).features == [Boolean("flag")]
    assert math.isnan(Featurizer([Boolean("flag")]).rows([{"flag": "nan"}])[0, 0])
