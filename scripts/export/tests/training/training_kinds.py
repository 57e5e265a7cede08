"""Kinds of models, and ways of training them: those that copies repeat, and those that they cannot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import catboost
import lightgbm
import numpy as np
import numpy.typing as npt
import xgboost
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from leadscore_export import Number

Rows = npt.NDArray[np.float32]
Outcomes = npt.NDArray[np.int64]

FEATURES = [Number(name, impute=0) for name in "abcdef"]
WEIGHT = 7.0  # of a converted row

QUIET_CATBOOST: dict[str, Any] = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}


@cache
def drawn(count: int, seed: int = 0) -> tuple[Rows, Outcomes]:
    """Rows with and without effect, and their outcomes, as they come."""
    draw = np.random.default_rng(seed)
    rows = draw.normal(size=(count, len(FEATURES))).astype(np.float32)
    rows[:, 2] = draw.integers(0, 4, count)
    rows[:, 3] = np.exp(rows[:, 3])
    strength = rows[:, 0] + 0.6 * rows[:, 1] * (rows[:, 2] > 1) + 0.5 * (rows[:, 2] == 2)
    return rows, (strength + draw.logistic(size=count) > 3.2).astype(np.int64)


@dataclass(frozen=True)
class Kind:
    """A kind of model.

    `make`: An untrained model with the given further parameters.
    `balanced`: The parameter that weighs both classes alike.
    `weights`: The argument of `fit` that takes sample weights, None if it takes none.
    """

    make: Callable[..., Any]
    balanced: dict[str, Any] = field(default_factory=dict)
    weights: str | None = "sample_weight"


def _scaled(make: Callable[..., Any]) -> Callable[..., Any]:
    return lambda **more: make_pipeline(StandardScaler(), make(**more))


KINDS: dict[str, Kind] = {
    "LightGBM": Kind(
        lambda **more: lightgbm.LGBMClassifier(
            **{"n_estimators": 40, "num_leaves": 7, "n_jobs": 1, "verbose": -1, **more}
        ),
        {"class_weight": "balanced"},
    ),
    "XGBoost": Kind(
        lambda **more: xgboost.XGBClassifier(
            **{"n_estimators": 40, "max_depth": 3, "learning_rate": 0.1, "n_jobs": 1, **more}
        ),
        {"scale_pos_weight": WEIGHT},
    ),
    "CatBoost": Kind(
        lambda **more: catboost.CatBoostClassifier(
            **{"iterations": 40, "depth": 4, **QUIET_CATBOOST, **more}
        ),
        {"class_weights": [1, WEIGHT]},
    ),
    "HistGradientBoosting": Kind(
        lambda **more: HistGradientBoostingClassifier(**{"max_iter": 25, "max_leaf_nodes": 8, **more}),
        {"class_weight": "balanced"},
    ),
    "GradientBoosting": Kind(
        lambda **more: GradientBoostingClassifier(n_estimators=30, random_state=0, **more)
    ),
    "random forest": Kind(
        lambda **more: RandomForestClassifier(
            **{"n_estimators": 30, "min_samples_leaf": 8, "random_state": 0, **more}
        ),
        {"class_weight": "balanced"},
    ),
    "extra trees": Kind(
        lambda **more: ExtraTreesClassifier(
            **{"n_estimators": 30, "min_samples_leaf": 8, "random_state": 0, **more}
        ),
        {"class_weight": "balanced"},
    ),
    "logistic regression": Kind(
        _scaled(lambda **more: LogisticRegression(**more)),
        {"class_weight": "balanced"},
        "logisticregression__sample_weight",
    ),
    "MLP": Kind(
        _scaled(lambda **more: MLPClassifier((8,), max_iter=60, random_state=0, **more)), weights=None
    ),
}

# Models that know their own rows by heart, and kinds beside the ones above.
OTHERS: dict[str, Kind] = {
    "pure leaves": Kind(
        lambda **more: RandomForestClassifier(30, random_state=0, **more), {"class_weight": "balanced"}
    ),
    "pure extra trees": Kind(
        lambda **more: ExtraTreesClassifier(30, random_state=0, **more), {"class_weight": "balanced"}
    ),
    "deep LightGBM": Kind(
        lambda **more: lightgbm.LGBMClassifier(
            n_estimators=150, min_child_samples=3, n_jobs=1, verbose=-1, **more
        ),
        {"is_unbalance": True},
    ),
    "default XGBoost": Kind(
        lambda **more: xgboost.XGBClassifier(n_jobs=1, **more), {"scale_pos_weight": WEIGHT}
    ),
}


def weights_of(converted: Outcomes) -> Any:
    return np.where(converted == 1, WEIGHT, 1.0)


def weighted_fit(kind: Kind, rows: Rows, converted: Outcomes) -> Any:
    return kind.make().fit(rows, converted, **{str(kind.weights): weights_of(converted)})


def oversampled(rows: Rows, converted: Outcomes) -> tuple[Rows, Outcomes]:
    """Each converted row several times, as often as balances the classes."""
    again = np.repeat(np.flatnonzero(converted), round(WEIGHT) - 1)
    indexes = np.concatenate([np.arange(len(rows)), again])
    return rows[indexes], converted[indexes]


def undersampled(rows: Rows, converted: Outcomes) -> tuple[Rows, Outcomes]:
    """As many rows that did not convert as converted."""
    kept = (converted == 1) | (np.random.default_rng(0).random(len(rows)) < 1 / WEIGHT)
    return rows[kept], converted[kept]


def smote(rows: Rows, converted: Outcomes) -> tuple[Rows, Outcomes]:
    """Further converted rows between near ones, as many as balance the classes."""
    draw = np.random.default_rng(0)
    known = rows[converted == 1]
    near = np.argsort(((known[:, None] - known[None]) ** 2).sum(axis=2), axis=1)[:, 1:6]
    first = draw.integers(0, len(known), int(len(known) * (WEIGHT - 1)))
    second = near[first, draw.integers(0, near.shape[1], len(first))]
    made = known[first] + draw.random((len(first), 1)) * (known[second] - known[first])
    return (
        np.concatenate([rows, made.astype(np.float32)]),
        np.concatenate([converted, np.ones(len(made), dtype=np.int64)]),
    )
