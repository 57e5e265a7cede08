"""Rows of records by the rules of the format, and inferred features.

The tests of the service compare its rows with these.
"""

from __future__ import annotations

import math
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from training_tables import FEATURES, LEVELS, NOW, PRODUCTS, leads

from leadscore_export import (
    Boolean,
    Category,
    Date,
    ExportError,
    Featurizer,
    Multi,
    Number,
    UnusableRecord,
    infer_features,
)
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
        ("1,200", 1200), ("$5k", 5000), ("1.200,5", 1200.5), ("1,5", 1.5), ("1.200", 1.2), ("1e5", 100000),
        ("(5)", -5), ("0,125", 0.125), ("EUR 1'200", 1200), ("12,34,567", 1234567), ("45%", 45),
        ("11-50", None), ("ten", None), (True, None), ([14], 14), (" ７ ", 7), ("1e999", None), (3, 3),
        ("Zzz 5", None),
    ],
)  # fmt: skip
def test_reads_numbers(text: Any, number: float | None) -> None:
    assert row_of(Number("n"), text) == [number]


def test_reads_percentages_of_a_fraction() -> None:
    assert row_of(Number("n", unit="fraction"), "45 %") == [0.45]


@pytest.mark.parametrize(
    ("value", "truth"), [("Yes", 1), (" off ", 0), (1, 1), (0.0, 0), (2, None), ("maybe", None)]
)
def test_reads_booleans(value: Any, truth: float | None) -> None:
    assert row_of(Boolean("b"), value) == [truth]


@pytest.mark.parametrize(
    ("value", "days"),
    [
        ("2026-11-19", 1), ("2026-11-19T12:00:00Z", 0.5), ("2026-11-20T05:30:00+05:30", 0), ("19/11/2026", 1),
        (1795046400, 1), (1795046400000, 1), ("2026-02-30", None), ("1850-01-01", None),
        ("2026-11-18T24:00:00", 1), (datetime(2026, 11, 19, tzinfo=timezone.utc), 1), (date(2026, 11, 19), 1),
        (pd.Timestamp("2026-11-19"), 1), (pd.NaT, None),
    ],
)  # fmt: skip
def test_reads_dates(value: Any, days: float | None) -> None:
    assert row_of(Date("d", date_order="dmy"), value) == [days]


def test_encodes_a_category_one_hot() -> None:
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


def test_encodes_a_category_as_an_ordinal() -> None:
    feature = Category("c", ["low", "high"], encoding="ordinal", other_value=-1, impute=7)
    assert [row_of(feature, value) for value in ("HIGH", "zzz", None)] == [[1], [-1], [7]]
    assert row_of(Category("c", ["low", "high"], encoding="ordinal"), "zzz") == [None]


def test_encodes_several_categories_at_once() -> None:
    feature = Multi("m", ["x", "y;z", "q"])
    assert row_of(feature, " X ;; q;zzz") == [1, 0, 1]
    assert row_of(feature, "y;z") == [0, 1, 0]
    assert row_of(feature, ["x", None, "q"]) == [1, 0, 1]
    assert row_of(feature, None) == [0, 0, 0]


def test_does_not_fold_the_key_of_one_field_to_another_that_differs_by_case_alone() -> None:
    featurizer = Featurizer([Number("Stage", impute=-1), Number("stage", impute=-1)])
    records = [{"stage": 1}, {"Stage": 1}, {"stage": 1, "Stage": 2}, {"STAGE": 1}, {"stage": 1, "STAGE": 3}]
    expected = [[-1, 1], [1, -1], [2, 1], [1, 1], [3, 1]]
    assert featurizer.rows(records).tolist() == expected
    named = Featurizer([Number("Stage", impute=-1, aliases=["stage"]), Number("stage", impute=-1)])
    assert named.rows([{"stage": 1}]).tolist() == [[1, 1]]


def test_matches_keys_exactly_then_folded_then_by_alias() -> None:
    featurizer = Featurizer([Number("Deal Size", aliases=["amount"])])
    records = [
        {"AMOUNT": 3, "deal_size": 2, "Deal Size": 1},
        {"amount": 3, "deal-size": 2, "DEALSIZE": 9},
        {"other": 0, "A mount": 3},
        {"amount": 3, "\ufeffDeal\u200bSize\u2060": 4},
    ]
    assert featurizer.rows(records).ravel().tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("value", [[1, 2], {"a": 1}, [[1]], math.inf, 10**400])
def test_refuses_values_that_the_service_refuses(value: Any) -> None:
    with pytest.raises(UnusableRecord, match="record 2"):
        Featurizer([Number("n")]).rows([{"n": 1}, {"n": value}])


def test_refuses_a_missing_required_field_and_an_unknown_record() -> None:
    with pytest.raises(UnusableRecord, match="n is required"):
        Featurizer([Number("n", required=True)]).rows([{"n": "ten"}])
    with pytest.raises(UnusableRecord, match="none of its fields"):
        Featurizer([Number("n")]).rows([{"m": 1}])


def test_reads_a_data_frame() -> None:
    frame = pd.DataFrame({"n": [1.5, np.nan], "c": ["A", None], "d": pd.to_datetime(["2026-11-19", None])})
    featurizer = Featurizer([Number("n"), Category("c", ["A"], missing_column=True), Date("d", impute=3)])
    rows = featurizer.rows(frame, "2026-11-20")
    np.testing.assert_array_equal(rows, [[1.5, 1, 0, 1], [NAN, 0, 1, 3]])
    assert featurizer.column_names == ["n", "c", "c is missing", "d"]


def test_accepts_one_time_per_record() -> None:
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
def test_writes_numbers_as_javascript_does(value: float, text: str) -> None:
    assert number_text(value) == text


