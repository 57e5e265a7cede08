"""Scores training rows by models that have not seen them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from leadscore_export.errors import ExportError
from leadscore_export.scores.training_data import checked_weights, training_outcomes, training_rows

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
        raise ExportError(
            f"the smaller class has {smaller} rows for {folds} folds; give oof_raw or more data"
        )
    splitter = StratifiedKFold if groups is None else StratifiedGroupKFold
    raw = np.empty(len(rows))
    for training, unseen in splitter(folds, shuffle=True, random_state=seed).split(rows, converted, groups):
        copy = untrained_copy(model)
        try:
            fitted = copy.fit(rows[training], converted[training], **_weighted(copy, weights, training))
        except (
            Exception
        ) as problem:  # early stopping without a set to watch, and whatever else a trainer asks for
            raise ExportError(
                f"a copy of the model could not be trained for out-of-fold scores ({problem}); give oof_raw: for each "
                "row of X the probability by a model that was not trained on it"
            ) from problem
        raw[unseen] = fitted.predict_proba(rows[unseen])[:, 1]
    return raw


def _weighted(copy: Any, weights: Vector | None, training: Any) -> dict[str, Any]:
    """The argument of `fit`; a pipeline's goes to its last step."""
    if weights is None:
        return {}
    step = f"{copy.steps[-1][0]}__" if hasattr(copy, "steps") else ""
    return {f"{step}sample_weight": weights[training]}


# Each trainer takes the number of trees under several names.
_TREE_COUNTS = {
    "n_estimators", "num_iterations", "num_iteration", "iterations", "n_iter", "num_tree", "num_trees", "num_round",
    "num_rounds", "nrounds", "num_boost_round", "max_iter",
}  # fmt: skip
# What stops a training early, or asks for a set to watch.
_STOPS = {
    "early_stopping_round", "early_stopping_rounds", "early_stopping", "n_iter_no_change", "early_stopping_min_delta",
    "od_type", "od_wait", "od_pval", "use_best_model", "eval_fraction", "best_model_min_trees",
}  # fmt: skip
# Unless they are given, CatBoost chooses these by how many trees it is told, and by whether a set is watched.
_CATBOOST_CHOOSES = (
    "learning_rate", "leaf_estimation_iterations", "leaf_estimation_method", "boosting_type", "boost_from_average",
)  # fmt: skip


@dataclass(frozen=True)
class KeptTrees:
    """How many trees are served, and how many the trainer was told to grow: fewer where it went on from a model."""

    kept: int
    told: int


def kept_trees(model: Any) -> KeptTrees | None:
    """What a boosted classifier, or the last step of a pipeline, has where it was told another number; else None.

    XGBoost that stopped early is not among them: its copies refuse to be trained at all.
    """
    trees = _trees(_last_step(model))
    return trees if trees is not None and trees.kept != trees.told else None


def _trees(fitted: Any) -> KeptTrees | None:
    """The trees of a CatBoost classifier, and of another that stopped early or was trained on from a model."""
    library = _library(fitted)
    if library == "lightgbm":
        best = getattr(fitted, "best_iteration_", None)  # 0 without early stopping
        parameters = fitted.get_params()
        told = next(
            (parameters[name] for name in _TREE_COUNTS - {"n_estimators"} if name in parameters), None
        )
        told = parameters["n_estimators"] if told is None else told  # another name goes before it
        best = best or _grown_beyond(told, getattr(fitted, "n_iter_", 0))
    elif library == "xgboost":
        told = fitted.get_num_boosting_rounds()
        best = _grown_beyond(told, _xgboost_rounds(fitted))
    elif library == "catboost":
        best = getattr(fitted, "tree_count_", None)
        told = fitted.get_all_params().get("iterations") if best else None
    else:
        return None
    return KeptTrees(int(best), int(told)) if best and told else None


def _grown_beyond(told: int, grown: int) -> int:
    """The trees of a model that was trained on from another; 0 for any other, which may have run out of splits."""
    return grown if grown > told else 0


def _xgboost_rounds(fitted: Any) -> int:
    """The rounds of an XGBoost classifier that did not stop early; what a forest of XGBoost's is told are no rounds."""
    is_forest = any(cls.__name__ == "XGBRFClassifier" for cls in type(fitted).__mro__)
    if is_forest or not fitted.__sklearn_is_fitted__() or hasattr(fitted, "best_iteration"):
        return 0
    return int(fitted.get_booster().num_boosted_rounds())


def untrained_copy(model: Any) -> Any:
    """A copy to be trained on other rows: with as many trees as are served, and without early stopping.

    model: a classifier with scikit-learn's interface. Raises ExportError when the copy does not take that.
    """
    from sklearn.base import clone

    fitted = _last_step(model)
    trees = _trees(fitted)
    # Early stopping that kept all trees would ask the copies for a set to watch.
    if trees is None or (trees.kept == trees.told and not _STOPS & set(fitted.get_params())):
        return clone(model)
    try:
        last = type(fitted)(**_parameters(fitted, trees.kept))
        if not hasattr(model, "steps"):
            return last
        copy = clone(model)
        copy.steps[-1] = (copy.steps[-1][0], last)
        return copy
    except Exception as problem:  # whatever a trainer says of its parameters
        raise ExportError(
            f"the model has {trees.kept} trees where it was told {trees.told}, and no copy can be told to grow as many "
            f"({problem}); give oof_raw: for each row of X the probability by a model that was not trained on it"
        ) from problem


def _parameters(fitted: Any, kept: int) -> dict[str, Any]:
    parameters = {
        name: value for name, value in fitted.get_params().items() if name not in _TREE_COUNTS | _STOPS
    }
    if _library(fitted) == "catboost":
        parameters.pop("eta", None)
        used = fitted.get_all_params()
        return {
            **parameters,
            **{name: used[name] for name in _CATBOOST_CHOOSES if name in used},
            "iterations": kept,
        }
    return {**parameters, "n_estimators": kept}


def _last_step(model: Any) -> Any:
    return model.steps[-1][1] if hasattr(model, "steps") else model


def _library(model: Any) -> str | None:
    if not hasattr(model, "get_params"):
        return None
    libraries = {cls.__module__.partition(".")[0] for cls in type(model).__mro__}
    return next((name for name in ("lightgbm", "catboost", "xgboost") if name in libraries), None)
