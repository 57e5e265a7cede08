"""Finds features that read nothing from X, or that can be NaN at scoring but never were in training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from leadscore_export.convert.converted_model import ConvertedModel
from leadscore_export.convert.tree_model import Split, TreeModel, nodes_of
from leadscore_export.errors import ExportError
from leadscore_export.featurizer.featurizer import Featurizer
from leadscore_export.featurizer.record_values import folded_name

Vector = npt.NDArray[np.float64]


def check_fields(featurizer: Featurizer, rows: Vector) -> None:
    """Raises ExportError that names all features without a value in any row of X."""
    names = [f'"{feature["field"]}"' for feature in featurizer.features if _is_never_read(feature, rows)]
    if names:
        raise ExportError(
            f"no row of X has a value of {', '.join(dict.fromkeys(names))}. Check the spelling of the "
            "field (aliases= adds names) and of its categories. If both are right, leave the feature "
            "out: the model has learnt nothing from it"
        )


def constant_notes(featurizer: Featurizer, rows: Vector) -> list[str]:
    """Notes on likely mistakes: one value in every row, or no category ever seen."""
    return [text for feature in featurizer.features if (text := _constant_note(feature, rows)) is not None]


def same_name_notes(featurizer: Featurizer) -> list[str]:
    """Notes on different fields that a caller's field name may match alike."""
    fields: dict[str, list[str]] = {}
    for field in dict.fromkeys(feature["field"] for feature in featurizer.features):
        fields.setdefault(folded_name(field), []).append(f'"{field}"')
    return [
        f"the fields {' and '.join(alike)} differ only in case, spaces, _, - or invisible characters. A name "
        "in another spelling fills all of them. Keep one if they mean the same, else rename one in the CRM"
        for alike in fields.values()
        if len(alike) > 1
    ]


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
            else f'no row of X has one of the categories of "{field}": check their spelling'
        )
    if "impute" not in feature or not np.allclose(values, feature["impute"], rtol=1e-6):
        return None
    return (
        f'"{field}" is {feature["impute"]:g}, as when it is missing, in every row of X: check its spelling '
        "against the records"
    )


def _has_many(feature: Mapping[str, Any]) -> bool:
    return feature["type"] == "multi" or feature.get("encoding") == "onehot"


def check_missing_values(model: ConvertedModel, featurizer: Featurizer, rows: Vector) -> None:
    """Raises ExportError that names all features that can be NaN at scoring, but never are in X.

    A model that saw no NaN in training answers one arbitrarily.
    """
    sets = category_columns(model.trees) if model.trees else set()
    tested = tested_columns(model.trees) if model.trees else set(range(featurizer.width))
    unseen = []
    for feature in featurizer.features:
        column = feature["columns"][0]
        if not _can_be_nan(feature) or column in sets or np.isnan(rows[:, column]).any():
            continue
        if feature["type"] == "category" and column not in tested:
            continue
        unseen.append(_unseen_missing_text(feature, rows[:, column]))
    if unseen:
        raise ExportError("; ".join(unseen))
    if not np.isfinite(model.raw([featurizer.missing_row()])).all():
        raise ExportError(
            "a record without any value scores as NaN; give the features an impute, and train on their rows"
        )


def check_whole_categories(model: ConvertedModel, featurizer: Featurizer, rows: Vector) -> None:
    """Raises ExportError for fractions in a column that the trees test for membership in sets."""
    for column in sorted(category_columns(model.trees) if model.trees else ()):
        values = rows[:, column][np.isfinite(rows[:, column])]
        fractions = values[values != np.floor(values)]
        if len(fractions):
            raise ExportError(
                f'"{featurizer.column_names[column]}" holds {fractions[0]:g} in X, but the trees take it for '
                "a category, a whole number: the impute of a category must be whole, such as the index of "
                f"the commonest one (impute={np.median(values):.0f})"
            )


def tested_columns(trees: TreeModel) -> set[int]:
    """Columns that some split tests."""
    return {node.column for tree in trees.trees for node in nodes_of(tree) if isinstance(node, Split)}


def category_columns(trees: TreeModel) -> set[int]:
    """Columns that trees only test for membership in a set. NaN is a member of none, by design."""
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
            f'"{name}" is NaN at scoring if it is missing or none of the categories, but never in X; '
            f"give it other_value=-1 and impute={np.median(values):.0f}, or an OrdinalEncoder "
            "unknown_value=-1"
        )
    return (
        f'"{name}" is NaN at scoring if it is missing, but never in X, so the model has not learnt from '
        f"NaN; give it impute={np.median(values):.6g} (its median; no row of X changes)"
    )
