"""Compares the model with its copies or given scores, and likelihoods with a holdout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from leadscore_export.comparison.holdout import check_holdout, holdout_level
from leadscore_export.comparison.level import (
    Figures,
    against_copies,
    against_scores,
    by_heart_note,
    check_difference,
    figures_of,
    is_by_heart,
    level_note,
)
from leadscore_export.comparison.missing_rows import missing_note
from leadscore_export.comparison.reliability import ReliabilityCurve, likelihoods_of, reliability_curve
from leadscore_export.featurizer.featurizer import Featurizer
from leadscore_export.scores.training_figures import area_under_curve

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Comparison:
    """Notes on the comparisons, and the reliability curves of X, out of fold, and of the holdout."""

    notes: tuple[str, ...]
    curves: tuple[ReliabilityCurve, ...]


@dataclass(frozen=True)
class Compared:
    """Data of the comparisons.

    `rows`, `converted`: X and its outcomes.
    `served`, `raw`: Probabilities of X by the model, and out of fold.
    `copies`: The figures of each copy that the latter are by, None if they came as oof_raw.
    `held`: Probabilities and outcomes of the holdout, None without one.
    `calibration`: As in the manifest.
    """

    featurizer: Featurizer
    rows: Vector
    converted: Vector
    served: Vector
    raw: Vector
    copies: Sequence[Figures] | None
    held: tuple[Vector, Vector] | None
    calibration: Mapping[str, Any]


def compare(given: Compared) -> Comparison:
    """Raises ExportError if likelihoods would be wrong. A holdout of enough conversions decides alone."""
    named = [("own rows", given.served, given.converted), ("out of fold", given.raw, given.converted)]
    has_proof = False
    if given.held is not None:
        held_raw, held_converted = given.held
        named.append(("holdout", held_raw, held_converted))
        proof = holdout_level(likelihoods_of(held_raw, given.calibration), held_converted)
        check_holdout(
            proof, trained_rate=float(given.converted.mean()), calibration=given.calibration["kind"]
        )
        has_proof = proof.is_proof
    own, unseen_auc = figures_of(given.served, given.converted), area_under_curve(given.raw, given.converted)
    by_heart = is_by_heart(own.auc, unseen_auc)
    difference = (
        against_scores(given.served, given.raw, is_by_heart=by_heart)
        if given.copies is None
        else against_copies(own, given.copies)
    )
    if not has_proof:
        check_difference(difference, are_given=given.copies is None)
    notes = (
        level_note(difference, has_proof=has_proof),
        by_heart_note(own.auc, unseen_auc) if by_heart and not has_proof else None,
        missing_note(given.featurizer, given.rows, given.served, given.raw),
    )
    return Comparison(
        notes=tuple(note for note in notes if note is not None),
        curves=tuple(
            reliability_curve(name, likelihoods_of(raw, given.calibration), converted)
            for name, raw, converted in named
        ),
    )
