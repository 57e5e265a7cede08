"""Finds out what a trained model is and writes it as ONNX."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from leadscore_export.catboost_trees import catboost_trees
from leadscore_export.convert_sklearn import convert_sklearn_model
from leadscore_export.converted_model import ConvertedModel, converted_trees
from leadscore_export.export_error import ExportError
from leadscore_export.lightgbm_trees import lightgbm_trees
from leadscore_export.onnx_file import OnnxFile, read_onnx_file
from leadscore_export.xgboost_trees import xgboost_trees


def convert_model(model: Any, width: int) -> ConvertedModel:
    """A trained model as ONNX. `width`: number of input columns. Raises ExportError, saying what to do."""
    if isinstance(model, str | Path):
        model = OnnxFile(model)
    if isinstance(model, OnnxFile):
        return read_onnx_file(model)
    _check_found(model)
    _check_classes(model)
    libraries = {cls.__module__.partition(".")[0] for cls in type(model).__mro__}
    converters: dict[str, Callable[[Any, int], ConvertedModel]] = {
        "lightgbm": _convert_lightgbm,
        "xgboost": _convert_xgboost,
        "catboost": _convert_catboost,
        "sklearn": convert_sklearn_model,
    }
    for library, convert in converters.items():
        if library in libraries:
            _check_trained(model)
            return convert(model, width)
    raise ExportError(
        f"{type(model).__name__} is no model of LightGBM, XGBoost, CatBoost or scikit-learn; convert it to ONNX "
        "and give OnnxFile(path)"
    )


def _check_found(model: Any) -> None:
    """Refuses a search over models."""
    if any(cls.__name__ == "BaseSearchCV" for cls in type(model).__mro__):
        name = type(model).__name__
        raise ExportError(f"{name} is a search for a model: give .best_estimator_, the model that it found")


def _check_trained(model: Any) -> None:
    """Refuses a classifier that was not trained."""
    if not (hasattr(model, "fit") and hasattr(model, "predict_proba")):
        return
    try:
        classes = model.classes_
    except Exception:  # each library says in its own way that there is none
        classes = None
    if classes is None or len(classes) == 0:
        raise ExportError(
            f"the {type(model).__name__} is not trained yet; call fit(X, y) first, and export what was trained"
        )


def _check_classes(model: Any) -> None:
    classes = getattr(model, "classes_", None)
    if classes is None:
        return
    if list(classes) != [0, 1]:
        raise ExportError(
            f"the model was trained on the classes {list(classes)}; train it on 0 and 1, where 1 means converted"
        )


def _convert_lightgbm(model: Any, _width: int) -> ConvertedModel:
    booster = getattr(model, "booster_", model)
    return converted_trees(
        lightgbm_trees(booster), lambda rows: np.asarray(booster.predict(rows.astype(np.float64), num_threads=1))
    )


def _convert_xgboost(model: Any, _width: int) -> ConvertedModel:
    import xgboost

    missing = getattr(model, "missing", np.nan)
    if missing is not None and not np.isnan(missing):
        raise ExportError(f"XGBoost was trained with missing={missing}; train with NaN for what is missing")
    is_wrapped = hasattr(model, "get_booster")
    booster = model.get_booster() if is_wrapped else model
    best = booster.attributes().get("best_iteration") if is_wrapped else None
    if best is not None:  # after early stopping the wrapper predicts with the best trees only
        booster = booster[: int(best) + 1]

    def predict(rows: Any) -> Any:
        matrix = xgboost.DMatrix(rows, feature_types=booster.feature_types, enable_categorical=True, nthread=1)
        return np.asarray(booster.predict(matrix, validate_features=False), dtype=np.float64)

    return converted_trees(xgboost_trees(booster), predict)


def _convert_catboost(model: Any, width: int) -> ConvertedModel:
    def predict(rows: Any) -> Any:
        return np.asarray(model.predict(rows, prediction_type="Probability", thread_count=1))[:, 1]

    return converted_trees(catboost_trees(model, width), predict)
