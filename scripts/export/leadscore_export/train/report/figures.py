"""Figures of a report: sums over the held-out leads, and a few examples without ids."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from leadscore_export.comparison.reliability import Tenth, likelihoods_of, reliability_curve
from leadscore_export.featurizer.feature_types import columns_by_field
from leadscore_export.featurizer.featurizer import Featurizer
from leadscore_export.scores.score_bands import BAND_NAMES, band_indexes
from leadscore_export.scores.serving_figures import percentile_scores
from leadscore_export.scores.training_figures import area_under_curve

Vector = npt.NDArray[np.float64]

_EXPLAINED_ROWS = 500
_EXAMPLES, _REASONS = 10, 3
_GAIN_STEPS = 20
_MIN_CLASS = 5  # of each kind, for the AUC of a month
_SEED = 0


@dataclass(frozen=True)
class Band:
    """Leads of a score band, and the 95 % interval of their conversion rate by Wilson."""

    name: str
    leads: int
    converted: int
    low: float
    high: float


@dataclass(frozen=True)
class Month:
    """Held-out leads of a month. `auc` is None with fewer than five of a kind."""

    month: str
    leads: int
    rate: float
    auc: float | None


@dataclass(frozen=True)
class Example:
    """A held-out lead: its score and the strongest reasons, each a field with its share of the log-odds."""

    score: int
    likelihood: float
    converted: bool
    reasons: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Figures:
    """`gain`: The share of conversions among the best leads, by share of the leads in steps of 5 %."""

    gain: tuple[float, ...]
    bands: tuple[Band, ...]
    tenths: tuple[Tenth, ...]
    months: tuple[Month, ...]
    contributions: tuple[tuple[str, float], ...]
    examples: tuple[Example, ...]


def report_figures(
    model: Any,
    featurizer: Featurizer,
    rows: npt.NDArray[np.float32],
    converted: Vector,
    at_ms: Vector | None,
    manifest: Mapping[str, Any],
) -> Figures:
    """The figures of held-out rows. `manifest`: That of the bundle. `at_ms`: Their dates, None without."""
    raw = np.asarray(model.predict_proba(rows)[:, 1], dtype=np.float64)
    likelihoods = likelihoods_of(raw, manifest["calibration"])
    scores = percentile_scores(raw, manifest["quantiles"])
    return Figures(
        gain=_gain(raw, converted),
        bands=score_bands(scores, converted),
        tenths=reliability_curve("held out", likelihoods, converted).tenths,
        months=() if at_ms is None else _months(at_ms, raw, converted),
        contributions=_contributions(model, featurizer, rows),
        examples=_examples(model, featurizer, rows, converted, scores, likelihoods),
    )


def score_bands(scores: npt.NDArray[np.int_], converted: Vector) -> tuple[Band, ...]:
    """Leads by score band, the lowest first."""
    bands = band_indexes(scores)
    found = []
    for band, name in enumerate(BAND_NAMES):
        own = converted[bands == band]
        low, high = wilson(int(own.sum()), len(own))
        found.append(Band(name, len(own), int(own.sum()), low, high))
    return tuple(found)


def wilson(converted: int, leads: int) -> tuple[float, float]:
    """The 95 % interval of a rate (Wilson, 1927). From 0 to 1 without leads."""
    if leads == 0:
        return 0.0, 1.0
    z, rate = 1.96, converted / leads
    middle = (rate + z * z / (2 * leads)) / (1 + z * z / leads)
    half = z / (1 + z * z / leads) * math.sqrt(rate * (1 - rate) / leads + z * z / (4 * leads * leads))
    return max(0.0, middle - half), min(1.0, middle + half)


def _gain(raw: Vector, converted: Vector) -> tuple[float, ...]:
    # Leads of one probability share their conversions, so that their order does not matter.
    _, inverse, counts = np.unique(-raw, return_inverse=True, return_counts=True)
    rates = np.bincount(inverse, weights=converted) / counts
    found = np.concatenate([[0.0], np.cumsum(rates[np.sort(inverse)])]) / converted.sum()
    shares = np.linspace(0, len(raw), _GAIN_STEPS + 1)
    return tuple(np.interp(shares, np.arange(len(raw) + 1), found).tolist())


def _months(at_ms: Vector, raw: Vector, converted: Vector) -> tuple[Month, ...]:
    names = at_ms.astype("datetime64[ms]").astype("datetime64[M]").astype(str)
    found = []
    for name in np.unique(names):
        own = names == name
        won = int(converted[own].sum())
        is_enough = min(won, int(own.sum()) - won) >= _MIN_CLASS
        auc = area_under_curve(raw[own], converted[own]) if is_enough else None
        found.append(Month(str(name), int(own.sum()), float(converted[own].mean()), auc))
    return tuple(found)


def _by_field(model: Any, featurizer: Featurizer, rows: npt.NDArray[np.float32]) -> tuple[list[str], Vector]:
    """The fields, and the contribution of each to the log-odds of each row."""
    columns = np.asarray(model.booster_.predict(rows, pred_contrib=True))[:, :-1]
    fields = columns_by_field(featurizer.features)
    return list(fields), np.column_stack([columns[:, own].sum(axis=1) for own in fields.values()])


def _contributions(
    model: Any, featurizer: Featurizer, rows: npt.NDArray[np.float32]
) -> tuple[tuple[str, float], ...]:
    """The mean size of each field's contribution, the largest first."""
    drawn = np.random.default_rng(_SEED).permutation(len(rows))[:_EXPLAINED_ROWS]
    fields, shares = _by_field(model, featurizer, rows[drawn])
    means = np.abs(shares).mean(axis=0)
    order: Sequence[int] = np.argsort(-means, kind="stable").tolist()
    return tuple((fields[index], float(means[index])) for index in order)


def _examples(
    model: Any,
    featurizer: Featurizer,
    rows: npt.NDArray[np.float32],
    converted: Vector,
    scores: npt.NDArray[np.int_],
    likelihoods: Vector,
) -> tuple[Example, ...]:
    """Leads from the highest score to the lowest, at equal distances."""
    order = np.argsort(-scores, kind="stable")
    chosen = order[np.linspace(0, len(order) - 1, min(_EXAMPLES, len(order))).astype(int)]
    fields, shares = _by_field(model, featurizer, rows[chosen])
    found = []
    for index, own in zip(chosen.tolist(), shares, strict=True):
        strongest = np.argsort(-np.abs(own), kind="stable")[:_REASONS].tolist()
        reasons = tuple((fields[field], float(own[field])) for field in strongest if own[field] != 0)
        found.append(Example(int(scores[index]), float(likelihoods[index]), bool(converted[index]), reasons))
    return tuple(found)