def test_refuses_contradictory_features() -> None:
    with pytest.raises(ExportError, match="other_column=True"):
        Category("c", ["a"], other_value=-1)
    with pytest.raises(ExportError, match='"a" differ only in case or spaces'):
        Category("c", ["a", " A"])
    with pytest.raises(ExportError, match="which is no category"):
        Category("c", ["a"], category_aliases={"x": "b"})
    with pytest.raises(ExportError, match="write it as '5'"):
        Category("c", ["a", 5])  # type: ignore[list-item]


def test_command_names_lines_that_are_no_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = Path(__file__).parents[3] / "demo" / "bundle"
    records = tmp_path / "records.jsonl"
    for wrong, reason in [("5", "record 1 is 5"), ('{"Lead Source":', "Expecting value")]:
        records.write_text(f'{{"Lead Source": "Referral"}}\n\n{wrong}\n', encoding="utf-8")
        monkeypatch.setattr("sys.argv", ["leadscore_export", str(bundle), str(records)])
        with pytest.raises(SystemExit):
            main()
        printed = capsys.readouterr()
        assert len(printed.out.splitlines()) == 1
        assert f"line 3: {reason}" in printed.err


def test_accepts_arrays_of_categories_but_no_sets_or_missing_values() -> None:
    frame = pd.DataFrame({"c": ["x", "y", "x"]})
    given: list[Any] = [np.nan, None, pd.NA]
    for categories in [frame["c"].unique(), np.array(["x", "y"]), ("x", "y")]:
        assert Category("c", categories) == Category("c", categories)
        assert Featurizer([Category("c", categories), Multi("m", categories)]).features[0]["categories"] == [
            "x",
            "y",
        ]
    for nothing in given:
        with pytest.raises(ExportError, match=r"among the categories; leave it out.*missing_column"):
            Category("c", ["x", nothing])
    with pytest.raises(ExportError, match=r"no order; write sorted"):
        Category("c", {"x", "y"})  # type: ignore[arg-type]
    with pytest.raises(ExportError, match="at least one text"):
        Category("c", np.array([]))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("records", "advice"),
    [
        ({"a": 1}, r"give a list of records: \[record\]"),
        (pd.Series({"a": 1}), r"series.to_frame\(\).T"),
        ("leads.csv", "read the file first"),
        (Path("leads.csv"), "read the file first"),
        ([{"a": 1}, 5], "record 2 is 5; each record must be a mapping"),
        (7, "give a DataFrame"),
    ],
)
def test_refuses_records_that_are_no_table(records: Any, advice: str) -> None:
    with pytest.raises(ExportError, match=advice):
        Featurizer(FEATURES).rows(records)


def test_unusable_record_is_an_export_error() -> None:
    with pytest.raises(ExportError):
        Featurizer(FEATURES).rows([{"z": 1}])
    assert issubclass(UnusableRecord, ExportError)


def test_infers_the_type_of_each_field() -> None:
    records = leads(takes_nan=True).records
    inferred = infer_features(records, missing_tokens=["unknown"], now=NOW)
    by_field = {feature.field: feature for feature in inferred.features}
    assert {field: type(feature) for field, feature in by_field.items()} == {
        "Lead Source": Category,
        "Seniority": Category,
        "Annual Revenue": Number,
        "Visits": Number,
        "Asked For Demo": Boolean,
        "Last Activity": Date,
        "Products": Multi,
    }
    assert inferred.skipped == {"Owner": "it always has the same value"}
    seniority, products, activity = (by_field[field] for field in ("Seniority", "Products", "Last Activity"))
    assert isinstance(seniority, Category) and set(LEVELS) <= set(seniority.categories)
    assert isinstance(products, Multi) and sorted(products.categories) == PRODUCTS
    assert isinstance(activity, Date) and activity.date_order == "mdy"
    assert Featurizer(inferred.features, missing_tokens=["unknown"]).rows(records, NOW).shape[0] == len(
        records
    )


def test_infers_medians_for_models_that_take_no_nan() -> None:
    records = [{"n": value, "always": value or 1} for value in [1, 2, 3, None] * 10]
    assert infer_features(records).features == [Number("n"), Number("always", impute=1.5)]
    assert infer_features(records, takes_nan=False).features == [
        Number("n", impute=2, missing_column=True),
        Number("always", impute=1.5),
    ]


def test_infers_no_feature_from_identifiers_and_free_text() -> None:
    frame = pd.DataFrame(
        {
            "Lead ID": [f"L{index}" for index in range(60)],
            "Note": [f"spoke on {index}" for index in range(60)],
            "Rare": ["x"] * 3 + [None] * 57,
            "Source": ["Web", "web", "Partner"] * 20,
            "converted": [0, 1] * 30,
        }
    )
    inferred = infer_features(frame, skip=["converted"])
    assert list(inferred.skipped) == ["Lead ID", "Note", "Rare"]
    assert "identifier" in inferred.skipped["Lead ID"] and "only 3 records" in inferred.skipped["Rare"]
    assert inferred.features == [Category("Source", ["Web", "Partner"])]


def test_skips_one_or_several_existing_fields() -> None:
    records = [
        {"stage": "won" if index % 2 else "lost", "e": index, "Lead Score": index % 5} for index in range(40)
    ]
    assert [feature.field for feature in infer_features(records, skip="stage").features] == [
        "e",
        "Lead Score",
    ]
    with pytest.raises(
        ExportError, match=r'no record has "Stage" \(did you mean "stage"\?\), "lead_scroe" \(.*Score'
    ):
        infer_features(records, skip=["lead_scroe", "Stage"])
    with pytest.raises(ExportError, match='no record has "zzz"; write it'):
        infer_features(records, skip="zzz")
