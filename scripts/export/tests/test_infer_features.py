"""Proposed features: the type of each field, what fills in for missing values, what is left out and why."""

from __future__ import annotations

import pandas as pd
import pytest
from lead_table import LEVELS, NOW, PRODUCTS, leads

from leadscore_export import Boolean, Category, Date, ExportError, Featurizer, Multi, Number, infer_features


def test_fields_become_features_of_their_types() -> None:
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


def test_a_model_that_takes_no_nan_gets_medians() -> None:
    records = [{"n": value, "always": value or 1} for value in [1, 2, 3, None] * 10]
    assert infer_features(records).features == [Number("n"), Number("always", impute=1.5)]
    assert infer_features(records, takes_nan=False).features == [
        Number("n", impute=2, missing_column=True),
        Number("always", impute=1.5),
    ]


def test_identifiers_and_free_text_are_left_out() -> None:
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


def test_what_is_skipped_is_one_name_or_several_that_are_there() -> None:
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
