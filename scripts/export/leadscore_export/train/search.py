"""Finds the parameters of the model by cross-validation."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from leadscore_export.train.rows.split import fewer_groups, folds

Rows = npt.NDArray[np.float32]
Vector = npt.NDArray[np.float64]
Indexes = npt.NDArray[np.intp]

_MIN_TREES, _MAX_TREES = 20, 1000
_PATIENCE = 60  # trees without a gain
_MAX_ROWS = 100_000
_FEW_ROWS, _REPEATS = 2000, 4
_EQUAL = 0.0005  # of AUC: within it, the smaller model wins
_SEED = 0
_THREADS = 1  # so few rows are not worth a second thread


@dataclass(frozen=True)
class Parameters:
    """The parameters that the search changes.

    `rows_a_leaf`: The least number.
    `columns`: The share that a tree may use.
    """

    leaves: int = 8
    rows_a_leaf: int = 20
    columns: float = 0.7
    l2: float = 1.0

    @property
    def text(self) -> str:
        """The parameters for a person."""
        return (
            f"{self.leaves} leaves, {self.rows_a_leaf} rows a leaf, {self.columns:.0%} of the columns, "
            f"L2 {self.l2:g}"
        )

    def document(self) -> dict[str, Any]:
        """The parameters for training.json."""
        return asdict(self)

    def lightgbm(self, threads: int) -> dict[str, Any]:
        """The parameters of LightGBM's classifier, without the number of trees."""
        return {
            "num_leaves": self.leaves,
            "min_child_samples": self.rows_a_leaf,
            "colsample_bytree": self.columns,
            "reg_lambda": self.l2,
            "learning_rate": 0.05,
            "random_state": _SEED,
            "n_jobs": threads,
            "deterministic": True,
            "force_row_wise": True,
            "verbose": -1,
        }


@dataclass(frozen=True)
class Candidate:
    """Parameters with their AUC over the folds, the standard error of it, and the best number of trees."""

    parameters: Parameters
    auc: float
    error: float
    trees: int

    def document(self) -> dict[str, Any]:
        """The candidate for training.json."""
        return {
            **self.parameters.document(),
            "trees": self.trees,
            "auc": round(self.auc, 5),
            "error": round(self.error, 5),
        }


@dataclass(frozen=True)
class Search:
    """The best candidate, all that were tried, and those that the budget left out."""

    best: Candidate
    tried: tuple[Candidate, ...]
    left_out: tuple[Parameters, ...]
    rows: int


class _Trial:
    """Cross-validation on the same folds for all candidates."""

    def __init__(self, rows: Rows, converted: Vector, groups: Indexes) -> None:
        import lightgbm

        some = _sample(len(rows))
        self.rows = len(some)
        self._folds = search_folds(converted[some], groups[some])
        # Without feature_pre_filter=False, a data set keeps the first candidate's rows a leaf.
        self._data = lightgbm.Dataset(
            rows[some],
            converted[some],
            params={"feature_pre_filter": False, "verbose": -1},
            free_raw_data=False,
        )

    def candidate(self, parameters: Parameters) -> Candidate:
        import lightgbm

        found = lightgbm.cv(
            {**_booster_parameters(parameters), "feature_pre_filter": False},
            self._data,
            num_boost_round=_MAX_TREES,
            folds=self._folds,
            callbacks=[lightgbm.early_stopping(_PATIENCE, verbose=False)],
        )
        means, deviations = found["valid auc-mean"], found["valid auc-stdv"]
        best = int(np.argmax(means))
        error = deviations[best] / np.sqrt(len(self._folds))
        return Candidate(parameters, float(means[best]), float(error), max(_MIN_TREES, best + 1))


def search_folds(converted: Vector, groups: Indexes) -> list[tuple[Indexes, Indexes]]:
    """The folds of the search. Few rows are parted several times."""
    parts = fewer_groups(groups)
    repeats = _REPEATS if len(converted) < _FEW_ROWS else 1
    return [fold for seed in range(repeats) for fold in folds(converted, parts, seed=_SEED + seed)]


def search_parameters(
    rows: Rows,
    converted: Vector,
    groups: Indexes,
    *,
    budget_seconds: float,
    say: Callable[[str, float], None],
) -> Search:
    """Tries candidates, the cheap ones first, until the budget ends.

    `groups`: Rows of one number stay in one fold.
    `say`: Gets what is tried, and the share of the search that is done.
    """
    started = time.monotonic()
    trial = _Trial(rows, converted, groups)
    tried: list[Candidate] = []
    left_out: list[Parameters] = []
    for number, change in enumerate(_CHANGES):
        parameters = change(best_of(tried).parameters if tried else Parameters())
        if any(parameters == each.parameters for each in tried):
            continue
        elapsed = time.monotonic() - started
        if tried and elapsed >= budget_seconds:
            left_out.append(parameters)
            continue
        say(f"trying {parameters.text}", max(number / len(_CHANGES), min(1.0, elapsed / budget_seconds)))
        tried.append(trial.candidate(parameters))
    return Search(best_of(tried), tuple(tried), tuple(left_out), trial.rows)


def best_of(candidates: Sequence[Candidate]) -> Candidate:
    """The candidate with the highest AUC; the smallest model of several that are nearly equal."""
    highest = max(candidate.auc for candidate in candidates)
    equal = [candidate for candidate in candidates if candidate.auc >= highest - _EQUAL]
    return min(equal, key=lambda candidate: candidate.trees * candidate.parameters.leaves)


_CHANGES: tuple[Callable[[Parameters], Parameters], ...] = (
    lambda found: replace(found, leaves=8),
    lambda found: replace(found, leaves=4),
    lambda found: replace(found, leaves=16),
    lambda found: replace(found, leaves=32),
    lambda found: replace(found, rows_a_leaf=5),
    lambda found: replace(found, rows_a_leaf=60),
    lambda found: replace(found, columns=0.3),
    lambda found: replace(found, columns=1.0),
    lambda found: replace(found, l2=10.0),
)


def _booster_parameters(parameters: Parameters) -> dict[str, Any]:
    names = {
        "min_child_samples": "min_data_in_leaf",
        "colsample_bytree": "feature_fraction",
        "reg_lambda": "lambda_l2",
        "random_state": "seed",
        "n_jobs": "num_threads",
    }
    own = {names.get(name, name): value for name, value in parameters.lightgbm(_THREADS).items()}
    return {**own, "objective": "binary", "metric": "auc"}


def _sample(count: int) -> Indexes:
    if count <= _MAX_ROWS:
        return np.arange(count)
    return np.sort(np.random.default_rng(_SEED).choice(count, _MAX_ROWS, replace=False))
