"""Converts a trained model of any supported library to ONNX."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from leadscore_export.convert.catboost_trees import convert_catboost
from leadscore_export.convert.converted_model import ConvertedModel, OnnxFile, read_onnx_file
from leadscore_export.convert.lightgbm_trees import convert_lightgbm
from leadscore_export.convert.pipelines.trained_table import TrainedTable
from leadscore_export.convert.sklearn_models import convert_sklearn_model, libraries_of, only_step
from leadscore_export.convert.xgboost_trees import convert_xgboost
from leadscore_export.errors import ExportError, failures_advise
from leadscore_export.scores.labels import positive_index


def convert_model(model: Any, table: TrainedTable | int) -> ConvertedModel:
    """A trained model as ONNX. Raises ExportError, saying what to do.

    `table`: The table that it was trained on, or the number of columns of the bundle's rows.
    """
    if isinstance(table, int):
        table = TrainedTable(table)
    if isinstance(model, str | Path):
        model = OnnxFile(model)
    if isinstance(model, OnnxFile):
        return read_onnx_file(model)
    _check_no_search(model)
    model = only_step(model)
    libraries = libraries_of(model)
    converters: dict[str, Callable[[Any, TrainedTable], ConvertedModel]] = {
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
                return convert(model, table)
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


def positive_class_of(model: Any, positive: Any = None) -> int:
    """The index of the class that means converted among those of a model, 1 if it names none."""
    if isinstance(model, str | Path | OnnxFile):
        return 1
    _check_no_search(model)
    classes = getattr(model, "classes_", None)
    if classes is None or len(classes) == 0:  # CatBoostRegressor has an empty list
        return 1
    return positive_index(list(classes), positive)
