"""Finds the column that says most by itself: where a model is too good, that is the one to ask about."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from leadscore_export.training_figures import area_under_curve

Vector = npt.NDArray[np.float64]

_MOST_ROWS = 5000


def best_column(rows: Vector, converted: Vector) -> tuple[int, float]:
    """The column that ranks best by itself, upwards or downwards, and its AUC. NaN may rank above or below all."""
    step = -(-len(rows) // _MOST_ROWS)
    some, outcomes = rows[::step], converted[::step]
    if outcomes.min() == outcomes.max():  # rows in an order that this step goes along with
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
