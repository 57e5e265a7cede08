"""Converts a trained model of any supported library to ONNX."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from leadscore_export.convert.catboost_trees import convert_catboost
from leadscore_export.convert.converted_model import ConvertedModel, OnnxFile, read_onnx_file
from leadscore_export.convert.lightgbm_trees import convert_lightgbm
from leadscore_export.convert.sklearn_models import convert_sklearn_model, libraries_of, only_step
from leadscore_export.convert.xgboost_trees import convert_xgboost
from leadscore_export.errors import ExportError, failures_advise


def convert_model(model: Any, width: int) -> ConvertedModel:
    """A trained model as ONNX. `width`: Number of input columns. Raises ExportError, saying what to do."""
    if isinstance(model, str | Path):
        model = OnnxFile(model)
    if isinstance(model, OnnxFile):
        return read_onnx_file(model)
    _check_no_search(model)
    _check_classes(model)
    model = only_step(model)
    libraries = libraries_of(model)
    converters: dict[str, Callable[[Any, int], ConvertedModel]] = {
        "lightgbm": convert_lightgbm,
        "xgboost": convert_xgboost,
        "catboost": convert_catboost,
        "sklearn": convert_sklearn_model,
    }
    for library, convert in converters.items():
        if library in libraries:
            _check_trained(model)
            with failures_advise(
                f"the {type(model).__name__} could not be converted",
                "convert it to ONNX yourself, and give OnnxFile(path) with oof_raw",
            ):
                return convert(model, width)
    raise ExportError(
        f"{type(model).__name__} is no model of LightGBM, XGBoost, CatBoost or scikit-learn; convert it "
        "to ONNX and give OnnxFile(path)"
    )


def _check_no_search(model: Any) -> None:
    """Refuses a hyperparameter search."""
    if any(cls.__name__ == "BaseSearchCV" for cls in type(model).__mro__):
        name = type(model).__name__
        raise ExportError(f"{name} is a search for a model; give .best_estimator_, the model that it found")


def _check_trained(model: Any) -> None:
    """Refuses an untrained classifier."""
    if not (hasattr(model, "fit") and hasattr(model, "predict_proba")):
        return
    try:
        classes = model.classes_
    except Exception:  # each library raises its own error
        classes = None
    if classes is None or len(classes) == 0:
        raise ExportError(f"the {type(model).__name__} is not trained yet; call fit(X, y) before the export")


def _check_classes(model: Any) -> None:
    classes = getattr(model, "classes_", None)
    if classes is None or len(classes) == 0:  # CatBoostRegressor has an empty list
        return
    if list(classes) != [0, 1]:
        raise ExportError(
            f"the model was trained on the classes {list(classes)}; train it on 0 and 1, where 1 means "
            "converted"
        )
