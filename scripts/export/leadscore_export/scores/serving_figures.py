"""From a raw probability to score and likelihood (docs/models.md, "From raw to what a caller reads")."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

EDGE = 1e-7
EQUAL = 1e-6  # quantiles this near to raw equal it, as in the service
SHIFT = 2e-6  # of raw: ONNX differs in the last bits between batch sizes and machines
Vector = npt.NDArray[np.float64]

_ROUNDING = 2e-6  # relative error of shares added up in float32, where trainers use float64


def percentile_score(raw: float, quantiles: Sequence[float]) -> int:
    """The mid-rank of `raw` among 101 ascending quantiles, interpolated, 0 to 100, half rounded up.

    Quantiles within 1e-6 of `raw` equal it.
    """
    return int(percentile_scores(np.array([raw]), quantiles)[0])


def percentile_scores(raw: Vector, quantiles: Sequence[float]) -> npt.NDArray[np.intp]:
    """`percentile_score` of each value, in one pass."""
    known = np.asarray(quantiles, dtype=np.float64)
    below = np.searchsorted(known, raw - EQUAL, side="left")
    not_above = np.searchsorted(known, raw + EQUAL, side="right")
    last = len(known) - 1
    low, high = known[np.clip(below - 1, 0, last)], known[np.clip(below, 0, last)]
    is_between = (not_above == below) & (below > 0) & (below <= last)
    part = np.divide(raw - low, high - low, out=np.zeros(len(raw)), where=is_between)
    rank = np.clip(np.where(is_between, below - 1 + part, (below + not_above - 1) / 2), 0, last)
    scores: npt.NDArray[np.intp] = np.minimum(100, np.floor(rank + 0.5)).astype(np.intp)
    return scores


def conversion_likelihood(raw: float, calibration: Mapping[str, Any]) -> float:
    """The calibrated probability, four decimals, half rounded up. `calibration`: As in a manifest."""
    return math.floor(10_000 * min(1.0, max(0.0, calibrated(raw, calibration))) + 0.5) / 10_000


def calibrated(raw: float, calibration: Mapping[str, Any]) -> float:
    """The calibrated probability, unrounded."""
    if calibration["kind"] == "platt":
        return logistic(calibration["a"] * logit(raw) + calibration["b"])
    if calibration["kind"] == "isotonic":
        return float(np.interp(raw, calibration["x"], calibration["y"]))
    return raw


def logit(raw: float) -> float:
    """Log-odds of a probability, clipped to 1e-7 from 0 and 1."""
    kept = min(1 - EDGE, max(EDGE, raw))
    return math.log(kept / (1 - kept))


def logistic(log_odds: float) -> float:
    """The probability of log-odds."""
    decayed = math.exp(-abs(log_odds))
    return 1 / (1 + decayed) if log_odds >= 0 else decayed / (1 + decayed)


def is_steady(raw: float, quantiles: Sequence[float], calibration: Mapping[str, Any]) -> bool:
    """Whether a shift of `raw` by 2e-6, as between ONNX runtimes, changes neither score nor likelihood."""
    around = [raw - SHIFT, raw, raw + SHIFT]
    scores = {percentile_score(value, quantiles) for value in around}
    likelihoods = {conversion_likelihood(value, calibration) for value in around}
    return len(scores) == 1 and len(likelihoods) == 1


def as_served(raw: Vector, served: Vector) -> Vector:
    """`raw` with each probability replaced by the served one that equals it up to rounding.

    Votes and shares of leaves take few values. Leads with equal values share one mid-rank, which is found by
    comparing, and 0.2 is not 0.2 in float32.

    `raw`: Out-of-fold probabilities.
    `served`: Probabilities from ONNX.
    """
    known = np.unique(served)
    above = np.clip(np.searchsorted(known, raw), 1, max(1, len(known) - 1))
    low, high = known[above - 1], known[np.minimum(above, len(known) - 1)]
    nearest = np.where(raw - low < high - raw, low, high)
    return np.where(np.abs(nearest - raw) <= _ROUNDING * raw, nearest, raw)
