"""Trains the demo's model and measures it: out-of-fold scores for calibration and quantiles, a holdout for figures."""

from __future__ import annotations

from dataclasses import dataclass

import lightgbm as lgb
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from leadscore_export.scores.serving_figures import logit

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


@dataclass(frozen=True)
class Split:
    """Row numbers; the holdout is never trained on."""

    training: np.ndarray
    holdout: np.ndarray


def split_rows(count: int, holdout_share: float = 0.2, seed: int = 11) -> Split:
    """A fixed random split of `count` rows."""
    order = np.random.default_rng(seed).permutation(count)
    held = int(count * holdout_share)
    return Split(training=np.sort(order[held:]), holdout=np.sort(order[:held]))


def train(rows: np.ndarray, converted: np.ndarray) -> lgb.Booster:
    """One model; `rows` float32 [N, width] as the service will send them, `converted` 0 or 1."""
    return lgb.train(PARAMETERS, lgb.Dataset(rows.astype(np.float64), label=converted), num_boost_round=TREES)


def out_of_fold(rows: np.ndarray, converted: np.ndarray) -> np.ndarray:
    """The probability of each row by a model that has not seen it."""
    raw = np.empty(len(rows))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=5)
    for training, unseen in folds.split(rows, converted):
        raw[unseen] = train(rows[training], converted[training]).predict(rows[unseen].astype(np.float64), num_threads=1)
    return raw


def platt(raw: np.ndarray, converted: np.ndarray) -> dict[str, float | str]:
    """Fits likelihood = sigmoid(a * logit(raw) + b) on out-of-fold probabilities (Platt, 1999; no prior correction)."""
    log_odds = np.array([[logit(value)] for value in raw])
    fitted = LogisticRegression(C=1e9, tol=1e-10, max_iter=1000).fit(log_odds, converted)
    return {"kind": "platt", "a": float(fitted.coef_[0, 0]), "b": float(fitted.intercept_[0])}


def quantiles(raw: np.ndarray) -> list[float]:
    """The 101 percentiles, 0 to 100, of out-of-fold probabilities."""
    return [float(value) for value in np.quantile(raw, np.arange(101) / 100)]


def top_lift(raw: np.ndarray, converted: np.ndarray, share: float = 0.2) -> float:
    """Conversion rate of the `share` of rows with the highest raw probability over that of all rows."""
    top = np.argsort(-raw, kind="stable")[: int(round(len(raw) * share))]
    return float(converted[top].mean() / converted.mean())


def auc(raw: np.ndarray, converted: np.ndarray) -> float:
    """Area under the ROC curve."""
    return float(roc_auc_score(converted, raw))
