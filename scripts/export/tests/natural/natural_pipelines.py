"""Pipelines with a ColumnTransformer on made-up leads, and their bundles' answers."""

from __future__ import annotations

import warnings
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
from natural_tables import made_up
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    OneHotEncoder,
)

from leadscore_export import Featurizer
from leadscore_export.convert.convert_model import convert_model
from leadscore_export.convert.pipelines.fold_pipeline import Folded, fold_pipeline

TABLE = made_up(400, seed=3)
FRAME, Y = TABLE.frame, TABLE.converted
TREES = lightgbm.LGBMClassifier(n_estimators=8, num_leaves=7, min_child_samples=5, n_jobs=1, verbose=-1)
LINE = LogisticRegression(max_iter=300)
CODES: dict[str, Any] = {"handle_unknown": "use_encoded_value", "unknown_value": -1}
KNOWN_DENSE = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
NUMBERS, TEXT = ["Annual Revenue", "Click Rate"], ["Lead Source"]
Steps = list[tuple[str, Any, Any]]

# Records beside those of training: unseen, missing, and in other spellings.
ASKED = pd.concat(
    [
        FRAME[:100],
        FRAME[:1].assign(**{"Lead Source": "Cinema", "Seniority": "Intern", "Region": 9}),
        FRAME[:1].assign(**{"Lead Source": np.nan, "Seniority": np.nan, "Annual Revenue": np.nan}),
        FRAME[:1].assign(**{"Click Rate": np.nan, "Region": 1}),
    ],
    ignore_index=True,
)


def pipeline(steps: Steps, classifier: Any, **more: Any) -> Pipeline:
    prepare = ColumnTransformer(steps, sparse_threshold=0, **more)
    return Pipeline([("prepare", prepare), ("classify", classifier)])


def folded(model: Any, frame: pd.DataFrame = FRAME) -> Folded:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(frame, Y)
    found = fold_pipeline(model, Featurizer.from_frame(frame), frame)
    assert found is not None
    return found


def scored(found: Folded, records: Any) -> Any:
    rows = found.featurizer.rows(records)
    return convert_model(found.classifier, found.table).raw(rows.astype(np.float32))


def fill(how: str, **more: Any) -> SimpleImputer:
    return SimpleImputer(strategy=how, **more)
