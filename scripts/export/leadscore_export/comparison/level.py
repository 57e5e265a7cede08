"""Level and spread of the model's probabilities of X, against those by models trained alike.

Calibration and quantiles are fitted to out-of-fold scores. If their models were trained in another way than
the model, its likelihoods are wrong, although it ranks well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leadscore_export.comparison import limits
from leadscore_export.errors import ExportError
from leadscore_export.scores.serving_figures import logistic
from leadscore_export.scores.training_figures import area_under_curve

Vector = npt.NDArray[np.float64]

_EDGE = 1e-6


@dataclass(frozen=True)
class Figures:
    """A model on its own training rows: the log-odds of its mean probability, its spread, and its AUC.

    `spread`: Standard deviation of the log-odds.
    """

    level: float
    spread: float
    auc: float


@dataclass(frozen=True)
class Difference:
    """How far a model is from models that were trained alike.

    `found`: The figures, as the beginning of a sentence.
    """

    found: str
    is_refused: bool
    is_noted: bool


def figures_of(probabilities: Vector, converted: Vector) -> Figures:
    """The figures of a model's probabilities of its training rows. Logits are given as probabilities."""
    return Figures(
        level=level_of(probabilities),
        spread=_spread(probabilities),
        auc=area_under_curve(probabilities, converted),
    )


def level_of(probabilities: Vector) -> float:
    """The log-odds of the mean probability."""
    kept = min(1 - _EDGE, max(_EDGE, float(probabilities.mean())))
    return float(np.log(kept / (1 - kept)))


def against_copies(own: Figures, copies: Sequence[Figures]) -> Difference:
    """Compares a model with its copies, each on its own training rows."""
    levels = np.array([copy.level for copy in copies])
    spreads = np.array([copy.spread for copy in copies])
    aucs = np.array([copy.auc for copy in copies])
    level, spread, auc = (
        own.level - levels.mean(),
        own.spread / max(_EDGE, spreads.mean()),
        own.auc - aucs.mean(),
    )
    chance = limits.COPIES_DEVIATIONS
    level_chance = min(chance * _deviation(levels), np.log(limits.COPIES_LEVEL_ALWAYS_REFUSED))
    spread_chance = chance * _deviation(spreads) / max(_EDGE, spreads.mean())
    is_spread_compared = max(own.spread, spreads.mean()) > limits.SPREAD_LEAST
    return Difference(
        found=(
            f"the model's probabilities of X average {logistic(own.level):.1%}, those of its copies "
            f"on their own training rows {logistic(levels.mean()):.1%} (odds ratio "
            f"{np.exp(level):.2f}, spread of log-odds {spread:.2f} times, AUC {own.auc:.3f} against "
            f"{aucs.mean():.3f})"
        ),
        is_refused=bool(
            abs(level) > max(np.log(limits.COPIES_LEVEL_REFUSED), level_chance)
            or (
                is_spread_compared
                and abs(np.log(max(_EDGE, spread))) > max(np.log(limits.COPIES_SPREAD_REFUSED), spread_chance)
            )
            or auc < -max(limits.COPIES_AUC_REFUSED, chance * _deviation(aucs))
        ),
        is_noted=bool(abs(level) > max(np.log(limits.COPIES_LEVEL_NOTED), level_chance)),
    )


def against_scores(own: Vector, unseen: Vector, *, is_by_heart: bool) -> Difference:
    """Compares a model's probabilities of X with given out-of-fold scores.

    `is_by_heart`: Whether the model knows X by heart. The level is then noted, but does not refuse.
    """
    level = level_of(own) - level_of(unseen)
    own_spread, unseen_spread = _spread(own), _spread(unseen)
    difference = own - unseen
    error = float(np.std(difference)) / np.sqrt(len(own))
    ratio = abs(level) if abs(float(difference.mean())) > limits.SCORES_ERRORS * error else 0.0
    is_spread_compared = max(own_spread, unseen_spread) > limits.SPREAD_LEAST
    spread = own_spread / max(_EDGE, unseen_spread)
    return Difference(
        found=(
            f"the model's probabilities of X average {own.mean():.1%}, those of oof_raw {unseen.mean():.1%} "
            f"(odds ratio {np.exp(level):.2f}, spread of log-odds {spread:.2f} times)"
        ),
        is_refused=bool(
            (ratio > np.log(limits.SCORES_LEVEL_REFUSED) and not is_by_heart)
            or (is_spread_compared and spread < limits.SCORES_SPREAD_REFUSED)
        ),
        is_noted=bool(
            len(own) >= limits.SCORES_NOTED_FROM_ROWS and ratio > np.log(limits.SCORES_LEVEL_NOTED)
        ),
    )


def check_difference(difference: Difference, *, are_given: bool) -> None:
    """Refuses a model that was trained in another way than the models of the out-of-fold scores.

    `are_given`: Whether these came as oof_raw.
    """
    if not difference.is_refused:
        return
    weights = (
        "weights or settings that the models of oof_raw lack"
        if are_given
        else "a sample_weight of fit that is not given here (give sample_weight=...), changed parameters"
    )
    raise ExportError(
        f"{difference.found}. It was trained in another way than the models that calibrate it, so its "
        f"likelihoods would be wrong. Usual causes: {weights}, training on resampled leads, an offset "
        "(base_margin, init_score, baseline), another X. Give oof_raw=...: for each row of X the probability "
        "by a model trained in the same way on other rows. A holdout=(X, y) of untouched leads decides "
        "instead of this comparison"
    )


def level_note(difference: Difference, *, has_proof: bool) -> str | None:
    """A note on an unusual difference. `has_proof`: Whether likelihoods hold on a holdout."""
    if not (difference.is_noted or difference.is_refused):
        return None
    if has_proof:
        return f"{difference.found}. Likelihoods hold on the holdout, so the model is exported"
    return (
        f"{difference.found}. Likelihoods may be off: check that sample_weight and X are those of the "
        "training. A holdout decides"
    )


def is_by_heart(own_auc: float, unseen_auc: float) -> bool:
    """Whether a model knows its training rows by heart. `unseen_auc`: Out of fold."""
    return own_auc >= limits.BY_HEART_AUC and own_auc - unseen_auc > limits.BY_HEART_LOSS


def by_heart_note(own_auc: float, unseen_auc: float) -> str:
    """A note on a model that knows X by heart, without a holdout."""
    return (
        f"the model knows X by heart (AUC {own_auc:.3f} there, {unseen_auc:.3f} out of fold). So the "
        "export cannot notice whether it was trained on resampled or weighted leads. Give a holdout, or "
        "train smaller trees"
    )


def _deviation(values: Vector) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def _spread(probabilities: Vector) -> float:
    kept = np.clip(probabilities, limits.SPREAD_EDGE, 1 - limits.SPREAD_EDGE)
    return float(np.std(np.log(kept / (1 - kept))))
