"""The row that occlusion compares a record with, for models that are neither trees nor linear."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]


def typical_row(features: Sequence[Mapping[str, Any]], rows: Vector) -> list[float]:
    """Each feature at its most usual: the median of a number or date, else the most frequent values of its columns."""
    row = np.zeros(rows.shape[1])
    for feature in features:
        extras = [feature[key] for key in ("other_column", "missing_column") if key in feature]
        columns = [*feature["columns"], *extras]
        if feature["type"] in ("number", "date"):
            values = rows[:, feature["columns"][0]]
            known = values[np.isfinite(values)]
            row[feature["columns"][0]] = np.median(known) if len(known) else 0.0
            continue
        block = rows[:, columns]
        usual = block[np.isfinite(block).all(axis=1)]
        if len(usual):
            kinds, counts = np.unique(usual, axis=0, return_counts=True)
            row[columns] = kinds[np.argmax(counts)]
    return [float(value) for value in row]
