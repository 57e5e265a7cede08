"""Checks arguments and features against the limits of a manifest, before the slow steps of an export."""

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

# The service's limits, from shared/bundle/manifest-schema.ts: characters, days and columns.
_MAX_NAME, _MAX_VERSION = 200, 64
_MAX_DAYS = 36_500
_FAMILIES = ("forward", "timing")
_MAX_COLUMNS = 10_000
_MAX_FIELD, _MAX_CATEGORY, _MAX_SEPARATOR, _MAX_UNIT = 255, 1000, 16, 64
_NUMBERS = ("impute", "other_value")


def check_arguments(*, name: Any, version: Any, family: Any, calibration: Any, recency: Any) -> None:
    """Raises ExportError for arguments of `export_bundle` that a manifest cannot hold."""
    check_text("name", name, _MAX_NAME)
    check_text("version", version, _MAX_VERSION)
    if version != trimmed(version):
        raise ExportError(f"version is {version!r}; remove the spaces at its ends")
    if family not in _FAMILIES:
        raise ExportError(f"family is {family!r}; it must be one of {_listed(_FAMILIES)}")
    kinds = ("auto", *get_args(CalibrationKind))
    if calibration not in kinds:
        meant = ' ("sigmoid" is called "platt" here)' if calibration == "sigmoid" else ""
        raise ExportError(f"calibration is {calibration!r}; it must be one of {_listed(kinds)}{meant}")
    if isinstance(recency, Mapping):
        _check_recency(recency)
    elif not (recency is None or isinstance(recency, str)):
        raise ExportError(f'recency is {recency!r}; give the name of a Date field, or {{"field": ...}}')


def whole_days(horizon_days: Any) -> int:
    """`horizon_days` as an int. Raises ExportError unless it is a whole number from 1 to 36,500."""
    try:
        days = operator.index(horizon_days)
    except TypeError:
        days = 0
    if isinstance(horizon_days, bool) or days < 1:
        raise ExportError(f"horizon_days is {horizon_days!r}; it must be a whole number of days, 1 or more")
    if days > _MAX_DAYS:
        raise ExportError(f"horizon_days is {days:,}; the maximum is {_MAX_DAYS:,}")
    return days


def check_text(what: str, value: Any, max_length: int) -> None:
    """Raises ExportError unless `value` is a displayable text of at most `max_length` characters."""
    if not isinstance(value, str):
        raise ExportError(f"{what} is {value!r}; write it as a text: {str(value)!r}")
    if not trimmed(value):
        raise ExportError(f"{what} is blank; give it a text")
    if len(value) > max_length:
        raise ExportError(f"{what} has {len(value):,} characters; the maximum is {max_length}")
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in value):
        raise ExportError(f"{what} is {value!r}; remove line breaks, tabs and other control characters")


def _check_recency(recency: Mapping[str, Any]) -> None:
    known = ("field", "max_age_days", "future_tolerance_days")
    if unknown := [key for key in recency if key not in known]:
        raise ExportError(f"recency has the unknown key {unknown[0]!r}; the keys are {_listed(known)}")
    check_text("recency's field", recency.get("field"), 255)
    _check_days("max_age_days", recency.get("max_age_days"), may_be_0=False)
    if "future_tolerance_days" in recency:
        _check_days("future_tolerance_days", recency["future_tolerance_days"], may_be_0=True)


def _check_days(key: str, value: Any, *, may_be_0: bool) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not is_number or value < 0 or (value == 0 and not may_be_0):
        minimum = "0 or more" if may_be_0 else "above 0"
        raise ExportError(f"recency's {key} is {value!r}; it must be a number of days, {minimum}")


def _listed(texts: tuple[str, ...]) -> str:
    return ", ".join(f'"{text}"' for text in texts)


def check_features(featurizer: Featurizer) -> None:
    """Raises ExportError for features that the service would refuse."""
    if not featurizer.features:
        raise ExportError("there are no features; give at least one")
    if featurizer.width > _MAX_COLUMNS:
        widest = max(featurizer.features, key=lambda feature: len(feature["columns"]))
        raise ExportError(
            f"the features fill {featurizer.width:,} columns, more than the limit of {_MAX_COLUMNS:,}; "
            f'keep fewer categories ("{widest["field"]}" has {len(widest["columns"]):,}), or use '
            'encoding="ordinal"'
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
        _check_length(f"{name}: an alias", alias, _MAX_FIELD, min_length=1)
    for category in feature.get("categories", ()):
        _check_length(f"{name}: a category", category, _MAX_CATEGORY)
    if "separator" in feature:
        _check_length(f"{name}: separator", feature["separator"], _MAX_SEPARATOR, min_length=1)
    if "unit" in feature:
        _check_length(f"{name}: unit", feature["unit"], _MAX_UNIT)
    if feature.get("date_order", "dmy") not in ("dmy", "mdy"):
        raise ExportError(f'{name}: date_order is {feature["date_order"]!r}; it must be "dmy" or "mdy"')
    if feature.get("encoding", "onehot") not in ("onehot", "ordinal"):
        raise ExportError(f'{name}: encoding is {feature["encoding"]!r}; it must be "onehot" or "ordinal"')
    for key in _NUMBERS:
        if key in feature and not abs(feature[key]) <= FLOAT32_MAX:
            raise ExportError(
                f"{name}: {key} is {feature[key]}; leave it out for NaN, or give a number within float32"
            )


def _check_length(what: str, value: Any, max_length: int, *, min_length: int = 0) -> None:
    if not isinstance(value, str):
        raise ExportError(f"{what} is {value!r}; write it as a text: {str(value)!r}")
    if not min_length <= len(value) <= max_length:
        raise ExportError(f"{what} has {len(value):,} characters; {min_length} to {max_length} are allowed")
