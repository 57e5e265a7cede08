"""Compares ONNX with the trainer, and the model with X, y and the out-of-fold scores."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from leadscore_export.comparison import limits
from leadscore_export.convert.converted_model import ConvertedModel
from leadscore_export.errors import ExportError, failures_advise
from leadscore_export.featurizer.featurizer import Featurizer
from leadscore_export.scores.calibration import PLATT_FROM
from leadscore_export.scores.training_data import checked_training_data
from leadscore_export.scores.training_figures import area_under_curve

Vector = npt.NDArray[np.float64]

ONNX_TOLERANCE = 1e-4  # of a probability: ONNX computes in float32
_WRONG_CONVERSION = 0.01  # of a probability: larger differences are not due to float32
_LARGE = 1e6  # neighbouring float32 numbers are 0.06 apart from here on
_MAX_COMPARED_ROWS = 5000


def own_answers(model: Any, X: Any, positive: int) -> Vector | None:
    """The model's own probabilities of the first rows of a frame, None for a model without predict_proba."""
    if not hasattr(model, "predict_proba"):
        return None
    with (
        failures_advise("the model's own predict fails on X", "give the frame that it was trained on"),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        answers = np.asarray(model.predict_proba(X.iloc[:_MAX_COMPARED_ROWS]), dtype=np.float64)
    return answers[:, positive]


def check_agreement(model: ConvertedModel, rows: Vector, expected: Vector | None = None) -> Vector:
    """The ONNX probabilities of rows, cast to float32 as in the service.

    Raises ExportError if they are no probabilities, or not those of the trainer.

    `expected`: The trainer's probabilities of the first rows, by default from the rows.
    """
    rows32 = rows.astype(np.float32)
    raw = model.raw(rows32)
    if not (np.isfinite(raw).all() and raw.min() >= 0 and raw.max() <= 1):
        raise ExportError(
            "the ONNX model's output is not a probability on every row of X. For log-odds give "
            'OnnxFile(path, kind="logit"). If the model cannot take NaN, impute missing values in the '
            "features"
        )
    expected = model.trained(rows[:_MAX_COMPARED_ROWS]) if expected is None else expected
    if expected is None:
        return raw
    worst = int(np.argmax(np.abs(raw[:_MAX_COMPARED_ROWS] - expected)))
    difference = abs(raw[worst] - expected[worst])
    if difference <= ONNX_TOLERANCE:
        return raw
    found = f"on row {worst} of X, ONNX gives {raw[worst]:.6f} but the trainer gives {expected[worst]:.6f}"
    scaling = "Scale large inputs (a pipeline with StandardScaler), or train on X.astype('float32')"
    if difference < _WRONG_CONVERSION:
        raise ExportError(f"{found}: the model needs more digits than float32 has. {scaling}")
    largest = float(np.nanmax(np.abs(rows)))
    also = f". Or X is too large for float32 (it holds {largest:.3g}). {scaling}" if largest > _LARGE else ""
    raise ExportError(
        f"{found}: the conversion is wrong for this model. Convert it yourself, and give OnnxFile(path) "
        f"with oof_raw{also}"
    )


def checked_holdout(
    holdout: Any, featurizer: Featurizer, positive: Any = None, *, is_folded: bool = False
) -> tuple[Vector, Vector]:
    """The rows of the holdout, and 0 or 1 for each, as `checked_training_data`. Raises ExportError."""
    if not isinstance(holdout, tuple | list) or len(holdout) != 2:
        raise ExportError("holdout must be a pair (X, y): rows that were not trained on, and their outcomes")
    X, y = holdout
    with _named_holdout(), failures_advise("X and y could not be read", "give them as for training"):
        return checked_training_data(X, y, featurizer, positive, is_folded=is_folded)


def holdout_scores(model: ConvertedModel, rows: Vector) -> Vector:
    """The model's probabilities of the holdout's rows. Raises ExportError."""
    with _named_holdout(), failures_advise("X could not be scored", "give rows that the model can score"):
        return check_agreement(model, rows)


@contextmanager
def _named_holdout() -> Iterator[None]:
    """Says in an ExportError that it is about the holdout."""
    try:
        yield
    except ExportError as problem:
        raise ExportError(f"in holdout=(X, y): {problem}") from problem


def given_scores(oof_raw: Any, served: Vector) -> Vector:
    """`oof_raw` as an array. Raises ExportError if it does not fit the rows.

    `served`: The model's own probabilities of those rows.
    """
    with failures_advise("oof_raw is no list of numbers", "give one probability for each row of X"):
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
    """Refuses out-of-fold scores that equal the model's own probabilities of X."""
    if np.allclose(served, oof_raw, rtol=1e-5, atol=1e-6):
        raise ExportError(
            "oof_raw equals the model's own probabilities of X, its training rows, where it is "
            "overconfident. Leave oof_raw out, or give for each row the probability by a model that "
            "was not trained on it (leadscore_export.out_of_fold, "
            "sklearn.model_selection.cross_val_predict)"
        )


def check_ranking(served: Vector, raw: Vector, converted: Vector, *, are_given: bool) -> None:
    """Refuses a model that does not rank X, or ranks it clearly worse than the out-of-fold scores do.

    `served`, `raw`: Probabilities of X by the model, and out of fold.
    `are_given`: Whether the latter came as oof_raw.
    """
    if served.min() == served.max():
        raise ExportError(
            f"the model gives all rows of X the same probability ({served[0]:.4f}), so it cannot rank "
            "leads. Trees without a split result from settings too strict for so few rows "
            "(min_child_samples, min_samples_leaf, gamma)"
        )
    own, unseen = area_under_curve(served, converted), area_under_curve(raw, converted)
    smaller = min(converted.sum(), len(converted) - converted.sum())
    error = float(np.sqrt(unseen * (1 - unseen) / smaller))
    if own >= unseen - max(limits.AUC_TOLERANCE, limits.AUC_ERRORS * error):
        return
    others = "oof_raw does" if are_given else "copies of it rank unseen rows"
    also = ", or oof_raw is another model's" if are_given else ""
    raise ExportError(
        f"the model ranks its own training rows worse (AUC {own:.3f}) than {others} (AUC {unseen:.3f}). "
        "Either X is not what it was trained on (order of columns or categories?), or y is another "
        f"target{also}"
    )


def check_lift(lift: float, converted: Vector) -> None:
    """Refuses a lift that the service refuses.

    `lift`: As in the manifest, rounded.
    `converted`: The outcomes of the rows that it was computed from.
    """
    if lift > 0:
        return
    found = "no lead converted in the fifth of rows that the model ranks highest (lift 0)"
    if converted.sum() < PLATT_FROM:
        raise ExportError(
            f"{found}. Only {converted.sum():.0f} of {len(converted):,} rows converted, so that may be "
            f"chance: give rows with {PLATT_FROM} conversions or more"
        )
    raise ExportError(
        f"{found}; check that y is 1 for converted, and that holdout or oof_raw has the order of its outcomes"
    )
