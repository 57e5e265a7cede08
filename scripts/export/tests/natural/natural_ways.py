"""Natural ways of training: on a frame, with words as labels, and in a Pipeline with a ColumnTransformer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from natural_tables import Table, with_categories
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, RobustScaler, StandardScaler
from training_kinds import KINDS

TAKE_CATEGORIES = ("LightGBM", "XGBoost", "HistGradientBoosting")
TAKE_GAPS = ("LightGBM", "XGBoost", "CatBoost", "HistGradientBoosting", "random forest", "extra trees")


@dataclass(frozen=True)
class Natural:
    """A model trained on the first rows of a frame, with all rows of the frame and its labels."""

    model: Any
    frame: pd.DataFrame
    labels: Any
    more: dict[str, Any] = field(default_factory=dict)


Way = Callable[[str, Table], Natural | None]


def classifier_of(kind: str) -> Any:
    """An untrained classifier, without the scaler that its kind has before it."""
    made = KINDS[kind].make()
    return made.steps[-1][1] if hasattr(made, "steps") else made


def trained(model: Any, table: Table, frame: pd.DataFrame, labels: Any, **more: Any) -> Natural:
    rows, _ = table.halves
    return Natural(model.fit(frame[rows], labels[rows]), frame, labels, more)


def _categories(kind: str, table: Table) -> Natural | None:
    if kind not in TAKE_CATEGORIES:
        return None
    more = {"enable_categorical": True} if kind == "XGBoost" else {}
    return trained(KINDS[kind].make(**more), table, with_categories(table.frame), table.converted)


def _numbers(kind: str, table: Table) -> Natural | None:
    if kind not in TAKE_GAPS:
        return None
    return trained(KINDS[kind].make(), table, table.frame.select_dtypes("number"), table.converted)


def _words(won: str, lost: str, **more: Any) -> Way:
    def way(kind: str, table: Table) -> Natural | None:
        if kind == "XGBoost":  # it takes no texts
            return None
        labels = np.where(table.converted == 1, won, lost)
        frame = table.frame[["Click Rate", "Region", "Asked For Demo"]].astype(float).fillna(0.5)
        return trained(KINDS[kind].make(), table, frame, labels, **more)

    return way


def one_hot_steps(frame: pd.DataFrame) -> ColumnTransformer:
    numbers, texts = columns_of(frame)
    return ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), numbers),
            (
                "filled",
                _filled(OneHotEncoder(handle_unknown="ignore", sparse_output=False)),
                texts[:1],
            ),
            (
                "texts",
                OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=30, sparse_output=False),
                texts[1:],
            ),
            ("robust", RobustScaler(), ["Asked For Demo"] if "Asked For Demo" in frame else []),
        ],
        sparse_threshold=0,
    )


def ordinal_steps(frame: pd.DataFrame) -> ColumnTransformer:
    numbers, texts = columns_of(frame)
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2)
    return ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(strategy="median"), MinMaxScaler()), numbers),
            ("codes", make_pipeline(codes, StandardScaler()), texts),
        ],
        remainder="passthrough",
    )


def columns_of(frame: pd.DataFrame) -> tuple[list[str], list[str]]:
    """Names of the columns of numbers and of texts."""
    numbers = [name for name in frame if frame[name].dtype.kind in "iuf"]
    return numbers, [name for name in frame if frame[name].dtype.kind not in "iufb"]


def _filled(encoder: Any) -> Any:
    return make_pipeline(SimpleImputer(strategy="constant", fill_value="(none given)"), encoder)


def _pipeline(steps: Callable[[pd.DataFrame], ColumnTransformer]) -> Way:
    def way(kind: str, table: Table) -> Natural:
        model = Pipeline([("prepare", steps(table.frame)), ("classify", classifier_of(kind))])
        return trained(model, table, table.frame, table.converted)

    return way


NATURAL_WAYS: dict[str, Way] = {
    "a frame with category columns and gaps": _categories,
    "a frame of numbers with gaps": _numbers,
    'the labels "Closed Lost" and "Closed Won"': _words("Closed Won", "Closed Lost"),
    'other labels, with `positive="Deal"`': _words("Deal", "No deal", positive="Deal"),
    "a Pipeline: imputers, one-hot encoders, scalers": _pipeline(one_hot_steps),
    "a Pipeline: imputer, ordinal encoder, scalers, `passthrough`": _pipeline(ordinal_steps),
}
