"""Reliability curves: the mean likelihood and the share that converted, by tenth of some rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from leadscore_export.scores.serving_figures import calibrated

Vector = npt.NDArray[np.float64]

_TENTHS = 10


@dataclass(frozen=True)
class Tenth:
    """`likelihood`: The mean of its rows. `converted`: The share of them that converted."""

    rows: int
    likelihood: float
    converted: float


@dataclass(frozen=True)
class ReliabilityCurve:
    """Tenths of the rows, by ascending likelihood. Fewer than ten rows have fewer tenths."""

    name: str
    tenths: tuple[Tenth, ...]


def likelihoods_of(raw: Vector, calibration: Mapping[str, Any]) -> Vector:
    """The calibrated probability of each raw one, unrounded. `calibration`: As in a manifest."""
    if calibration["kind"] == "isotonic":  # by value, NumPy would convert the lists of the curve each time
        return np.asarray(np.interp(raw, calibration["x"], calibration["y"]), dtype=np.float64)
    known, inverse = np.unique(raw, return_inverse=True)
    likelihoods: Vector = np.array([calibrated(value, calibration) for value in known.tolist()])[inverse]
    return likelihoods


def reliability_curve(name: str, likelihoods: Vector, converted: Vector) -> ReliabilityCurve:
    """The curve of some rows. `converted`: 0 or 1 for each."""
    # Rows of one likelihood may lie in two tenths, so each counts with the rate of them all.
    _, inverse, counts = np.unique(likelihoods, return_inverse=True, return_counts=True)
    rates = (np.bincount(inverse, weights=converted) / counts)[inverse]
    order = np.argsort(likelihoods, kind="stable")
    parts = [part for part in np.array_split(order, _TENTHS) if len(part)]
    return ReliabilityCurve(
        name,
        tuple(Tenth(len(part), float(likelihoods[part].mean()), float(rates[part].mean())) for part in parts),
    )


def reliability_lines(curves: Sequence[ReliabilityCurve]) -> list[str]:
    """A table as text: a line for each tenth, and for each curve its likelihood and its rate."""
    if not curves:
        return []
    count = max(len(curve.tenths) for curve in curves)
    lines = ["  likelihood and share converted, by tenth of the rows"]
    lines.append("".join(["    tenth ", *(f"{curve.name:>18}" for curve in curves)]))
    for index in range(count):
        cells = [
            f"{curve.tenths[index].likelihood:>10.1%}{curve.tenths[index].converted:>8.1%}"
            if index < len(curve.tenths)
            else " " * 18
            for curve in curves
        ]
        lines.append("".join([f"    {index + 1:>5} ", *cells]))
    return lines
