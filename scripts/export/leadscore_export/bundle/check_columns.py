"""Finds features that read nothing: their field is misspelt, or their categories are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from leadscore_export.convert.converted_model import ConvertedModel
from leadscore_export.convert.tree_model import Split, TreeModel, nodes_of
from leadscore_export.errors import ExportError
from leadscore_export.featurizer.featurizer import Featurizer

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
        return (
            None
            if values.any()
            else f'no row of X has one of the categories of "{field}": are they spelt so?'
        )
    if "impute" not in feature or not np.allclose(values, feature["impute"], rtol=1e-6):
        return None
    return f'"{field}" is {feature["impute"]:g}, as when it is missing, in every row of X: is it spelt so in the records?'


def _has_many(feature: Mapping[str, Any]) -> bool:
    return feature["type"] == "multi" or feature.get("encoding") == "onehot"


def check_missing_values(model: ConvertedModel, featurizer: Featurizer, rows: Vector) -> None:
    """A column that can hold NaN at scoring must have held some in training, else the answer to NaN is an accident.

    Raises ExportError that names all features for which that is not so.
    """
    sets = category_columns(model.trees) if model.trees else set()
    unseen = []
    for feature in featurizer.features:
        column = feature["columns"][0]
        if not _can_be_nan(feature) or column in sets or np.isnan(rows[:, column]).any():
            continue
        unseen.append(_unseen_missing_text(feature, rows[:, column]))
    if unseen:
        raise ExportError("; ".join(unseen))
    if not np.isfinite(model.raw([featurizer.missing_row()])).all():
        raise ExportError(
            "a record of which every value is missing gives NaN; give the features an impute, and train on their rows"
        )


def category_columns(trees: TreeModel) -> set[int]:
    """Columns that the trees only ask for membership in a set: there NaN is, by design, none of the set."""
    splits = [node for tree in trees.trees for node in nodes_of(tree) if isinstance(node, Split)]
    numeric = {split.column for split in splits if split.test != "in"}
    return {split.column for split in splits} - numeric


def _can_be_nan(feature: Mapping[str, Any]) -> bool:
    if feature["type"] == "multi" or feature.get("encoding") == "onehot":
        return False
    can_be_missing = "impute" not in feature and not feature.get("required")
    return can_be_missing or (feature["type"] == "category" and "other_value" not in feature)


def _unseen_missing_text(feature: Mapping[str, Any], values: Vector) -> str:
    name = feature["field"]
    if feature["type"] == "category":
        return (
            f'"{name}" is NaN at scoring when it is missing or none of the categories, but never is in X; give it '
            f"other_value=-1 and impute={np.median(values):.0f}"
        )
    return (
        f'"{name}" is NaN at scoring when it is missing, but never is in X, so the model has learnt nothing about '
        f"that; give it impute={np.median(values):.6g} (its median; no row of X changes by that)"
    )
