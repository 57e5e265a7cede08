"""Scores training rows by models that have not seen them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from leadscore_export.early_stopping import untrained_copy
from leadscore_export.export_error import ExportError
from leadscore_export.training_data import training_outcomes, training_rows

Vector = npt.NDArray[np.float64]


def out_of_fold(
    model: Any,
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    folds: int = 5,
    groups: Any = None,
    seed: int = 0,
    sample_weight: Any = None,
) -> Vector:
    """The probability of each row by a copy of the model trained on the other folds. Raises ExportError.

    model: any classifier with scikit-learn's interface (LGBMClassifier, XGBClassifier, CatBoostClassifier, pipelines).
        Copies of one that stopped early have as many trees as it kept.
    groups: which rows belong together, such as the account of each lead; they stay in one fold.
    sample_weight: the weight of each row that the model was trained with, for its copies.
    """
    try:
        from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
    except ImportError as problem:
        raise ExportError(
            "out-of-fold scores need scikit-learn: pip install scikit-learn, or give oof_raw"
        ) from problem
    rows = training_rows(X).astype(np.float32)
    converted = training_outcomes(y, len(rows))
    if not (hasattr(model, "fit") and hasattr(model, "predict_proba") and hasattr(model, "get_params")):
        raise ExportError(
            f"a {type(model).__module__.partition('.')[0]} {type(model).__name__} cannot be trained again from here; "
            "give oof_raw: for each row of X the probability by a model that was not trained on it"
        )
    weights = checked_weights(sample_weight, len(rows))
    smaller = int(min(np.bincount(converted.astype(int), minlength=2)))
    if smaller < folds:
        raise ExportError(f"the smaller class has {smaller} rows for {folds} folds; give oof_raw or more data")
    splitter = StratifiedKFold if groups is None else StratifiedGroupKFold
    raw = np.empty(len(rows))
    for training, unseen in splitter(folds, shuffle=True, random_state=seed).split(rows, converted, groups):
        copy = untrained_copy(model)
        try:
            fitted = copy.fit(rows[training], converted[training], **_weighted(copy, weights, training))
        except Exception as problem:  # early stopping without a set to watch, and whatever else a trainer asks for
            raise ExportError(
                f"a copy of the model could not be trained for out-of-fold scores ({problem}); give oof_raw: for each "
                "row of X the probability by a model that was not trained on it"
            ) from problem
        raw[unseen] = fitted.predict_proba(rows[unseen])[:, 1]
    return raw


def checked_weights(sample_weight: Any, count: int) -> Vector | None:
    """The weights of so many rows, None when there are none. Raises ExportError when they do not fit."""
    if sample_weight is None:
        return None
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise ExportError(f"sample_weight must be numbers, one for each row of X ({problem})") from problem
    if weights.shape != (count,):
        raise ExportError(f"sample_weight has the shape {weights.shape} for {count} rows of X; give one for each")
    if not (np.isfinite(weights).all() and weights.min() >= 0 and weights.max() > 0):
        raise ExportError("sample_weight must be finite, none below 0, and not all 0")
    return weights


def _weighted(copy: Any, weights: Vector | None, training: Any) -> dict[str, Any]:
    """The argument of `fit`; a pipeline's goes to its last step."""
    if weights is None:
        return {}
    step = f"{copy.steps[-1][0]}__" if hasattr(copy, "steps") else ""
    return {f"{step}sample_weight": weights[training]}
