"""Fits a bundle's calibration, from raw probability to likelihood, to out-of-fold scores.

The size of the smaller class, converted or not, determines the kind.

`identity`: Below 50, because even two numbers would be guesswork.
`platt`: Below 1000. It has two numbers, and is always smooth and monotone.
`isotonic`: From 1000 on. It can be any monotone curve, which follows noise on less data.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from leadscore_export.errors import ExportError
from leadscore_export.scores.serving_figures import logit

CalibrationKind = Literal["identity", "platt", "isotonic"]
Vector = npt.NDArray[np.float64]

PLATT_FROM = 50
ISOTONIC_FROM = 1000


def chosen_calibration(converted: Vector) -> tuple[CalibrationKind, str]:
    """The kind that suits the number of rows, and the reason. `converted`: 0 or 1 for each row."""
    smaller = int(min(converted.sum(), (1 - converted).sum()))
    if smaller < PLATT_FROM:
        return "identity", f"the smaller class has {smaller} rows, fewer than {PLATT_FROM}"
    if smaller < ISOTONIC_FROM:
        return "platt", f"the smaller class has {smaller} rows, {PLATT_FROM} to {ISOTONIC_FROM - 1}"
    return "isotonic", f"the smaller class has {smaller} rows, {ISOTONIC_FROM} or more"


def fitted_calibration(kind: CalibrationKind, raw: Vector, converted: Vector) -> dict[str, Any]:
    """A manifest's `calibration`, fitted to out-of-fold probabilities and outcomes."""
    if kind == "identity":
        return {"kind": "identity"}
    if kind == "isotonic":
        return _isotonic(raw, converted)
    a, b = platt_scaling(raw, converted)
    if a <= 0:
        raise ExportError(
            f"the out-of-fold scores rank in reverse order (platt's a is {a:.3g}); check that y is 1 "
            "for converted, and that oof_raw has the order of y"
        )
    return {"kind": "platt", "a": a, "b": b}


def platt_scaling(raw: Vector, converted: Vector) -> tuple[float, float]:
    """a and b of likelihood = logistic(a * logit(raw) + b), by Newton's method on Platt's smoothed targets.

    Source: Platt, Probabilistic Outputs for Support Vector Machines (1999).
    """
    positives = float(converted.sum())
    negatives = len(converted) - positives
    targets = np.where(converted == 1, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    design = np.column_stack([[logit(float(value)) for value in raw], np.ones(len(raw))])
    weights = np.array([1.0, 0.0])
    loss = _log_loss(design @ weights, targets)
    for _ in range(100):
        likelihoods = 1 / (1 + np.exp(-(design @ weights)))
        gradient = design.T @ (likelihoods - targets)
        curvature = design.T @ (design * (likelihoods * (1 - likelihoods))[:, None]) + 1e-9 * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        while (stepped := _log_loss(design @ (weights - step), targets)) > loss and np.abs(
            step
        ).max() > 1e-12:
            step /= 2
        weights, loss = weights - step, stepped
        if np.abs(step).max() < 1e-10:
            break
    return float(weights[0]), float(weights[1])


def _log_loss(margins: Vector, targets: Vector) -> float:
    return float(np.sum(np.logaddexp(0, margins) - targets * margins))


def _isotonic(raw: Vector, converted: Vector) -> dict[str, Any]:
    """Pool adjacent violators. Each pool is flat, and the curve is linear between the pools.

    A lowest pool without conversions would promise 0, and a highest pool of conversions only would promise 1.
    Each gets half a row of the other kind.
    """
    pools = _pools(raw, converted)
    rates = [positives / count for positives, count, _, _ in pools]
    if rates[0] == 0:
        rates[0] = min(0.5 / (pools[0][1] + 1), *rates[1:2])
    if rates[-1] == 1:
        rates[-1] = max(1 - 0.5 / (pools[-1][1] + 1), *rates[-2:-1])
    x: list[float] = []
    y: list[float] = []
    for (_, _, lowest, highest), rate in zip(pools, rates, strict=True):
        for edge in sorted({lowest, highest}):
            x.append(edge)
            y.append(rate)
    if len(x) < 2:
        raise ExportError(
            "the out-of-fold scores are all the same, so the model cannot rank leads; train it on features "
            "that differ between leads"
        )
    return {"kind": "isotonic", "x": x, "y": y}


def _pools(raw: Vector, converted: Vector) -> list[list[float]]:
    """Conversions, rows, and the lowest and highest score of each pool, by ascending rate."""
    scores, inverse = np.unique(raw, return_inverse=True)
    positives = np.bincount(inverse, weights=converted)
    counts = np.bincount(inverse)
    pools: list[list[float]] = []
    for score, positive, count in zip(scores.tolist(), positives.tolist(), counts.tolist(), strict=True):
        pools.append([positive, count, score, score])
        while len(pools) > 1 and pools[-2][0] * pools[-1][1] >= pools[-1][0] * pools[-2][1]:
            last = pools.pop()
            pools[-1] = [pools[-1][0] + last[0], pools[-1][1] + last[1], pools[-1][2], last[3]]
    return pools
