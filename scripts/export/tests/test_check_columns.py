"""`Featurizer.rows` and an export name a feature that reads nothing."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from training_tables import FEATURES, FOREST, refused

from leadscore_export import (
    Boolean,
    Category,
    ExportError,
    ExportReport,
    Featurizer,
    Multi,
    Number,
    export_bundle,
)
from leadscore_export.featurizer.feature_types import Feature

DRAW = np.random.default_rng(2)


BALANCE = DRAW.normal(size=300)


CONVERTED = (BALANCE + DRAW.normal(size=300) > 0).astype(int)


RECORDS: list[dict[str, Any]] = [
    {"Balance Total": round(float(value), 3), "Source": "web", "Text": "x", "Asked": False}
    for value in BALANCE
]


BALANCE_FEATURE = Number("Balance Total", impute=0)


def exported(features: list[Feature], out: Path) -> ExportReport:
    featurizer = Featurizer(features)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = featurizer.rows(RECORDS)
    model = RandomForestClassifier(5, min_samples_leaf=9, random_state=0).fit(rows, CONVERTED)
    return export_bundle(model, featurizer, out, name="n", version="1", X=rows, y=CONVERTED)


@pytest.mark.parametrize(
    "feature",
    [
        Number("Balance totl"),
        Number("Text", impute=0, missing_column=True),
        Category("Source", ["wbe"]),
        Category("Sauce", ["web"], other_column=True),
        Multi("Products", ["a"]),
    ],
)
def test_refuses_a_feature_without_any_value(feature: Feature, tmp_path: Path) -> None:
    with pytest.raises(
        ExportError, match=f'no row of X has a value of "{feature.field}". Check the spelling'
    ):
        exported([BALANCE_FEATURE, feature], tmp_path)


def test_names_all_faulty_features(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r'value of "a", "b"\. Check'):
        exported([BALANCE_FEATURE, Number("a"), Number("b")], tmp_path)
    filled: list[Feature] = [Number("Balance Total"), Boolean("Asked"), BALANCE_FEATURE]
    with pytest.raises(ExportError, match=r'"Balance Total" is NaN at scoring .*; "Asked" is NaN at scoring'):
        exported(filled, tmp_path)


def test_notes_constant_columns(tmp_path: Path) -> None:
    asked, source = Boolean("Asked", impute=0), Category("Source", ["wbe"], other_column=True)
    notes = exported([BALANCE_FEATURE, asked, source], tmp_path).notes
    assert any('"Asked" is 0, as when it is missing, in every row' in note for note in notes)
    assert any('one of the categories of "Source"' in note for note in notes)
    honest = exported([BALANCE_FEATURE, Category("Source", ["web", "mail"])], tmp_path).notes
    assert not any("row of X" in note for note in honest)


def test_rows_warn_of_a_field_that_no_record_has() -> None:
    featurizer = Featurizer([BALANCE_FEATURE, Number("Balnce total"), Number("Text"), Number("zz")])
    expected = (
        r'has "Balnce total" \(did you mean "Balance Total"\?\), or a readable value of "Text", '
        r'or "zz": check the spelling'
    )
    with pytest.warns(UserWarning, match=expected):
        featurizer.rows(RECORDS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        featurizer.rows(RECORDS[:5])
        Featurizer([Number("balance_total"), Category("Source", ["mail"])]).rows(RECORDS)


def test_refuses_features_that_can_be_nan_but_never_were() -> None:
    refused(
        FOREST,
        r'"a" is NaN at scoring .* give it impute=-?[\d.]+ \(its median',
        features=[Number("a"), FEATURES[1]],
    )
    level = Category("a", ["x", "y"], encoding="ordinal", impute=0)
    refused(FOREST, "give it other_value=-1 and impute=", features=[level, FEATURES[1]])
