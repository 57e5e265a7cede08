"""Shows the bias of leads whose scores sales have seen. Nothing is corrected: who was called is unknown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from leadscore_export.scores.score_bands import BAND_NAMES, band_indexes
from leadscore_export.scores.training_figures import area_under_curve
from leadscore_export.train.fit import auc_interval

Vector = npt.NDArray[np.float64]

_MAX_APART = 0.05  # of the shares of bands whose leads have an outcome
_MIN_LEADS = 30  # of a band: one lead changes its share by less than that
WARNING = (
    "Sales saw these scores. Leads with high scores may have won because they were called first. To learn "
    "more, work 2 to 5 % of the leads whatever their score."
)


def selection_figures(
    scores: Vector, converted: Vector, days: Vector, unnamed_by_band: Sequence[int] | None
) -> list[dict[str, Any]]:
    """By band of the earlier score: leads, share with an outcome, conversions, median days to them."""
    bands = band_indexes(scores)
    found = []
    for band, name in enumerate(BAND_NAMES):
        own = bands == band
        leads, unnamed = int(own.sum()), None if unnamed_by_band is None else unnamed_by_band[band]
        known = days[own & ~np.isnan(days)]
        share = None if unnamed is None or leads + unnamed == 0 else round(leads / (leads + unnamed), 4)
        found.append(
            {
                "scores": name,
                "leads": leads,
                "unnamed": unnamed,
                "named": share,
                "converted": int(converted[own].sum()),
                "median_days": round(float(np.median(known)), 1) if len(known) else None,
            }
        )
    return found


def selection_notes(bands: Sequence[dict[str, Any]]) -> list[str]:
    """A note if outcomes are known for some bands more than for others. Bands of few leads do not count."""
    shares = [
        band["named"]
        for band in bands
        if band["named"] is not None and band["leads"] + band["unnamed"] >= _MIN_LEADS
    ]
    if not shares or max(shares) - min(shares) <= _MAX_APART:
        return []
    return [
        f"outcomes are known for {min(shares):.0%} to {max(shares):.0%} of the leads by band of the "
        "earlier score. If lost leads with low scores are not reported, the model ranks them too high"
    ]


def same_leads(earlier: Vector, new: Vector, converted: Vector) -> dict[str, Any]:
    """The AUC of the earlier scores and of the new model, on the same held-out leads."""
    return {
        "leads": len(converted),
        "earlier": round(area_under_curve(earlier, converted), 4),
        "new": auc_interval(new, converted).document(),
    }
