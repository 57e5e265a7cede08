"""Scores the rows of a holdout."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from leadscore_export.check_training import check_agreement, checked_training_data
from leadscore_export.converted_model import ConvertedModel
from leadscore_export.export_error import ExportError
from leadscore_export.featurizer import Featurizer

Vector = npt.NDArray[np.float64]


def held_out(model: ConvertedModel, featurizer: Featurizer, holdout: Any) -> tuple[Vector, Vector]:
    """The model's probabilities of rows that were not trained on, and 0 or 1 for each. Raises ExportError."""
    if not isinstance(holdout, tuple | list) or len(holdout) != 2:
        raise ExportError("holdout is a pair, (X, y): rows that were not trained on, and their outcomes")
    try:
        X, y = holdout
        rows, converted = checked_training_data(X, y, featurizer)
        return check_agreement(model, rows), converted
    except ExportError as problem:
        raise ExportError(f"in holdout=(X, y): {problem}") from problem
