"""Figures of out-of-fold scores: quantiles, lift, AUC, the best single column, and the ages of dates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from leadscore_export.errors import ExportError

Vector = npt.NDArray[np.float64]

TOP_SHARE = 0.2
RECENCY_PERCENTILE = 99
_MAX_ROWS = 5000  # for the AUC of every column


def quantiles_of(raw: Vector) -> list[float]:
    """The 101 percentiles, 0 to 100, of out-of-fold probabilities."""
    return [float(value) for value in np.quantile(raw, np.arange(101) / 100)]


def top_lift(raw: Vector, converted: Vector) -> float:
    """Conversion rate of the fifth of rows with the highest raw probability, over that of all rows.

    Rows that tie at the boundary count with equal shares, so that their order does not matter.
    """
    count = max(1, round(len(raw) * TOP_SHARE))
    lowest = np.sort(raw)[-count]
    above, equal = raw > lowest, raw == lowest
    conversions = converted[above].sum() + (count - above.sum()) * converted[equal].mean()
    return float(conversions / count / converted.mean())


def area_under_curve(raw: Vector, converted: Vector) -> float:
    """Area under the ROC curve: how often a converted row outranks another row, ties counting half."""
    _, inverse, counts = np.unique(raw, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2
    positives = converted.sum()
    negatives = len(converted) - positives
    return float((ranks[inverse] @ converted - positives * (positives + 1) / 2) / (positives * negatives))


def recency_of(field: str, features: Sequence[Mapping[str, Any]], rows: Vector) -> dict[str, Any]:
    """A manifest's `recency`: the 99th percentile of a date's age in training, in whole days."""
    feature = next((each for each in features if each["field"] == field and each["type"] == "date"), None)
    if feature is None:
        dates = [each["field"] for each in features if each["type"] == "date"]
        raise ExportError(
            f'recency: no Date feature reads "{field}" (there are: {", ".join(dates) or "none"}), so '
            f'its ages are unknown; give recency={{"field": ..., "max_age_days": ...}}'
        )
    ages = rows[:, feature["columns"][0]]
    known = np.isfinite(ages) & (ages != feature.get("impute", np.nan))
    if "missing_column" in feature:
        known &= rows[:, feature["missing_column"]] == 0
    if not known.any():
        raise ExportError(f'recency: no training row has a "{field}"; name another Date field')
    oldest = float(np.percentile(ages[known], RECENCY_PERCENTILE))
    return {"field": field, "max_age_days": max(1, int(np.ceil(oldest)))}


def best_column(rows: Vector, converted: Vector) -> tuple[int, float]:
    """The column that ranks best alone, in either direction, and its AUC. NaN may rank above or below all."""
    step = -(-len(rows) // _MAX_ROWS)
    some, outcomes = rows[::step], converted[::step]
    if outcomes.min() == outcomes.max():  # the order of the rows repeats at this step
        some, outcomes = rows, converted
    alone = [_best_auc(some[:, column], outcomes) for column in range(rows.shape[1])]
    best = int(np.argmax(alone))
    return best, alone[best]


def _best_auc(values: Vector, converted: Vector) -> float:
    found = []
    for extreme in (-np.inf, np.inf):
        auc = area_under_curve(np.where(np.isnan(values), extreme, values), converted)
        found.append(max(auc, 1 - auc))
    return max(found)
