"""Takes X and y as people have them, or says how to turn them into what a model is trained on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from leadscore_export.export_error import ExportError

Vector = npt.NDArray[np.float64]

_SHOWN = 5


def training_rows(X: Any) -> Vector:
    """X as an array of numbers. Raises ExportError when it is a table of something else."""
    try:
        return np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        if hasattr(X, "toarray"):
            raise ExportError("X is sparse; give X.toarray()") from problem
        raise ExportError(
            f"X holds something else than numbers ({problem}): make X with Featurizer.rows(records, now), and "
            "train on that"
        ) from problem


def training_outcomes(y: Any, count: int) -> Vector:
    """0 or 1 for each of so many rows. Raises ExportError, saying what y holds and how to turn it into that."""
    outcomes = np.asarray(y)
    if outcomes.shape != (count,):
        advice = "; give y.ravel(), or one column of the table" if outcomes.shape == (count, 1) else ""
        raise ExportError(f"y has the shape {outcomes.shape} for {count} rows of X{advice}")
    missing = [place for place, value in enumerate(outcomes.tolist()) if _is_missing(value)]
    if missing:
        raise ExportError(
            f"y is missing in {len(missing):,} of {count:,} rows (the first is row {missing[0]}): leave those out of X "
            "and y, or make them 0 if nothing means that the lead did not convert"
        )
    found = list(dict.fromkeys(outcomes.tolist()))
    if any(isinstance(value, str | Mapping | list) or value not in (0, 1) for value in found):
        shown = ", ".join(map(repr, found[:_SHOWN])) + (", ..." if len(found) > _SHOWN else "")
        raise ExportError(
            f"y holds {shown}; y must be 1 for a lead that converted and 0 for one that did not: for example "
            f"(y == {_likely(found)!r}).astype(int), of a numpy array or a column of pandas"
        )
    if len(found) < 2:
        raise ExportError(
            f"y holds one class only ({int(found[0])} in all rows); there must be leads that converted and leads that "
            "did not"
        )
    return outcomes.astype(np.float64)


def _likely(found: list[Any]) -> Any:
    """The value that most likely means converted."""
    likely = ("yes", "won", "true", "converted", "y", "t", "1", "closed won", "success")
    return next((value for value in found if str(value).strip().lower() in likely), found[-1])


def _is_missing(value: Any) -> bool:
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )
