"""Rows with a missing value against the others: converters may lose the branch that NaN takes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from leadscore_export.comparison import limits
from leadscore_export.comparison.level import level_of
from leadscore_export.featurizer.featurizer import Featurizer

Vector = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

_MAX_NAMED = 3


def missing_note(featurizer: Featurizer, rows: Vector, own: Vector, unseen: Vector) -> str | None:
    """A note on fields whose missing values move the model and its out-of-fold scores differently.

    `own`, `unseen`: Probabilities of the rows by the model, and out of fold.
    """
    missing: Mask = np.isnan(rows)
    found = {
        feature["field"]: ratio
        for feature in featurizer.features
        if (ratio := _ratio(_any(missing[:, feature["columns"]]), own, unseen)) is not None
    }
    if not found and (ratio := _ratio(_any(missing), own, unseen)) is not None:
        found = {"some field": ratio}
    if not found:
        return None
    worst = sorted(found, key=lambda field: -abs(np.log(found[field])))
    named = ", ".join(f'"{field}"' for field in worst[:_MAX_NAMED])
    more = f" and {len(worst) - _MAX_NAMED} more" if len(worst) > _MAX_NAMED else ""
    return (
        f"leads without {named}{more} score {'higher' if found[worst[0]] > 1 else 'lower'} than out of fold "
        f"(odds ratio {found[worst[0]]:.2f} against leads that have it). A converter may have lost "
        "the branch of missing values: give the features impute=, and train on their rows"
    )


def _ratio(is_missing: Mask, own: Vector, unseen: Vector) -> float | None:
    """The level of the rows with a missing value over that of the others, None if it is usual or chance."""
    few = min(int(is_missing.sum()), int((~is_missing).sum()))
    if few < limits.MISSING_LEAST_ROWS:
        return None
    ratio = np.exp(
        _level(own[is_missing], unseen[is_missing]) - _level(own[~is_missing], unseen[~is_missing])
    )
    if 1 / limits.MISSING_LEVEL_NOTED <= ratio <= limits.MISSING_LEVEL_NOTED:
        return None
    difference = own - unseen
    error = np.sqrt(sum(np.var(difference[mask]) / mask.sum() for mask in (is_missing, ~is_missing)))
    apart = abs(difference[is_missing].mean() - difference[~is_missing].mean())
    return float(ratio) if apart > limits.SCORES_ERRORS * error else None


def _any(missing: Mask) -> Mask:
    rows: Mask = np.any(missing, axis=1)
    return rows


def _level(own: Vector, unseen: Vector) -> float:
    return level_of(own) - level_of(unseen)
