"""X, y and a holdout in forms that the exporter refuses or accepts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from training_tables import FEATURES, FOREST, LINE, X, Y, refused

from leadscore_export import (
    ExportError,
    Number,
    export_bundle,
    out_of_fold,
)
from leadscore_export.scores.training_data import training_outcomes, training_rows


def test_refuses_x_and_y_that_do_not_fit_the_features() -> None:
    refused(FOREST, r"Featurizer\(features\).rows", X=X[:, :1])
    refused(FOREST, "y has the shape", y=Y[:5])
    refused(FOREST, "1 for a lead that converted", y=Y * 2)
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
        (["yes", "no", "no"], r"y holds 'yes', 'no'; .*write \(y == 'yes'\).astype\(int\)"),
        ([1, np.nan, 0], r"missing in 1 of 3 rows \(the first is row 1\). Drop those rows"),
        (pd.Series([1, None, 0], dtype="Int64"), "missing in 1 of 3 rows"),
        ([1, 2, 1], "y holds 1, 2; y must be 1"),
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
        ((X[:3], ["yes", "no", "no"]), r"^in holdout=\(X, y\): y holds 'yes', 'no'"),
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
