"""Checks X, y and sample_weight, and says how to convert other forms to those of a training set."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from leadscore_export.errors import ExportError, failures_advise
from leadscore_export.featurizer.featurizer import Featurizer
from leadscore_export.featurizer.from_frame import (
    check_same_fields,
    frame_rows,
    holds_fields,
    is_frame,
    is_reordered,
)
from leadscore_export.scores.labels import outcomes_of

Vector = npt.NDArray[np.float64]


def checked_training_data(
    X: Any, y: Any, featurizer: Featurizer, positive: Any = None, *, is_folded: bool = False
) -> tuple[Vector, Vector]:
    """X as rows of the featurizer's width, and y as 0 or 1. Raises ExportError.

    `X`: Rows of the featurizer, or a pandas frame of fields.
    `positive`: The value of y that means converted.
    `is_folded`: Whether the featurizer has the steps of a pipeline that takes such frames.
    """
    if is_folded:
        if not is_frame(X):
            raise ExportError(
                "X is no frame, but the pipeline was trained on one; give a frame of its columns"
            )
        rows = frame_rows(X, featurizer)
    elif holds_fields(X, featurizer) or is_reordered(X, featurizer):
        check_same_fields(X, featurizer)
        rows = frame_rows(X, featurizer)
    else:
        rows = training_rows(X)
    if rows.ndim != 2 or rows.shape[1] != featurizer.width:
        raise ExportError(
            f"X has the shape {rows.shape}, but the features fill {featurizer.width} columns; make X "
            "with Featurizer(features).rows(records, now)"
        )
    if len(rows) == 0:
        raise ExportError("X has no rows; give the rows that the model was trained on")
    converted = training_outcomes(y, len(rows), positive)
    if not np.isfinite(rows[~np.isnan(rows)]).all():
        raise ExportError(
            "X holds infinite numbers, which the service never sends; replace them before training"
        )
    return rows, converted


def training_rows(X: Any) -> Vector:
    """X as an array of numbers. Raises ExportError if it is a table of anything else."""
    try:
        return np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        if hasattr(X, "toarray"):
            raise ExportError("X is sparse; give X.toarray()") from problem
        raise ExportError(
            f"X holds values that are no numbers ({problem}): make X with Featurizer.rows(records, "
            "now), and train on that. For a frame, give its columns as features: Featurizer.from_frame(X)"
        ) from problem


def training_outcomes(y: Any, count: int, positive: Any = None) -> Vector:
    """y as 0 or 1 for each of `count` rows. Raises ExportError that says how to convert y."""
    with failures_advise("y is no list of outcomes", "give 1 or 0 for each row of X"):
        outcomes = np.asarray(y)
    if outcomes.shape != (count,):
        advice = "; give y.ravel(), or one column of the table" if outcomes.shape == (count, 1) else ""
        raise ExportError(f"y has the shape {outcomes.shape} for {count} rows of X{advice}")
    missing = [index for index, value in enumerate(outcomes.tolist()) if _is_missing(value)]
    if missing:
        raise ExportError(
            f"y is missing in {len(missing):,} of {count:,} rows (the first is row {missing[0]}). Drop "
            "those rows from X and y, or set them to 0 if a missing outcome means that the lead did "
            "not convert"
        )
    return outcomes_of(outcomes.tolist(), positive)


def smaller_class(converted: Vector) -> tuple[int, str]:
    """The number of rows of the smaller class, and which class that is: "converted" or "did not convert"."""
    positives = int(converted.sum())
    negatives = len(converted) - positives
    return (positives, "converted") if positives <= negatives else (negatives, "did not convert")


def _is_missing(value: Any) -> bool:
    return (
        value is None
        or (isinstance(value, str) and not value.strip())
        or type(value).__name__ in ("NAType", "NaTType")
        or (isinstance(value, float) and value != value)
    )


def checked_weights(sample_weight: Any, count: int) -> Vector | None:
    """The weights of `count` rows, None if there are none. Raises ExportError if they do not fit."""
    if sample_weight is None:
        return None
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise ExportError(f"sample_weight must be numbers, one for each row of X ({problem})") from problem
    if weights.shape != (count,):
        raise ExportError(
            f"sample_weight has the shape {weights.shape} for {count} rows of X; give one for each"
        )
    if not (np.isfinite(weights).all() and weights.min() >= 0 and weights.max() > 0):
        raise ExportError("sample_weight must be finite, none below 0, and not all 0")
    return weights
