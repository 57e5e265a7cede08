"""Ways of training a model: each gives the model and the further arguments of its export."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import catboost
import lightgbm
import numpy as np
import xgboost
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import StratifiedKFold
from training_kinds import (
    KINDS,
    Outcomes,
    Rows,
    drawn,
    oversampled,
    smote,
    undersampled,
    weighted_fit,
    weights_of,
)

Given = tuple[Any, dict[str, Any]]
Way = Callable[[str, Rows, Outcomes, Path], Given | None]

_OFFSET = 1.5  # in log-odds: a prior model's answer that the file of the trees lacks


def _plain(name: str, rows: Rows, converted: Outcomes, _: Path) -> Given:
    return KINDS[name].make().fit(rows, converted), {}


def _balanced(name: str, rows: Rows, converted: Outcomes, _: Path) -> Given | None:
    kind = KINDS[name]
    return (kind.make(**kind.balanced).fit(rows, converted), {}) if kind.balanced else None


def _weighted(name: str, rows: Rows, converted: Outcomes, _: Path) -> Given | None:
    if KINDS[name].weights is None:
        return None
    return weighted_fit(KINDS[name], rows, converted), {"sample_weight": weights_of(converted)}


def _weights_not_given(name: str, rows: Rows, converted: Outcomes, _: Path) -> Given | None:
    return (weighted_fit(KINDS[name], rows, converted), {}) if KINDS[name].weights is not None else None


def _resampled(resample: Callable[[Rows, Outcomes], tuple[Rows, Outcomes]]) -> Way:
    def way(name: str, rows: Rows, converted: Outcomes, _: Path) -> Given:
        return KINDS[name].make().fit(*resample(rows, converted)), {}

    return way


def _resampled_in_folds(name: str, rows: Rows, converted: Outcomes, _: Path) -> Given:
    def trained(some: Any) -> Any:
        return KINDS[name].make().fit(*oversampled(rows[some], converted[some]))

    raw = np.empty(len(rows))
    for training, unseen in StratifiedKFold(5, shuffle=True, random_state=0).split(rows, converted):
        raw[unseen] = trained(training).predict_proba(rows[unseen])[:, 1]
    return trained(slice(None)), {"oof_raw": raw}


def _offset(name: str, rows: Rows, converted: Outcomes, _: Path) -> Given | None:
    offsets = np.full(len(rows), -_OFFSET)
    model = KINDS[name].make()
    if name == "LightGBM":
        return model.fit(rows, converted, init_score=offsets), {}
    if name == "XGBoost":
        return model.fit(rows, converted, base_margin=offsets), {}
    if name == "CatBoost":
        return model.fit(catboost.Pool(rows, converted, baseline=offsets)), {}
    return None


def _loaded(name: str, rows: Rows, converted: Outcomes, folder: Path) -> Given | None:
    model, file = KINDS[name].make().fit(rows, converted), str(folder / "saved.json")
    if name == "LightGBM":
        model.booster_.save_model(file)
        return lightgbm.Booster(model_file=file), {}
    if name == "XGBoost":
        model.save_model(file)
        loaded = xgboost.XGBClassifier()
        loaded.load_model(file)
        return loaded, {}
    if name == "CatBoost":
        model.save_model(file)
        return catboost.CatBoostClassifier().load_model(file), {}
    return None


def _loaded_with_scores(name: str, rows: Rows, converted: Outcomes, folder: Path) -> Given | None:
    loaded = _loaded(name, rows, converted, folder)
    raw = np.empty(len(rows))
    for training, unseen in StratifiedKFold(5, shuffle=True, random_state=0).split(rows, converted):
        copy = KINDS[name].make().fit(rows[training], converted[training])
        raw[unseen] = copy.predict_proba(rows[unseen])[:, 1]
    return None if loaded is None else (loaded[0], {"oof_raw": raw})


def _loaded_with_parameters(name: str, rows: Rows, converted: Outcomes, folder: Path) -> Given | None:
    if name != "XGBoost":
        return None
    loaded = _loaded(name, rows, converted, folder)
    return loaded and (loaded[0].set_params(n_estimators=40, max_depth=3, learning_rate=0.1), {})


def _stopped_early(name: str, rows: Rows, converted: Outcomes, _: Path) -> Given | None:
    watched = drawn(1000, seed=9)
    if name == "LightGBM":
        model = KINDS[name].make(n_estimators=400, learning_rate=0.2, early_stopping_round=5)
        return model.fit(rows, converted, eval_set=[watched]), {}
    if name == "XGBoost":
        model = KINDS[name].make(n_estimators=400, learning_rate=0.3, early_stopping_rounds=5)
        return model.fit(rows, converted, eval_set=[watched], verbose=False), {}
    if name == "CatBoost":
        model = KINDS[name].make(iterations=400, learning_rate=0.3, early_stopping_rounds=5)
        return model.fit(rows, converted, eval_set=watched), {}
    if name == "HistGradientBoosting":
        return KINDS[name].make(max_iter=100, early_stopping=True, random_state=0).fit(rows, converted), {}
    return None


def _continued(name: str, rows: Rows, converted: Outcomes, _: Path) -> Given | None:
    argument = {"LightGBM": "init_model", "XGBoost": "xgb_model", "CatBoost": "init_model"}.get(name)
    if argument is None:
        return None
    kind = KINDS[name]
    settings = {"learning_rate": 0.1} if name == "CatBoost" else {}
    first = kind.make(**settings).fit(rows, converted)
    return kind.make(**settings).fit(rows, converted, **{argument: first}), {}


def _calibrated(name: str, rows: Rows, converted: Outcomes, _: Path) -> Given | None:
    if name not in ("random forest", "logistic regression"):
        return None
    return CalibratedClassifierCV(KINDS[name].make(), cv=3).fit(rows, converted), {}


def _changed_since(name: str, rows: Rows, converted: Outcomes, _: Path) -> Given | None:
    kind = KINDS[name]
    if not kind.balanced or name == "logistic regression" or name == "CatBoost":
        return None
    model = kind.make(**kind.balanced).fit(rows, converted)
    return model.set_params(**{key: None if key == "class_weight" else 1 for key in kind.balanced}), {}


def _other_units(name: str, rows: Rows, converted: Outcomes, _: Path) -> Given:
    model = KINDS[name].make().fit(rows + 1, converted)
    return model, {}


WAYS: dict[str, Way] = {
    "`fit(X, y)`": _plain,
    "weights for a class, as a parameter": _balanced,
    "`sample_weight`, given to the export too": _weighted,
    "`sample_weight`, not given to the export": _weights_not_given,
    "class weights that were changed after `fit`": _changed_since,
    "converted leads repeated": _resampled(oversampled),
    "converted leads made up (SMOTE)": _resampled(smote),
    "unconverted leads dropped": _resampled(undersampled),
    "converted leads repeated, in each fold of `oof_raw` too": _resampled_in_folds,
    "an offset (`init_score`, `base_margin`, `baseline`)": _offset,
    "another `X`: each number one higher": _other_units,
    "loaded from a file": _loaded,
    "loaded from a file, with `oof_raw`": _loaded_with_scores,
    "loaded from a file, then `set_params`": _loaded_with_parameters,
    "early stopping": _stopped_early,
    "continued training": _continued,
    "in a `CalibratedClassifierCV`": _calibrated,
}
