"""Finds what would go wrong once a model is served, while there is still somebody to tell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from leadscore_export.converted_model import ConvertedModel
from leadscore_export.export_error import ExportError
from leadscore_export.featurizer import Featurizer
from leadscore_export.training_data import training_outcomes, training_rows
from leadscore_export.tree_model import Split, TreeModel, nodes_of

Vector = npt.NDArray[np.float64]

# How far ONNX, which computes in float32, may be from the trainer's own probability.
_TOLERANCE = 1e-4
# From here on it is no matter of digits.
_WRONG = 0.01
# Where float32 has less than a tenth between one number and the next.
_LARGE = 1e6
_MOST_ROWS = 5000


def checked_training_data(X: Any, y: Any, featurizer: Featurizer) -> tuple[Vector, Vector]:
    """The rows and 0 or 1 for each. Raises ExportError when they are not what a model was trained on."""
    rows = training_rows(X)
    if rows.ndim != 2 or rows.shape[1] != featurizer.width:
        raise ExportError(
            f"X has the shape {rows.shape}, but the features fill {featurizer.width} columns; make X with "
            "Featurizer(features).rows(records, now)"
        )
    if len(rows) == 0:
        raise ExportError("X has no rows")
    converted = training_outcomes(y, len(rows))
    if not np.isfinite(rows[~np.isnan(rows)]).all():
        raise ExportError("X holds infinite numbers; the service never sends any")
    return rows, converted


def check_agreement(model: ConvertedModel, rows: Vector) -> Vector:
    """The probabilities of training rows by ONNX, sent as float32 like the service does.

    Raises ExportError when they are none, or not those of the trainer.
    """
    rows32 = rows.astype(np.float32)
    try:
        raw = model.raw(rows32)
    except Exception as problem:  # whatever ONNX Runtime raises
        raise ExportError(
            f"ONNX Runtime does not run it ({problem}); write the file with operator set 15 and IR version 8"
        ) from problem
    if not (np.isfinite(raw).all() and raw.min() >= 0 and raw.max() <= 1):
        raise ExportError(
            "the ONNX model's output is not a probability on every row of X; for log-odds give "
            'OnnxFile(path, kind="logit"), and impute what is missing in the features if it cannot take NaN'
        )
    if model.predict is None:
        return raw
    expected = model.predict(rows32[:_MOST_ROWS])
    worst = int(np.argmax(np.abs(raw[:_MOST_ROWS] - expected)))
    difference = abs(raw[worst] - expected[worst])
    if difference <= _TOLERANCE:
        return raw
    found = f"on row {worst} of X, ONNX gives {raw[worst]:.6f} where the trainer gives {expected[worst]:.6f}"
    scaling = "Scale large inputs (a pipeline with StandardScaler), or train on X.astype('float32')"
    if difference < _WRONG:
        raise ExportError(f"{found}: the model computes with more digits than float32 has. {scaling}")
    largest = float(np.nanmax(np.abs(rows)))
    also = f". Or X is too large for float32 (it holds {largest:.3g}). {scaling}" if largest > _LARGE else ""
    raise ExportError(
        f"{found}: the conversion is wrong for this model. Convert it yourself, and give OnnxFile(path) with "
        f"oof_raw{also}"
    )


def check_missing_values(model: ConvertedModel, featurizer: Featurizer, rows: Vector) -> None:
    """A column that can hold NaN at scoring must have held some in training, else the answer to NaN is an accident.

    Raises ExportError that names all features for which that is not so.
    """
    sets = category_columns(model.trees) if model.trees else set()
    unseen = []
    for feature in featurizer.features:
        column = feature["columns"][0]
        if not _can_be_nan(feature) or column in sets or np.isnan(rows[:, column]).any():
            continue
        unseen.append(_unseen_missing_text(feature, rows[:, column]))
    if unseen:
        raise ExportError("; ".join(unseen))
    if not np.isfinite(model.raw([featurizer.missing_row()])).all():
        raise ExportError(
            "a record of which every value is missing gives NaN; give the features an impute, and train on their rows"
        )


def category_columns(trees: TreeModel) -> set[int]:
    """Columns that the trees only ask for membership in a set: there NaN is, by design, none of the set."""
    splits = [node for tree in trees.trees for node in nodes_of(tree) if isinstance(node, Split)]
    numeric = {split.column for split in splits if split.test != "in"}
    return {split.column for split in splits} - numeric


def _can_be_nan(feature: Mapping[str, Any]) -> bool:
    if feature["type"] == "multi" or feature.get("encoding") == "onehot":
        return False
    can_be_missing = "impute" not in feature and not feature.get("required")
    return can_be_missing or (feature["type"] == "category" and "other_value" not in feature)


def _unseen_missing_text(feature: Mapping[str, Any], values: Vector) -> str:
    name = feature["field"]
    if feature["type"] == "category":
        return (
            f'"{name}" is NaN at scoring when it is missing or none of the categories, but never is in X; give it '
            f"other_value=-1 and impute={np.median(values):.0f}"
        )
    return (
        f'"{name}" is NaN at scoring when it is missing, but never is in X, so the model has learnt nothing about '
        f"that; give it impute={np.median(values):.6g} (its median; no row of X changes by that)"
    )
