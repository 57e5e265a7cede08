"""Checks features against the limits of a manifest (shared/bundle/manifest-schema.ts)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leadscore_export.check_arguments import check_text
from leadscore_export.export_error import ExportError
from leadscore_export.feature_reader import FLOAT32_MAX
from leadscore_export.featurizer import Featurizer

_MOST_COLUMNS = 10_000
_LONGEST_FIELD, _LONGEST_CATEGORY, _LONGEST_SEPARATOR, _LONGEST_UNIT = 255, 1000, 16, 64
_NUMBERS = ("impute", "other_value")


def check_features(featurizer: Featurizer) -> None:
    """Raises ExportError for features that the service would refuse."""
    if not featurizer.features:
        raise ExportError("there are no features; give at least one")
    if featurizer.width > _MOST_COLUMNS:
        widest = max(featurizer.features, key=lambda feature: len(feature["columns"]))
        raise ExportError(
            f"the features fill {featurizer.width:,} columns, and a bundle's may fill {_MOST_COLUMNS:,}; keep fewer "
            f'categories ("{widest["field"]}" has {len(widest["columns"]):,}), or use encoding="ordinal"'
        )
    for feature in featurizer.features:
        _check_feature(feature)
    for token in featurizer.missing_tokens:
        _check_length("a missing_token", token, _LONGEST_CATEGORY)


def _check_feature(feature: Mapping[str, Any]) -> None:
    check_text("the field of a feature", feature["field"], _LONGEST_FIELD)
    name = feature["field"]
    check_text(f"{name}: label", feature["label"], _LONGEST_FIELD)
    for alias in feature.get("aliases", ()):
        _check_length(f"{name}: an alias", alias, _LONGEST_FIELD, shortest=1)
    for category in feature.get("categories", ()):
        _check_length(f"{name}: a category", category, _LONGEST_CATEGORY)
    if "separator" in feature:
        _check_length(f"{name}: separator", feature["separator"], _LONGEST_SEPARATOR, shortest=1)
    if "unit" in feature:
        _check_length(f"{name}: unit", feature["unit"], _LONGEST_UNIT)
    if feature.get("date_order", "dmy") not in ("dmy", "mdy"):
        raise ExportError(f'{name}: date_order is {feature["date_order"]!r}; it is "dmy" or "mdy"')
    if feature.get("encoding", "onehot") not in ("onehot", "ordinal"):
        raise ExportError(f'{name}: encoding is {feature["encoding"]!r}; it is "onehot" or "ordinal"')
    for key in _NUMBERS:
        if key in feature and not abs(feature[key]) <= FLOAT32_MAX:
            raise ExportError(f"{name}: {key} is {feature[key]}; leave it out for NaN, or give a number of float32")


def _check_length(what: str, value: Any, longest: int, *, shortest: int = 0) -> None:
    if not isinstance(value, str):
        raise ExportError(f"{what} is {value!r}; write it as a text: {str(value)!r}")
    if not shortest <= len(value) <= longest:
        raise ExportError(f"{what} has {len(value):,} characters; {shortest} to {longest} are taken")
