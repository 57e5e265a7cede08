"""Makes out-of-fold scores equal to what the service answers where they are the same but for rounding."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]

# Of a probability: what adding up shares in float32 loses. Trainers hand out float64.
_ROUNDING = 2e-6


def as_served(raw: Vector, served: Vector) -> Vector:
    """`raw`, where each probability that some row is served with, but for rounding, is that one.

    Votes and shares of leaves take few values. A lead that has one of them stands in the middle of those that have the
    same (docs/models.md, "From raw to what a caller reads"), which are found by comparing: 0.2 is not 0.2 in float32.
    raw: out-of-fold probabilities; served: those that ONNX gives.
    """
    known = np.unique(served)
    above = np.clip(np.searchsorted(known, raw), 1, max(1, len(known) - 1))
    low, high = known[above - 1], known[np.minimum(above, len(known) - 1)]
    nearest = np.where(raw - low < high - raw, low, high)
    return np.where(np.abs(nearest - raw) <= _ROUNDING * raw, nearest, raw)
