"""The score bands by which validation grades a model (docs/validation.md, "Who is graded")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from leadscore_export.scores.serving_figures import percentile_scores

# The service's, from shared/contract/verdict.ts and worker/grading/gates/gates.ts.
BAND_WIDTH, LAST_BAND = 20, 4
MIN_BANDS = 3
BAND_NAMES = tuple(
    f"{band * BAND_WIDTH} to {100 if band == LAST_BAND else (band + 1) * BAND_WIDTH - 1}"
    for band in range(LAST_BAND + 1)
)


def different_scores(served: npt.NDArray[np.float64], quantiles: Sequence[float]) -> list[int]:
    """The scores that a model gives, ascending. `served`: Its own probabilities of X."""
    found: list[int] = np.unique(percentile_scores(served, quantiles)).tolist()
    return found


def band_indexes(scores: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """The band of each score."""
    return np.minimum(scores // BAND_WIDTH, LAST_BAND).astype(np.intp)


def bands_of(scores: Sequence[int]) -> int:
    """The number of score bands (0-19, 20-39, ... 80-100) that hold one of the scores."""
    return len({min(score // BAND_WIDTH, LAST_BAND) for score in scores})
