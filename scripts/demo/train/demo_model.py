"""Reads the training table, trains the demo's model and measures it.

Out-of-fold scores are for calibration and quantiles, a holdout is for figures.
"""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
from leadscore_export.scores.serving_figures import logit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

TREES = 150
PARAMETERS = {
    "objective": "binary",
    "learning_rate": 0.05,
    "num_leaves": 12,
    "min_data_in_leaf": 40,
    "lambda_l2": 2.0,
    "feature_fraction": 0.7,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "seed": 20261120,
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 1,
    "verbosity": -1,
}
FOLDS = 5

_JSON_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?")


@dataclass(frozen=True)
class LeadsTable:
    """`records[i]` as a CRM would send it, and its outcome `converted[i]`, 0 or 1."""

    records: list[dict[str, Any]]
    converted: list[int]


def read_leads(path: Path) -> LeadsTable:
    """Reads the CSV of `write-leads`.

    Cells that are JSON numbers or booleans get that type, empty cells become null.
    """
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    converted = [int(row.pop("converted")) for row in rows]
    return LeadsTable([{name: _typed(cell) for name, cell in row.items()} for row in rows], converted)


def _typed(cell: str) -> Any:
    if cell == "":
        return None
    if cell in ("true", "false") or _JSON_NUMBER.fullmatch(cell):
        return json.loads(cell)
    return cell


@dataclass(frozen=True)
class Split:
    """Row numbers. The holdout is never trained on."""

    training: np.ndarray
    holdout: np.ndarray


def split_rows(count: int, holdout_share: float = 0.2, seed: int = 11) -> Split:
    """A fixed random split of `count` rows."""
    order = np.random.default_rng(seed).permutation(count)
    held = int(count * holdout_share)
    return Split(training=np.sort(order[held:]), holdout=np.sort(order[:held]))


def train(rows: np.ndarray, converted: np.ndarray) -> lgb.Booster:
    """Trains one model. `rows`: float32 [N, width] as in the service. `converted`: 0 or 1."""
    return lgb.train(PARAMETERS, lgb.Dataset(rows.astype(np.float64), label=converted), num_boost_round=TREES)


def out_of_fold(rows: np.ndarray, converted: np.ndarray) -> np.ndarray:
    """The probability of each row by a model trained on the other folds."""
    raw = np.empty(len(rows))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=5)
    for training, unseen in folds.split(rows, converted):
        booster = train(rows[training], converted[training])
        raw[unseen] = booster.predict(rows[unseen].astype(np.float64), num_threads=1)
    return raw


def platt(raw: np.ndarray, converted: np.ndarray) -> dict[str, float | str]:
    """Fits likelihood = sigmoid(a * logit(raw) + b) to out-of-fold probabilities.

    Source: Platt (1999), without prior correction.
    """
    log_odds = np.array([[logit(value)] for value in raw])
    fitted = LogisticRegression(C=1e9, tol=1e-10, max_iter=1000).fit(log_odds, converted)
    return {"kind": "platt", "a": float(fitted.coef_[0, 0]), "b": float(fitted.intercept_[0])}


def top_lift(raw: np.ndarray, converted: np.ndarray, share: float = 0.2) -> float:
    """Conversion rate of the `share` of rows with the highest raw probability, over that of all rows."""
    top = np.argsort(-raw, kind="stable")[: int(round(len(raw) * share))]
    return float(converted[top].mean() / converted.mean())


def auc(raw: np.ndarray, converted: np.ndarray) -> float:
    """Area under the ROC curve."""
    return float(roc_auc_score(converted, raw))
