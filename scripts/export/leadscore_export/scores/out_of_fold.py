"""Scores training rows by copies of the model that were not trained on them.

The parameters of a model may not give its number of trees. Early stopping keeps only the first trees, and
continued training (`init_model`, `xgb_model`) adds to those of another model. Copies must have the number
that is served.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from leadscore_export.comparison.level import Figures, figures_of
from leadscore_export.convert.convert_model import positive_class_of
from leadscore_export.convert.sklearn_models import libraries_of
from leadscore_export.errors import ExportError, failures_advise
from leadscore_export.featurizer.from_frame import holds_texts, is_frame
from leadscore_export.scores.calibration import PLATT_FROM
from leadscore_export.scores.fresh_copy import OOF_RAW, check_not_loaded, fresh_copy
from leadscore_export.scores.training_data import (
    checked_weights,
    smaller_class,
    training_outcomes,
    training_rows,
)

Vector = npt.NDArray[np.float64]

# Each trainer accepts several names for the number of trees.
_TREE_COUNTS = {
    "n_estimators", "num_iterations", "num_iteration", "iterations", "n_iter", "num_tree", "num_trees",
    "num_round", "num_rounds", "nrounds", "num_boost_round", "max_iter",
}  # fmt: skip

# Parameters that stop training early, or require an evaluation set.
_STOPS = {
    "early_stopping_round", "early_stopping_rounds", "early_stopping", "n_iter_no_change",
    "early_stopping_min_delta", "od_type", "od_wait", "od_pval", "use_best_model", "eval_fraction",
    "best_model_min_trees",
}  # fmt: skip

# CatBoost's defaults of these depend on the number of trees, and on whether there is an evaluation set.
_CATBOOST_CHOOSES = (
    "learning_rate", "leaf_estimation_iterations", "leaf_estimation_method", "boosting_type",
    "boost_from_average",
)  # fmt: skip


def out_of_fold(
    model: Any,
    X: Any,
    y: Any,
    *,
    positive: Any = None,
    folds: int = 5,
    groups: Any = None,
    seed: int = 0,
    sample_weight: Any = None,
) -> Vector:
    """The probability of each row by a copy of the model trained on the other folds. Raises ExportError.

    `model`: Any classifier with scikit-learn's interface (LGBMClassifier, XGBClassifier, CatBoostClassifier,
        pipelines). Copies of one that stopped early have the number of trees it kept.
    `X`, `y`, `positive`: As for `export_bundle`.
    `groups`: Rows that belong together, such as those of one account. They stay in one fold.
    `sample_weight`: The weight of each row in training, for the copies.
    """
    takes_frame = is_frame(X) and (hasattr(model, "steps") or not holds_texts(X))
    rows = X if takes_frame else training_rows(X)
    converted = training_outcomes(y, len(rows), positive)
    weights = checked_weights(sample_weight, len(rows))
    positive_index = positive_class_of(model, positive)
    return fold_scores(
        model, rows, converted, groups, weights, folds=folds, seed=seed, positive_index=positive_index
    ).raw


@dataclass(frozen=True)
class FoldScores:
    """The out-of-fold probability of each row, and the figures of each copy on its own training rows."""

    raw: Vector
    copies: tuple[Figures, ...]


def fold_scores(
    model: Any,
    rows: Any,
    converted: Vector,
    groups: Any,
    weights: Vector | None,
    *,
    folds: int = 5,
    seed: int = 0,
    positive_index: int = 1,
    say: Callable[[str], None] = lambda text: None,
) -> FoldScores:
    """As `out_of_fold`, with the figures of the copies, for rows, outcomes and weights that were checked.

    `rows`: An array, or the frame that the model was trained on.
    `positive_index`: The index of the class that means converted among the model's classes.
    `say`: Gets a line of progress for each copy.
    """
    try:
        from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
    except ImportError as problem:
        raise ExportError(
            "out-of-fold scores need scikit-learn: pip install scikit-learn, or give oof_raw"
        ) from problem
    if not (hasattr(model, "fit") and hasattr(model, "predict_proba") and hasattr(model, "get_params")):
        raise ExportError(
            f"a {type(model).__module__.partition('.')[0]} {type(model).__name__} cannot be trained "
            f"again here; {OOF_RAW}"
        )
    smaller, kind = smaller_class(converted)
    if smaller < folds:
        raise ExportError(
            f"only {smaller} of {len(rows):,} rows {kind}: out-of-fold scores need {folds} such rows, and "
            f"calibrated likelihoods {PLATT_FROM}; give more data, or oof_raw"
        )
    splitter = StratifiedKFold if groups is None else StratifiedGroupKFold
    with failures_advise(
        "the rows could not be split into folds",
        f"give groups=, one value for each row of X and {folds} or more different ones, or leave it out",
    ):
        parts = list(splitter(folds, shuffle=True, random_state=seed).split(converted, converted, groups))
    part = rows.iloc.__getitem__ if is_frame(rows) else rows.astype(np.float32).__getitem__
    labels = _labels(model, converted, positive_index)
    raw = np.empty(len(rows))
    copies = []
    check_not_loaded(_last_step(model))
    for number, (training, unseen) in enumerate(parts, start=1):
        say(f"training copy {number} of {folds} for out-of-fold scores")
        with failures_advise("an untrained copy of the model could not be made", "give oof_raw"):
            copy = untrained_copy(model)
        # Such as early stopping without an evaluation set.
        with failures_advise("a copy of the model could not be trained for out-of-fold scores", OOF_RAW):
            fitted = copy.fit(part(training), labels[training], **_weighted(copy, weights, training))
            raw[unseen] = fitted.predict_proba(part(unseen))[:, positive_index]
            own = np.asarray(fitted.predict_proba(part(training)), dtype=np.float64)[:, positive_index]
            copies.append(figures_of(own, converted[training]))
    return FoldScores(raw, tuple(copies))


def _labels(model: Any, converted: Vector, positive_index: int) -> npt.NDArray[Any]:
    """The outcomes in the words that the model was trained on."""
    classes = getattr(model, "classes_", None)
    if classes is None or len(classes) != 2 or list(classes) == [0, 1]:
        return converted
    return np.asarray(classes)[np.where(converted == 1, positive_index, 1 - positive_index)]


def _weighted(copy: Any, weights: Vector | None, training: Any) -> dict[str, Any]:
    """The weight argument of `fit`. A pipeline passes it to its last step."""
    if weights is None:
        return {}
    step = f"{copy.steps[-1][0]}__" if hasattr(copy, "steps") else ""
    return {f"{step}sample_weight": weights[training]}


@dataclass(frozen=True)
class KeptTrees:
    """The number of trees that are served, and the configured number, which continued training exceeds."""

    kept: int
    configured: int


def kept_trees(model: Any) -> KeptTrees | None:
    """The tree counts of a boosted classifier, or of a pipeline's last step, if they differ; else None.

    XGBoost that stopped early is excluded, because its copies cannot be trained at all.
    """
    trees = _trees(_last_step(model))
    return trees if trees is not None and trees.kept != trees.configured else None


def _trees(fitted: Any) -> KeptTrees | None:
    """The tree counts of a CatBoost classifier, or of any that stopped early or continued training."""
    library = _library(fitted)
    if library == "lightgbm":
        best = getattr(fitted, "best_iteration_", None)  # 0 without early stopping
        parameters = fitted.get_params()
        # LightGBM prefers each alias to n_estimators.
        aliases = _TREE_COUNTS - {"n_estimators"}
        configured = next((parameters[name] for name in aliases if name in parameters), None)
        configured = parameters["n_estimators"] if configured is None else configured
        best = best or _grown_beyond(configured, getattr(fitted, "n_iter_", 0))
    elif library == "xgboost":
        configured = fitted.get_num_boosting_rounds()
        best = _grown_beyond(configured, _xgboost_rounds(fitted))
    elif library == "catboost":
        best = getattr(fitted, "tree_count_", None)
        configured = fitted.get_all_params().get("iterations") if best else None
    else:
        return None
    return KeptTrees(int(best), int(configured)) if best and configured else None


def _grown_beyond(configured: int, grown: int) -> int:
    """The trees after continued training, else 0. A model with fewer trees ran out of splits."""
    return grown if grown > configured else 0


def _xgboost_rounds(fitted: Any) -> int:
    """The rounds of an XGBoost classifier, 0 if it stopped early. A forest's tree count is not in rounds."""
    is_forest = any(cls.__name__ == "XGBRFClassifier" for cls in type(fitted).__mro__)
    if is_forest or not fitted.__sklearn_is_fitted__() or hasattr(fitted, "best_iteration"):
        return 0
    return int(fitted.get_booster().num_boosted_rounds())


def untrained_copy(model: Any) -> Any:
    """An untrained copy with the number of trees that are served, and without early stopping.

    `model`: A classifier with scikit-learn's interface. Raises ExportError if the copy rejects the
        parameters.
    """
    fitted = _last_step(model)
    trees = _trees(fitted)
    # A copy with early stopping would require an evaluation set, even if the model kept all trees.
    if trees is None or (trees.kept == trees.configured and not _STOPS & set(fitted.get_params())):
        return fresh_copy(model)
    try:
        last = type(fitted)(**_parameters(fitted, trees.kept))
        if not hasattr(model, "steps"):
            return last
        copy = fresh_copy(model)
        copy.steps[-1] = (copy.steps[-1][0], last)
        return copy
    except Exception as problem:  # each trainer rejects parameters with its own error
        raise ExportError(
            f"the model has {trees.kept} trees instead of the configured {trees.configured}, and a copy "
            f"cannot be configured for that number ({problem}); {OOF_RAW}"
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
    libraries = libraries_of(model)
    return next((name for name in ("lightgbm", "catboost", "xgboost") if name in libraries), None)
