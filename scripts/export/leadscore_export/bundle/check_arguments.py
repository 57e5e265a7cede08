"""Checks what an export is asked for, before anything takes time: the service would refuse the bundle."""

from __future__ import annotations

import math
import operator
import unicodedata
from collections.abc import Mapping
from typing import Any, get_args

from leadscore_export.errors import ExportError
from leadscore_export.featurizer.feature_reader import FLOAT32_MAX
from leadscore_export.featurizer.featurizer import Featurizer
from leadscore_export.featurizer.record_values import trimmed
from leadscore_export.scores.calibration import CalibrationKind

# As in shared/bundle/manifest-schema.ts.
_MAX_NAME, _MAX_VERSION = 200, 64
_MAX_DAYS = 36_500
_FAMILIES = ("forward", "timing")


def check_arguments(*, name: Any, version: Any, family: Any, calibration: Any, recency: Any) -> None:
    """Raises ExportError for what a manifest cannot hold. The arguments are those of `export_bundle`."""
    check_text("name", name, _MAX_NAME)
    check_text("version", version, _MAX_VERSION)
    if version != trimmed(version):
        raise ExportError(f"version is {version!r}: take away the spaces at its ends")
    if family not in _FAMILIES:
        raise ExportError(f"family is {family!r}; it is one of {_listed(_FAMILIES)}")
    kinds = ("auto", *get_args(CalibrationKind))
    if calibration not in kinds:
        meant = ' ("sigmoid" is called "platt" here)' if calibration == "sigmoid" else ""
        raise ExportError(f"calibration is {calibration!r}; it is one of {_listed(kinds)}{meant}")
    if isinstance(recency, Mapping):
        _check_recency(recency)


def whole_days(horizon_days: Any) -> int:
    """`horizon_days` as a whole number. Raises ExportError when it is none, less than 1, or more than a century."""
    try:
        days = operator.index(horizon_days)
    except TypeError:
        days = 0
    if isinstance(horizon_days, bool) or days < 1:
        raise ExportError(f"horizon_days is {horizon_days!r}; it is a whole number of days, 1 or more")
    if days > _MAX_DAYS:
        raise ExportError(f"horizon_days is {days:,}; at most {_MAX_DAYS:,} are taken")
    return days


def check_text(what: str, value: Any, longest: int) -> None:
    """Raises ExportError when `value` is no text that people can be shown, or has more than `longest` characters."""
    if not isinstance(value, str):
        raise ExportError(f"{what} is {value!r}; write it as a text: {str(value)!r}")
    if not trimmed(value):
        raise ExportError(f"{what} is blank; give it a text")
    if len(value) > longest:
        raise ExportError(f"{what} has {len(value):,} characters; at most {longest} are taken")
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in value):
        raise ExportError(f"{what} is {value!r}: take away line breaks, tabs and other control characters")


def _check_recency(recency: Mapping[str, Any]) -> None:
    known = ("field", "max_age_days", "future_tolerance_days")
    if unknown := [key for key in recency if key not in known]:
        raise ExportError(f"recency has the unknown key {unknown[0]!r}; it takes {_listed(known)}")
    check_text("recency's field", recency.get("field"), 255)
    _check_days("max_age_days", recency.get("max_age_days"), may_be_0=False)
    if "future_tolerance_days" in recency:
        _check_days("future_tolerance_days", recency["future_tolerance_days"], may_be_0=True)


def _check_days(key: str, value: Any, *, may_be_0: bool) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not is_number or value < 0 or (value == 0 and not may_be_0):
        least = "0 or more" if may_be_0 else "above 0"
        raise ExportError(f"recency's {key} is {value!r}; it is a number of days, {least}")


def _listed(texts: tuple[str, ...]) -> str:
    return ", ".join(f'"{text}"' for text in texts)


_MAX_COLUMNS = 10_000
_MAX_FIELD, _MAX_CATEGORY, _MAX_SEPARATOR, _MAX_UNIT = 255, 1000, 16, 64
_NUMBERS = ("impute", "other_value")


def check_features(featurizer: Featurizer) -> None:
    """Raises ExportError for features that the service would refuse."""
    if not featurizer.features:
        raise ExportError("there are no features; give at least one")
    if featurizer.width > _MAX_COLUMNS:
        widest = max(featurizer.features, key=lambda feature: len(feature["columns"]))
        raise ExportError(
            f"the features fill {featurizer.width:,} columns, and a bundle's may fill {_MAX_COLUMNS:,}; keep fewer "
            f'categories ("{widest["field"]}" has {len(widest["columns"]):,}), or use encoding="ordinal"'
        )
    for feature in featurizer.features:
        _check_feature(feature)
    for token in featurizer.missing_tokens:
        _check_length("a missing_token", token, _MAX_CATEGORY)


def _check_feature(feature: Mapping[str, Any]) -> None:
    check_text("the field of a feature", feature["field"], _MAX_FIELD)
    name = feature["field"]
    check_text(f"{name}: label", feature["label"], _MAX_FIELD)
    for alias in feature.get("aliases", ()):
        _check_length(f"{name}: an alias", alias, _MAX_FIELD, shortest=1)
    for category in feature.get("categories", ()):
        _check_length(f"{name}: a category", category, _MAX_CATEGORY)
    if "separator" in feature:
        _check_length(f"{name}: separator", feature["separator"], _MAX_SEPARATOR, shortest=1)
    if "unit" in feature:
        _check_length(f"{name}: unit", feature["unit"], _MAX_UNIT)
    if feature.get("date_order", "dmy") not in ("dmy", "mdy"):
        raise ExportError(f'{name}: date_order is {feature["date_order"]!r}; it is "dmy" or "mdy"')
    if feature.get("encoding", "onehot") not in ("onehot", "ordinal"):
        raise ExportError(f'{name}: encoding is {feature["encoding"]!r}; it is "onehot" or "ordinal"')
    for key in _NUMBERS:
        if key in feature and not abs(feature[key]) <= FLOAT32_MAX:
            raise ExportError(
                f"{name}: {key} is {feature[key]}; leave it out for NaN, or give a number of float32"
            )


def _check_length(what: str, value: Any, longest: int, *, shortest: int = 0) -> None:
    if not isinstance(value, str):
        raise ExportError(f"{what} is {value!r}; write it as a text: {str(value)!r}")
    if not shortest <= len(value) <= longest:
        raise ExportError(f"{what} has {len(value):,} characters; {shortest} to {longest} are taken")
