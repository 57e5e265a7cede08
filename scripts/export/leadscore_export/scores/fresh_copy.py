"""Untrained copies of a model, with its parameters."""

from __future__ import annotations

from typing import Any

from leadscore_export.convert.sklearn_models import libraries_of
from leadscore_export.errors import ExportError, short_text

OOF_RAW = "give oof_raw: for each row of X the probability by a model that was not trained on it"

# XGBoost's load_model sets the first three. The others do not change the trees.
_SET_BY_LOADING = ("booster", "base_score", "objective")
_WITHOUT_EFFECT = ("enable_categorical", "feature_types", "missing", "n_jobs", "verbosity", "device")


def fresh_copy(model: Any) -> Any:
    """An untrained model with the same parameters. Raises ExportError if it cannot be made.

    `clone` refuses a constructor that changes a parameter, such as CatBoost's with `class_weights`. The copy
    is then constructed from the parameters.
    """
    from sklearn.base import clone

    _check_not_frozen(model)
    try:
        return _taking_unknown(clone(model))
    except Exception as refusal:  # clone raises RuntimeError, and the constructors their own errors
        try:
            return _constructed(model)
        except Exception as problem:
            raise ExportError(
                f"a {type(model).__name__} cannot be copied ({short_text(problem)}); {OOF_RAW}"
            ) from refusal


def _taking_unknown(copy: Any) -> Any:
    """The copy, whose one-hot encoders ignore a category that only other folds have, as the bundle does."""
    for part in copy.get_params().values():
        if type(part).__name__ == "OneHotEncoder" and part.handle_unknown == "error":
            part.set_params(handle_unknown="ignore")
    return copy


def _constructed(part: Any) -> Any:
    """A parameter, or a model with copies of its parameters. Steps of a pipeline are lists of pairs."""
    if isinstance(part, list | tuple) and type(part) in (list, tuple):
        return type(part)(_constructed(item) for item in part)
    if not hasattr(part, "get_params") or isinstance(part, type):
        return part
    return type(part)(**{name: _constructed(value) for name, value in part.get_params(deep=False).items()})


def _check_not_frozen(model: Any) -> None:
    """Refuses a trained classifier that every copy would share."""
    parts = [model, *model.get_params().values()]
    if any(type(part).__name__ == "FrozenEstimator" and hasattr(part, "predict") for part in parts):
        raise ExportError(
            f"the {type(model).__name__} holds a FrozenEstimator. Its copies would share that classifier, "
            f"which knows every row of X. Export the classifier inside, or {OOF_RAW}"
        )


def check_not_loaded(model: Any) -> None:
    """Refuses an XGBoost classifier that `load_model` has filled. The file lacks the training parameters.

    `model`: A classifier, not a pipeline.
    """
    if "xgboost" not in libraries_of(model):
        return
    given, defaults = model.get_params(), type(model)().get_params()
    ignored = {*_SET_BY_LOADING, *_WITHOUT_EFFECT}
    has_own = any(
        value is not None and value != defaults.get(name)
        for name, value in given.items()
        if name not in ignored
    )
    if has_own or given.get("booster") is None or given.get("base_score") is None:
        return
    raise ExportError(
        f"the {type(model).__name__} was loaded from a file, which holds its trees, but not the parameters "
        "of its training. Copies would have the defaults. Call model.set_params(n_estimators=..., "
        "max_depth=..., learning_rate=...) with all parameters that it was trained with (pickle keeps them), "
        f"or {OOF_RAW}"
    )
