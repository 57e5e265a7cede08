"""The score bands by which validation grades a model (docs/validation.md, "Who is graded")."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from leadscore_export.scores.serving_figures import percentile_score

# The service's, from shared/contract/verdict.ts and worker/grading/gates/gates.ts.
BAND_WIDTH, LAST_BAND = 20, 4
MIN_BANDS = 3


def different_scores(served: npt.NDArray[np.float64], quantiles: Sequence[float]) -> list[int]:
    """The scores that a model gives, ascending. `served`: Its own probabilities of X."""
    return sorted({percentile_score(raw, quantiles) for raw in np.unique(served).tolist()})


def bands_of(scores: Sequence[int]) -> int:
    """The number of score bands (0-19, 20-39, ... 80-100) that hold one of the scores."""
    return len({min(score // BAND_WIDTH, LAST_BAND) for score in scores})
