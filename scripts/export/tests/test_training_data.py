"""X, y and a holdout: forms that are refused or accepted, and features that read nothing from X."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from training_tables import FEATURES, FOREST, LINE, X, Y, refused

from leadscore_export import (
    Boolean,
    Category,
    ExportError,
    ExportReport,
    Featurizer,
    Multi,
    Number,
    export_bundle,
    out_of_fold,
)
from leadscore_export.featurizer.feature_types import Feature
from leadscore_export.scores.training_data import training_outcomes, training_rows

DRAW = np.random.default_rng(2)
BALANCE = DRAW.normal(size=300)
CONVERTED = (BALANCE + DRAW.normal(size=300) > 0).astype(int)
RECORDS: list[dict[str, Any]] = [
    {"Balance Total": round(float(value), 3), "Source": "web", "Text": "x", "Asked": False}
    for value in BALANCE
]
BALANCE_FEATURE = Number("Balance Total", impute=0)


def test_refuses_x_and_y_that_do_not_fit_the_features() -> None:
    refused(FOREST, r"Featurizer\(features\).rows", X=X[:, :1])
    refused(FOREST, "y has the shape", y=Y[:5])
    refused(FOREST, "give y as 1 and 0", y=Y * 2)
    refused(FOREST, "one class only", y=Y * 0)
    refused(FOREST, "infinite", X=np.where(X > 2, np.inf, X))
    refused(FOREST, "features fill 3", X=np.zeros((300, 3)), features=[*FEATURES, Number("c")])


def test_refuses_a_table_that_holds_texts() -> None:
    frame = pd.DataFrame({"Source": ["Web", "Partner"], "n": [1, 2]})
    with pytest.raises(ExportError, match=r"'Web'\): make X with Featurizer.rows"):
        training_rows(frame)
    with pytest.raises(ExportError, match=r"make X with Featurizer.rows"):
        out_of_fold(LINE, frame, [0, 1])


@pytest.mark.parametrize(
    ("y", "advice"),
    [
        (["yes", "maybe", "no"], r"y holds .*'maybe' is no usual word .*Give positive='yes' if only that"),
        (
            ["Qualified", "Junk", "Junk"],
            r"'Junk' is no usual word for won or lost \(3 rows .* positive='Junk'",
        ),
        (["won", "", "lost"], r"missing in 1 of 3 rows"),
        (["won", " Won ", "closed won"], r"one class only \(1 in all rows\)"),
        ([1, np.nan, 0], r"missing in 1 of 3 rows \(the first is row 1\). Drop those rows"),
        (pd.Series([1, None, 0], dtype="Int64"), "missing in 1 of 3 rows"),
        ([1, 2, 1], "y holds 1, 2. 2 is no usual word .*give y as 1 and 0"),
        ([[1], [0], [1]], r"give y.ravel\(\)"),
        ([0, 0, 0], r"one class only \(0 in all rows\)"),
    ],
)
def test_refuses_outcomes_other_than_1_and_0(y: Any, advice: str) -> None:
    with pytest.raises(ExportError, match=advice):
        training_outcomes(y, 3)


@pytest.mark.parametrize(
    ("holdout", "advice"),
    [
        ((X[:3], ["yes", "no", "later"]), r"^in holdout=\(X, y\): y holds 'yes', 'no', 'later'"),
        ((X[:3], [1, 0]), r"^in holdout=\(X, y\): y has the shape \(2,\) for 3 rows of X"),
        ((X[:3, :1], [1, 0, 0]), r"^in holdout=\(X, y\): X has the shape \(3, 1\)"),
        ((X[:0], []), r"^in holdout=\(X, y\): X has no rows"),
        ((np.where(X > 1, np.nan, X), Y), r"^in holdout=\(X, y\): .* is not a probability on every row of X"),
        (X[:3], r"holdout must be a pair \(X, y\)"),
    ],
)
def test_refuses_an_unusable_holdout(holdout: Any, advice: str, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=advice):
        export_bundle(LINE, FEATURES, tmp_path, name="n", version="1", X=X, y=Y, holdout=holdout)


def test_accepts_outcomes_of_any_type_that_holds_1_and_0() -> None:
    for y in ([True, False], np.array([1, 0], dtype=object), pd.Series([1, 0], dtype="Int64"), [1.0, 0.0]):
        assert training_outcomes(y, 2).tolist() == [1.0, 0.0]


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
