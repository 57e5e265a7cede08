"""Finds features that read nothing: their field is misspelt, or their categories are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from leadscore_export.export_error import ExportError
from leadscore_export.featurizer import Featurizer

Vector = npt.NDArray[np.float64]


def check_fields(featurizer: Featurizer, rows: Vector) -> None:
    """Refuses features that have no value in any row of X, all of them named."""
    names = [f'"{feature["field"]}"' for feature in featurizer.features if _is_never_read(feature, rows)]
    if names:
        raise ExportError(
            f"no row of X has a value of {', '.join(dict.fromkeys(names))}: is it spelt as in the records "
            "(aliases= takes further names), and its categories as their values? If it is, nothing was learnt from it: "
            "leave it out"
        )


def constant_notes(featurizer: Featurizer, rows: Vector) -> list[str]:
    """What is most likely a mistake, and may be none: one value in every row, or no category ever seen."""
    return [text for feature in featurizer.features if (text := _constant_note(feature, rows)) is not None]


def _is_never_read(feature: Mapping[str, Any], rows: Vector) -> bool:
    if "missing_column" in feature:
        return bool((rows[:, feature["missing_column"]] == 1).all())
    if _has_many(feature):
        extras = [feature["other_column"]] if "other_column" in feature else []
        return not rows[:, [*feature["columns"], *extras]].any()
    return bool(np.isnan(rows[:, feature["columns"][0]]).all())


def _constant_note(feature: Mapping[str, Any], rows: Vector) -> str | None:
    field, values = feature["field"], rows[:, feature["columns"]]
    if _has_many(feature):
        return None if values.any() else f'no row of X has one of the categories of "{field}": are they spelt so?'
    if "impute" not in feature or not np.allclose(values, feature["impute"], rtol=1e-6):
        return None
    return (
        f'"{field}" is {feature["impute"]:g}, as when it is missing, in every row of X: is it spelt so in the records?'
    )


def _has_many(feature: Mapping[str, Any]) -> bool:
    return feature["type"] == "multi" or feature.get("encoding") == "onehot"
