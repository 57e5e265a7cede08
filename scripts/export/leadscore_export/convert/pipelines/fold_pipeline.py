"""Folds the first steps of a pipeline into features, and compares both ways on X."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from leadscore_export.convert.pipelines.trace_steps import UnknownStep, names_after, trace
from leadscore_export.convert.pipelines.traced_columns import FieldColumn, TracedColumn, features_of
from leadscore_export.convert.pipelines.trained_table import TrainedTable, decimal_columns
from leadscore_export.convert.sklearn_models import is_of_trees, libraries_of
from leadscore_export.errors import ExportError, failures_advise
from leadscore_export.featurizer.feature_types import Boolean, Category, Date, Feature, Multi, Number
from leadscore_export.featurizer.featurizer import Featurizer
from leadscore_export.featurizer.from_frame import frame_rows, holds_fields, is_frame

Vector = npt.NDArray[np.float64]
_TOLERANCE = 1e-9
_TYPES: dict[str, type] = {
    "number": Number,
    "boolean": Boolean,
    "category": Category,
    "multi": Multi,
    "date": Date,
}


@dataclass(frozen=True)
class Folded:
    """The classifier behind the folded steps, its table, and the features that fill it."""

    classifier: Any
    featurizer: Featurizer
    table: TrainedTable
    rows: Vector


def fold_pipeline(model: Any, featurizer: Featurizer, X: Any) -> Folded | None:
    """The parts of a pipeline that was trained on a frame; None for any other model.

    `featurizer`: That of the frame: one feature for each field.
    Raises ExportError that names a step which cannot be folded, or differs from the features on X.
    """
    inside = getattr(model, "estimator", None)
    if is_frame(X) and hasattr(inside, "steps"):
        raise ExportError(
            f"the {type(model).__name__} holds a Pipeline. Train that Pipeline alone on X and y, and give "
            "it; the exporter calibrates by itself"
        )
    if not hasattr(model, "steps") or len(model.steps) < 2 or not _holds_fields(X, featurizer):
        return None
    if not hasattr(model, "classes_"):
        raise ExportError("the Pipeline is not trained yet; call fit(X, y) before the export")
    features = {entry["field"]: _feature_of(entry) for entry in featurizer.features}
    names = [str(name) for name in X.columns]
    _check_names(model, names, features)
    columns: Sequence[TracedColumn] = [FieldColumn(features[name]) for name in names]
    traced = 0
    for name, step in model.steps[:-1]:
        try:
            columns = trace(step, columns, names, name)
        except UnknownStep:
            if traced == 0 or hasattr(step, "transformers_"):
                raise
            break  # skl2onnx may convert a step of the whole table
        names = names_after(step, names)
        traced += 1
    classifier = model[traced:]
    classifier = classifier.steps[-1][1] if len(classifier.steps) == 1 else classifier
    folded, table = features_of(columns, featurizer.missing_tokens, for_trees=is_of_trees(classifier))
    rows = frame_rows(X, folded)
    _check_agreement(model[:traced], X, columns, table.of_rows(rows), classifier)
    return Folded(classifier, folded, dataclasses.replace(table, decimals=decimal_columns(rows)), rows)


def _holds_fields(X: Any, featurizer: Featurizer) -> bool:
    """Whether X is a frame of fields, and not one of rows that the featurizer made."""
    if not is_frame(X):
        return False
    names = [str(name) for name in X.columns]
    are_numbers = all(entry["type"] in ("number", "boolean") for entry in featurizer.features)
    same = names == [entry["field"] for entry in featurizer.features]
    return holds_fields(X, featurizer) or (are_numbers and same)


def _check_names(model: Any, names: Sequence[str], features: dict[str, Feature]) -> None:
    trained = getattr(model, "feature_names_in_", None)
    if trained is not None and list(trained) != list(names):
        raise ExportError(
            f"the Pipeline was trained on the columns {', '.join(map(str, trained))}, but X has "
            f"{', '.join(names)}; give the frame that it was trained on"
        )
    lacking = [name for name in names if name not in features]
    if lacking:
        raise ExportError(
            f'no feature reads the column "{lacking[0]}" of X; give Featurizer.from_frame(X) as features'
        )


def _check_agreement(
    steps: Any, X: Any, columns: Sequence[TracedColumn], ours: Vector, classifier: Any
) -> None:
    """Refuses steps that give other numbers on X than the features do."""
    with (
        failures_advise("the pipeline's own transform fails on X", "give the frame that it was trained on"),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        theirs = steps.transform(X)
    if hasattr(theirs, "toarray"):
        if "xgboost" in libraries_of(classifier):
            raise ExportError(
                "the pipeline gives XGBoost a sparse table, in which XGBoost takes each 0 for a missing "
                "value. "
                "Train with ColumnTransformer(..., sparse_threshold=0) and OneHotEncoder(sparse_output=False)"
            )
        theirs = theirs.toarray()
    theirs = np.asarray(theirs, dtype=np.float64)
    if theirs.shape != ours.shape:
        raise ExportError(
            f"the pipeline makes {theirs.shape[1]} columns of X, but its steps describe {ours.shape[1]}; "
            "export the classifier alone, with features that make its table"
        )
    differs = np.abs(theirs - ours) > _TOLERANCE * np.maximum(1, np.abs(theirs))
    differs |= np.isnan(theirs) != np.isnan(ours)
    if not differs.any():
        return
    row, index = (int(found[0]) for found in np.nonzero(differs))
    column = columns[index]
    field = column.feature.field
    raise ExportError(
        f"the step {column.step or 'passthrough'} gives {theirs[row, index]:.6g} for row {row} of X, but the "
        f'feature "{field}" gives {ours[row, index]:.6g} for {X[field].iloc[row]!r}. The service trims '
        "texts, "
        "ignores case, and reads texts such as N/A as missing: clean the column in the frame, and train again"
    )


def _feature_of(entry: Any) -> Feature:
    """The feature that a manifest's entry describes, without its columns."""
    kind = _TYPES[entry["type"]]
    known = {option.name for option in dataclasses.fields(kind)}
    given = {key: value for key, value in entry.items() if key in known}
    for extra in ("other_column", "missing_column"):
        given.pop(extra, None)
    feature: Feature = kind(**given)
    return feature
