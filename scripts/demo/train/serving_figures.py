"""From a raw probability to what a caller reads (docs/models.md, "From raw to what a caller reads")."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def percentile_score(raw: float, quantiles: Sequence[float]) -> int:
    """0 to 100: the interpolated mid-rank of `raw` among 101 ascending quantiles, half rounded up."""
    below = int(np.searchsorted(quantiles, raw, side="left"))
    not_above = int(np.searchsorted(quantiles, raw, side="right"))
    last = len(quantiles) - 1
    if not_above > below:
        rank = (below + not_above - 1) / 2
    elif below == 0 or below > last:
        rank = 0.0 if below == 0 else float(last)
    else:
        low, high = quantiles[below - 1], quantiles[below]
        rank = below - 1 + (raw - low) / (high - low)
    return min(100, max(0, math.floor(100 * rank / last + 0.5)))


def conversion_likelihood(raw: float, calibration: Mapping[str, Any]) -> float:
    """The calibrated probability (Platt), four decimals, half rounded up."""
    if calibration["kind"] != "platt":
        raise ValueError(f"the demo model is calibrated by platt, not {calibration['kind']}")
    log_odds = calibration["a"] * logit(raw) + calibration["b"]
    return math.floor(10_000 / (1 + math.exp(-log_odds)) + 0.5) / 10_000


def logit(raw: float) -> float:
    """Log-odds of a probability kept within 1e-7 of 0 and 1."""
    kept = min(1 - 1e-7, max(1e-7, raw))
    return math.log(kept / (1 - kept))


def is_steady(raw: float, quantiles: Sequence[float], calibration: Mapping[str, Any], shift: float = 2e-6) -> bool:
    """Whether a shift of `raw` by as much as ONNX runtimes differ changes neither score nor likelihood."""
    around = [raw - shift, raw, raw + shift]
    scores = {percentile_score(value, quantiles) for value in around}
    likelihoods = {conversion_likelihood(value, calibration) for value in around}
    return len(scores) == 1 and len(likelihoods) == 1
