"""What is said of models, tables and outcomes as people first have them, and what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import catboost
import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from leadscore_export import (
    Category,
    ExportError,
    Featurizer,
    Multi,
    Number,
    UnusableRecord,
    export_bundle,
    out_of_fold,
)
from leadscore_export.bundle.check_scores import check_agreement
from leadscore_export.convert.convert_model import convert_model
from leadscore_export.convert.converted_model import ConvertedModel
from leadscore_export.scores.training_data import training_outcomes, training_rows

DRAW = np.random.default_rng(5)
X = DRAW.normal(size=(300, 2)).astype(np.float32)
Y = (X[:, 0] + DRAW.normal(size=300) > 0).astype(int)
FEATURES = [Number("a", impute=0), Number("b", impute=0)]
LINE = LogisticRegression().fit(X, Y)


def refused(model: Any, advice: str) -> None:
    with pytest.raises(ExportError, match=advice):
        convert_model(model, 2)


def test_a_search_for_a_model() -> None:
    refused(GridSearchCV(LogisticRegression(), {"C": [1]}, cv=2).fit(X, Y), "give .best_estimator_")


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        RandomForestClassifier(),
        lightgbm.LGBMClassifier(),
        xgboost.XGBClassifier(),
        catboost.CatBoostClassifier(),
    ],
)
def test_a_model_that_is_not_trained(model: Any) -> None:
    refused(model, "is not trained yet; call fit")


class OfOurOwn(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that no converter knows, and that fails at length."""

    classes_ = np.array([0, 1])

    def fit(self, rows: Any, converted: Any) -> OfOurOwn:
        return self

    def predict_proba(self, rows: Any) -> Any:
        return np.full((len(rows), 2), 0.5)


def test_what_skl2onnx_says_is_cut_short() -> None:
    with pytest.raises(ExportError, match="could not convert OfOurOwn") as caught:
        convert_model(OfOurOwn(), 2)
    assert len(str(caught.value)) < 500 and "\n" not in str(caught.value)


def test_models_that_become_what_the_service_refuses() -> None:
    refused(
        KNeighborsClassifier(5).fit(X, Y),
        'needs the operator "Scan", which the service refuses; train another',
    )


def test_a_classifier_that_was_calibrated_by_somebody_else(tmp_path: Path) -> None:
    boosted = lightgbm.LGBMClassifier(n_estimators=3, verbose=-1, n_jobs=1)
    refused(
        CalibratedClassifierCV(boosted, cv=2).fit(X, Y), "export the classifier inside .*calibrates by itself"
    )
    model = CalibratedClassifierCV(LogisticRegression(), cv=2).fit(X, Y)
    report = export_bundle(model, FEATURES, tmp_path, name="n", version="1", X=X, y=Y)
    assert any("export the classifier inside" in note for note in report.notes)


@pytest.mark.parametrize(
    ("off", "advice"), [(0.005, "more digits than float32 has. Scale"), (0.05, "conversion is wrong")]
)
def test_small_and_large_differences_of_onnx(off: float, advice: str) -> None:
    converted = convert_model(LINE, 2)
    wrong = ConvertedModel(converted.file, 2, predict=lambda rows: LINE.predict_proba(rows)[:, 1] + off)
    with pytest.raises(ExportError, match=advice) as caught:
        check_agreement(wrong, X.astype(np.float64))
    assert ("Scale" in str(caught.value)) is (off < 0.01)


def test_tables_that_are_no_rows() -> None:
    frame = pd.DataFrame({"Source": ["Web", "Partner"], "n": [1, 2]})
    with pytest.raises(ExportError, match=r"'Web'\): make X with Featurizer.rows"):
        training_rows(frame)
    with pytest.raises(ExportError, match=r"make X with Featurizer.rows"):
        out_of_fold(LINE, frame, [0, 1])


@pytest.mark.parametrize(
    ("y", "advice"),
    [
        (["yes", "no", "no"], r"y holds 'yes', 'no'; .*\(y == 'yes'\).astype\(int\)"),
        ([1, np.nan, 0], r"missing in 1 of 3 rows \(the first is row 1\): leave those out"),
        (pd.Series([1, None, 0], dtype="Int64"), "missing in 1 of 3 rows"),
        ([1, 2, 1], "y holds 1, 2; y must be 1"),
        ([[1], [0], [1]], r"give y.ravel\(\)"),
        ([0, 0, 0], r"one class only \(0 in all rows\)"),
    ],
)
def test_outcomes_that_are_not_1_and_0(y: Any, advice: str) -> None:
    with pytest.raises(ExportError, match=advice):
        training_outcomes(y, 3)


@pytest.mark.parametrize(
    ("holdout", "advice"),
    [
        ((X[:3], ["yes", "no", "no"]), r"^in holdout=\(X, y\): y holds 'yes', 'no'"),
        ((X[:3], [1, 0]), r"^in holdout=\(X, y\): y has the shape \(2,\) for 3 rows of X"),
        ((X[:3, :1], [1, 0, 0]), r"^in holdout=\(X, y\): X has the shape \(3, 1\)"),
        ((X[:0], []), r"^in holdout=\(X, y\): X has no rows"),
        ((np.where(X > 1, np.nan, X), Y), r"^in holdout=\(X, y\): .* is not a probability on every row of X"),
        (X[:3], r"holdout is a pair, \(X, y\)"),
    ],
)
def test_a_holdout_that_is_none(holdout: Any, advice: str, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=advice):
        export_bundle(LINE, FEATURES, tmp_path, name="n", version="1", X=X, y=Y, holdout=holdout)


def test_outcomes_as_people_have_them() -> None:
    for y in ([True, False], np.array([1, 0], dtype=object), pd.Series([1, 0], dtype="Int64"), [1.0, 0.0]):
        assert training_outcomes(y, 2).tolist() == [1.0, 0.0]


def test_categories_of_a_table() -> None:
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
        ([{"a": 1}, 5], "record 2 is 5; each is a mapping"),
        (7, "give a DataFrame"),
    ],
)
def test_what_is_no_list_of_records(records: Any, advice: str) -> None:
    with pytest.raises(ExportError, match=advice):
        Featurizer(FEATURES).rows(records)


def test_an_unusable_record_is_an_export_error() -> None:
    with pytest.raises(ExportError):
        Featurizer(FEATURES).rows([{"z": 1}])
    assert issubclass(UnusableRecord, ExportError)


def test_golden_records_that_are_not_given_and_that_are_not_kept(tmp_path: Path) -> None:
    def golden_note(records: Any) -> list[str]:
        given = {"X": X, "y": Y, "golden_records": records, "oof_raw": raw, "calibration": "identity"}
        report = export_bundle(LINE, FEATURES, tmp_path, name="n", version="1", **given)
        return [note for note in report.notes if "golden" in note]

    raw = out_of_fold(LINE, X, Y)
    assert golden_note(None)[0].startswith("no golden records are given")
    assert golden_note([])[0].startswith("no golden records (the list is empty)")
    records = [{"a": float(a), "b": float(b)} for a, b in X[:100]]
    assert golden_note(records) == []
    # A hundred probabilities within the last digits: no score is steady.
    raw = np.clip(0.5 + (raw - 0.5) * 1e-5, 0, 1)
    at_half = [{"a": -float(LINE.intercept_[0] / LINE.coef_[0, 0]), "b": 0}]
    assert golden_note(at_half)[0].startswith("1 golden records given, 0 kept: ")
