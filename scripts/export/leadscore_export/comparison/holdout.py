"""The likelihoods of the holdout against its conversions, which prove or disprove a calibration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leadscore_export.comparison import limits
from leadscore_export.errors import HoldoutRefused

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True)
class HoldoutLevel:
    """The mean likelihood of the holdout, its conversion rate, and the standard error between them."""

    likelihood: float
    rate: float
    error: float

    @property
    def is_refused(self) -> bool:
        """Whether the likelihoods are off by more than chance and more than a quarter."""
        allowed = max(limits.HOLDOUT_ERRORS * self.error, limits.HOLDOUT_SHARE * self.rate)
        return abs(self.likelihood - self.rate) > allowed

    @property
    def is_proof(self) -> bool:
        """Whether likelihoods hold, on enough conversions to notice one that is twice the rate."""
        return not self.is_refused and limits.HOLDOUT_ERRORS * self.error <= self.rate


def holdout_level(likelihoods: Vector, converted: Vector) -> HoldoutLevel:
    """`likelihoods`: Calibrated probabilities of the holdout. `converted`: 0 or 1 for each row."""
    mean, rate = float(likelihoods.mean()), float(converted.mean())
    variance = max(mean * (1 - mean), rate * (1 - rate))
    return HoldoutLevel(mean, rate, float(np.sqrt(variance / len(converted))))


def check_holdout(level: HoldoutLevel, *, trained_rate: float, calibration: str) -> None:
    """Refuses likelihoods that the holdout disproves.

    `trained_rate`: The conversion rate of X. `calibration`: The kind.
    """
    if not level.is_refused:
        return
    if calibration == "identity":
        cause = (
            'The raw probabilities are not calibrated. Give calibration="platt", or more rows, or '
            "train without class weights"
        )
    elif abs(trained_rate - level.rate) > max(
        limits.HOLDOUT_ERRORS * level.error, limits.HOLDOUT_SHARE * level.rate
    ):
        cause = (
            f"{trained_rate:.1%} of X converted, so X was resampled, or leads convert at another rate "
            "now. Give X and y of leads as they come; use weights instead of dropping or duplicating "
            "leads"
        )
    else:
        cause = (
            "The out-of-fold scores, which calibrate, are by models that were trained in another way. "
            "Usual causes: a sample_weight of fit that is not given here, training on resampled leads, "
            "an offset (base_margin, init_score, baseline). Give sample_weight=..., or oof_raw=... by "
            "models trained in the same way"
        )
    raise HoldoutRefused(
        f"likelihoods average {level.likelihood:.1%} on the holdout, but {level.rate:.1%} of it "
        f"converted. {cause}"
    )
