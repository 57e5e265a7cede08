"""Checks X, y and sample_weight, and says how to turn other forms into those of a training set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from leadscore_export.errors import ExportError, failures_advise
from leadscore_export.featurizer.featurizer import Featurizer

Vector = npt.NDArray[np.float64]

_MAX_SHOWN = 5  # values of y in a message


def checked_training_data(X: Any, y: Any, featurizer: Featurizer) -> tuple[Vector, Vector]:
    """X as rows of the featurizer's width, and y as 0 or 1. Raises ExportError."""
    rows = training_rows(X)
    if rows.ndim != 2 or rows.shape[1] != featurizer.width:
        raise ExportError(
            f"X has the shape {rows.shape}, but the features fill {featurizer.width} columns; make X "
            "with Featurizer(features).rows(records, now)"
        )
    if len(rows) == 0:
        raise ExportError("X has no rows; give the rows that the model was trained on")
    converted = training_outcomes(y, len(rows))
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
            "now), and train on that"
        ) from problem


def training_outcomes(y: Any, count: int) -> Vector:
    """y as 0 or 1 for each of `count` rows. Raises ExportError that says how to convert y."""
    with failures_advise("y is no list of outcomes", "give 1 or 0 for each row of X"):
        outcomes = np.asarray(y)
    if outcomes.shape != (count,):
        advice = "; give y.ravel(), or one column of the table" if outcomes.shape == (count, 1) else ""
        raise ExportError(f"y has the shape {outcomes.shape} for {count} rows of X{advice}")
    missing = [place for place, value in enumerate(outcomes.tolist()) if _is_missing(value)]
    if missing:
        raise ExportError(
            f"y is missing in {len(missing):,} of {count:,} rows (the first is row {missing[0]}). Drop "
            "those rows from X and y, or set them to 0 if a missing outcome means that the lead did "
            "not convert"
        )
    found = list(dict.fromkeys(outcomes.tolist()))
    if any(isinstance(value, str | Mapping | list) or value not in (0, 1) for value in found):
        shown = ", ".join(map(repr, found[:_MAX_SHOWN])) + (", ..." if len(found) > _MAX_SHOWN else "")
        raise ExportError(
            f"y holds {shown}; y must be 1 for a lead that converted and 0 for any other. For a numpy "
            f"array or a pandas column, write (y == {_likely(found)!r}).astype(int)"
        )
    if len(found) < 2:
        raise ExportError(
            f"y holds one class only ({int(found[0])} in all rows); give leads that converted and leads "
            "that did not"
        )
    return outcomes.astype(np.float64)


def smaller_class(converted: Vector) -> tuple[int, str]:
    """The number of rows of the smaller class, and which class that is: "converted" or "did not convert"."""
    positives = int(converted.sum())
    negatives = len(converted) - positives
    return (positives, "converted") if positives <= negatives else (negatives, "did not convert")


def _likely(found: list[Any]) -> Any:
    """The value that most likely means converted."""
    likely = ("yes", "won", "true", "converted", "y", "t", "1", "closed won", "success")
    return next((value for value in found if str(value).strip().lower() in likely), found[-1])


def _is_missing(value: Any) -> bool:
    return (
        value is None
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
