"""Records to rows: what the format says of names, values and types. That the service agrees is tested beside it."""

from __future__ import annotations

import math
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leadscore_export import Boolean, Category, Date, ExportError, Featurizer, Multi, Number, UnusableRecord
from leadscore_export.__main__ import main
from leadscore_export.featurizer.feature_types import Feature
from leadscore_export.featurizer.record_values import number_text

NAN = math.nan


def row_of(feature: Feature, value: Any, **options: Any) -> list[float | None]:
    values = Featurizer([feature], **options).rows([{feature.field: value}], "2026-11-20")[0].tolist()
    return [None if math.isnan(each) else each for each in values]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1,200", 1200), ("$5k", 5000), ("1.200,5", 1200.5), ("1,5", 1.5), ("1.200", 1.2), ("1e5", 100000), ("(5)", -5),
        ("0,125", 0.125), ("EUR 1'200", 1200), ("12,34,567", 1234567), ("45%", 45), ("11-50", None), ("ten", None),
        (True, None), ([14], 14), (" ７ ", 7), ("1e999", None), (3, 3), ("Zzz 5", None),
    ],
)  # fmt: skip
def test_number(text: Any, number: float | None) -> None:
    assert row_of(Number("n"), text) == [number]


def test_a_percentage_of_a_fraction_is_divided() -> None:
    assert row_of(Number("n", unit="fraction"), "45 %") == [0.45]


@pytest.mark.parametrize(
    ("value", "truth"), [("Yes", 1), (" off ", 0), (1, 1), (0.0, 0), (2, None), ("maybe", None)]
)
def test_boolean(value: Any, truth: float | None) -> None:
    assert row_of(Boolean("b"), value) == [truth]


@pytest.mark.parametrize(
    ("value", "days"),
    [
        ("2026-11-19", 1), ("2026-11-19T12:00:00Z", 0.5), ("2026-11-20T05:30:00+05:30", 0), ("19/11/2026", 1),
        (1795046400, 1), (1795046400000, 1), ("2026-02-30", None), ("1850-01-01", None), ("2026-11-18T24:00:00", 1),
        (datetime(2026, 11, 19, tzinfo=timezone.utc), 1), (date(2026, 11, 19), 1), (pd.Timestamp("2026-11-19"), 1),
        (pd.NaT, None),
    ],
)  # fmt: skip
def test_date(value: Any, days: float | None) -> None:
    assert row_of(Date("d", date_order="dmy"), value) == [days]


def test_one_hot_category() -> None:
    feature = Category(
        "c", ["None", "A b", "5"], category_aliases={"AB": "A b"}, other_column=True, missing_column=True
    )
    rows = {
        "none": [1, 0, 0, 0, 0],
        " a  B ": [0, 1, 0, 0, 0],
        "ab": [0, 1, 0, 0, 0],
        5.0: [0, 0, 1, 0, 0],
        "zzz": [0, 0, 0, 1, 0],
        "n/a": [0, 0, 0, 0, 1],
        "?": [0, 0, 0, 0, 1],
    }
    for value, row in rows.items():
        assert row_of(feature, value, missing_tokens=["?"]) == row, value


def test_ordinal_category() -> None:
    feature = Category("c", ["low", "high"], encoding="ordinal", other_value=-1, impute=7)
    assert [row_of(feature, value) for value in ("HIGH", "zzz", None)] == [[1], [-1], [7]]
    assert row_of(Category("c", ["low", "high"], encoding="ordinal"), "zzz") == [None]


def test_multi() -> None:
    feature = Multi("m", ["x", "y;z", "q"])
    assert row_of(feature, " X ;; q;zzz") == [1, 0, 1]
    assert row_of(feature, "y;z") == [0, 1, 0]
    assert row_of(feature, ["x", None, "q"]) == [1, 0, 1]
    assert row_of(feature, None) == [0, 0, 0]


def test_a_key_is_matched_exactly_then_folded_then_by_alias() -> None:
    featurizer = Featurizer([Number("Deal Size", aliases=["amount"])])
    records = [
        {"AMOUNT": 3, "deal_size": 2, "Deal Size": 1},
        {"amount": 3, "deal-size": 2, "DEALSIZE": 9},
        {"other": 0, "A mount": 3},
    ]
    assert featurizer.rows(records).ravel().tolist() == [1, 2, 3]


@pytest.mark.parametrize("value", [[1, 2], {"a": 1}, [[1]], math.inf, 10**400])
def test_what_the_service_refuses_is_refused(value: Any) -> None:
    with pytest.raises(UnusableRecord, match="record 2"):
        Featurizer([Number("n")]).rows([{"n": 1}, {"n": value}])


def test_a_required_field_and_an_unknown_record_are_refused() -> None:
    with pytest.raises(UnusableRecord, match="n is required"):
        Featurizer([Number("n", required=True)]).rows([{"n": "ten"}])
    with pytest.raises(UnusableRecord, match="none of its fields"):
        Featurizer([Number("n")]).rows([{"m": 1}])


def test_a_data_frame_is_as_good_as_dictionaries() -> None:
    frame = pd.DataFrame({"n": [1.5, np.nan], "c": ["A", None], "d": pd.to_datetime(["2026-11-19", None])})
    featurizer = Featurizer([Number("n"), Category("c", ["A"], missing_column=True), Date("d", impute=3)])
    rows = featurizer.rows(frame, "2026-11-20")
    np.testing.assert_array_equal(rows, [[1.5, 1, 0, 1], [NAN, 0, 1, 3]])
    assert featurizer.column_names == ["n", "c", "c is missing", "d"]


def test_each_record_may_have_its_own_time() -> None:
    rows = Featurizer([Date("d")]).rows([{"d": "2026-11-19"}] * 2, ["2026-11-20", 1795046400000.0])
    assert rows.ravel().tolist() == [1, 0]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5.0, "5"),
        (-0.0, "0"),
        (0.1, "0.1"),
        (1e21, "1e+21"),
        (1e20, "1" + "0" * 20),
        (1.5e-7, "1.5e-7"),
        (1e-6, "0.000001"),
    ],
)
def test_numbers_as_javascript_writes_them(value: float, text: str) -> None:
    assert number_text(value) == text


def test_features_say_what_is_wrong_with_them() -> None:
    with pytest.raises(ExportError, match="other_column=True"):
        Category("c", ["a"], other_value=-1)
    with pytest.raises(ExportError, match="one category once case"):
        Category("c", ["a", " A"])
    with pytest.raises(ExportError, match="none of the categories"):
        Category("c", ["a"], category_aliases={"x": "b"})
    with pytest.raises(ExportError, match="write it as '5'"):
        Category("c", ["a", 5])  # type: ignore[list-item]


def test_lines_that_are_no_records_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = Path(__file__).parents[2] / "demo" / "bundle"
    records = tmp_path / "records.jsonl"
    for wrong, reason in [("5", "record 1 is 5"), ('{"Lead Source":', "Expecting value")]:
        records.write_text(f'{{"Lead Source": "Referral"}}\n\n{wrong}\n', encoding="utf-8")
        monkeypatch.setattr("sys.argv", ["leadscore_export", str(bundle), str(records)])
        with pytest.raises(SystemExit):
            main()
        told = capsys.readouterr()
        assert len(told.out.splitlines()) == 1
        assert f"line 3: {reason}" in told.err
