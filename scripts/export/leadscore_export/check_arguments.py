"""Checks what an export is asked for, before anything takes time: the service would refuse the bundle."""

from __future__ import annotations

import math
import operator
import unicodedata
from collections.abc import Mapping
from typing import Any, get_args

from leadscore_export.calibration import CalibrationKind
from leadscore_export.export_error import ExportError
from leadscore_export.record_text import trimmed

# As in shared/bundle/manifest-schema.ts.
_LONGEST_NAME, _LONGEST_VERSION = 200, 64
_MOST_DAYS = 36_500
_FAMILIES = ("forward", "timing")


def check_arguments(*, name: Any, version: Any, family: Any, calibration: Any, recency: Any) -> None:
    """Raises ExportError for what a manifest cannot hold. The arguments are those of `export_bundle`."""
    check_text("name", name, _LONGEST_NAME)
    check_text("version", version, _LONGEST_VERSION)
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
    if days > _MOST_DAYS:
        raise ExportError(f"horizon_days is {days:,}; at most {_MOST_DAYS:,} are taken")
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
