"""Finds what would go wrong once a model is served, while there is still somebody to tell."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from leadscore_export.convert.converted_model import ConvertedModel
from leadscore_export.errors import ExportError
from leadscore_export.featurizer.featurizer import Featurizer
from leadscore_export.scores.training_data import checked_training_data
from leadscore_export.scores.training_figures import area_under_curve

Vector = npt.NDArray[np.float64]
# How far ONNX, which computes in float32, may be from the trainer's own probability.
_ONNX_TOLERANCE = 1e-4
# From here on it is no matter of digits.
_WRONG_CONVERSION = 0.01
# Where float32 has less than a tenth between one number and the next.
_LARGE = 1e6
_MAX_COMPARED_ROWS = 5000


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
    expected = model.predict(rows32[:_MAX_COMPARED_ROWS])
    worst = int(np.argmax(np.abs(raw[:_MAX_COMPARED_ROWS] - expected)))
    difference = abs(raw[worst] - expected[worst])
    if difference <= _ONNX_TOLERANCE:
        return raw
    found = f"on row {worst} of X, ONNX gives {raw[worst]:.6f} where the trainer gives {expected[worst]:.6f}"
    scaling = "Scale large inputs (a pipeline with StandardScaler), or train on X.astype('float32')"
    if difference < _WRONG_CONVERSION:
        raise ExportError(f"{found}: the model computes with more digits than float32 has. {scaling}")
    largest = float(np.nanmax(np.abs(rows)))
    also = f". Or X is too large for float32 (it holds {largest:.3g}). {scaling}" if largest > _LARGE else ""
    raise ExportError(
        f"{found}: the conversion is wrong for this model. Convert it yourself, and give OnnxFile(path) with "
        f"oof_raw{also}"
    )


def held_out(model: ConvertedModel, featurizer: Featurizer, holdout: Any) -> tuple[Vector, Vector]:
    """The model's probabilities of rows that were not trained on, and 0 or 1 for each. Raises ExportError."""
    if not isinstance(holdout, tuple | list) or len(holdout) != 2:
        raise ExportError("holdout is a pair, (X, y): rows that were not trained on, and their outcomes")
    try:
        X, y = holdout
        rows, converted = checked_training_data(X, y, featurizer)
        return check_agreement(model, rows), converted
    except ExportError as problem:
        raise ExportError(f"in holdout=(X, y): {problem}") from problem


# An honest model's AUC on its own rows was seen to be up to 0.03 below that of its copies on rows that they had not
# seen: of stumps and hardly trained networks, at any number of rows.
_AUC_TOLERANCE = 0.05
# And in standard errors of an AUC, for small data.
_AUC_ERRORS = 1.0


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
    if own >= unseen - max(_AUC_TOLERANCE, _AUC_ERRORS * error):
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
