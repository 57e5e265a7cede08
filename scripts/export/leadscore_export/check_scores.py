"""Compares the model with X and y, and with the out-of-fold scores: is it the model that was trained on them?"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from leadscore_export.export_error import ExportError
from leadscore_export.training_figures import area_under_curve

Vector = npt.NDArray[np.float64]

# An honest model's AUC on its own rows was seen to be up to 0.03 below that of its copies on rows that they had not
# seen: of stumps and hardly trained networks, at any number of rows.
_TOLERANCE = 0.05
# And in standard errors of an AUC, for small data.
_ERRORS = 1.0


def given_scores(oof_raw: Any, served: Vector) -> Vector:
    """`oof_raw`, once it is seen to fit the rows. `served`: what the model itself says of them. Raises ExportError."""
    raw = np.asarray(oof_raw, dtype=np.float64)
    if raw.shape != served.shape:
        raise ExportError(
            f"oof_raw has the shape {raw.shape} for {len(served)} rows of X; give one probability for each"
        )
    if not (np.isfinite(raw).all() and raw.min() >= 0 and raw.max() <= 1):
        raise ExportError("oof_raw must be probabilities, 0 to 1, before any calibration")
    _check_not_own_scores(served, raw)
    return raw


def _check_not_own_scores(served: Vector, oof_raw: Vector) -> None:
    """Refuses out-of-fold scores that are what the model itself says of X. `served`: its probabilities of X."""
    if np.allclose(served, oof_raw, rtol=1e-5, atol=1e-6):
        raise ExportError(
            "oof_raw is what the model itself says of X, the rows that it was trained on: it is surer of them than of "
            "new ones. Leave oof_raw out, or give for each row the probability by a model that was not trained on it "
            "(leadscore_export.out_of_fold, sklearn.model_selection.cross_val_predict)"
        )


def check_ranking(served: Vector, raw: Vector, converted: Vector, *, are_given: bool) -> None:
    """Refuses a model that ranks X not at all, or clearly worse than the out-of-fold scores do.

    served, raw: probabilities of X by the model, and out of fold; are_given: whether those came as oof_raw.
    """
    if served.min() == served.max():
        raise ExportError(
            f"the model gives all rows of X the same probability ({served[0]:.4f}): it tells no lead from another. "
            "Trees without a split come of too few rows for their settings (min_child_samples, min_samples_leaf, gamma)"
        )
    own, unseen = area_under_curve(served, converted), area_under_curve(raw, converted)
    smaller = min(converted.sum(), len(converted) - converted.sum())
    error = float(np.sqrt(unseen * (1 - unseen) / smaller))
    if own >= unseen - max(_TOLERANCE, _ERRORS * error):
        return
    others = "oof_raw does" if are_given else "copies of it that were trained on X and y rank rows unseen"
    also = ", or oof_raw is another model's" if are_given else ""
    raise ExportError(
        f"the model ranks its own training rows worse (AUC {own:.3f}) than {others} (AUC {unseen:.3f}): X is not what "
        "it was trained on (order of columns, or of categories?), or y is another target" + also
    )


def check_lift(lift: float) -> None:
    """Refuses a lift that the service does. `lift`: as in the manifest, rounded."""
    if lift <= 0:
        raise ExportError(
            "nobody converted in the fifth of rows that the model ranks highest (a lift of 0): check that y is 1 for "
            "converted, and that holdout, or oof_raw, is in the order of its outcomes"
        )
