"""Reads dates: ISO 8601, numbers by their size, and slashes if their order is known."""

from __future__ import annotations

import math
import re
from datetime import datetime, timezone

MS_PER_DAY = 86_400_000
_ISO_DATE = r"(\d{4})(-?)(\d{2})\2(\d{2})"
_ISO_TIME = r"(\d{2})(?::?(\d{2})(?::?(\d{2})(?:[.,](\d+))?)?)?"
_ISO_ZONE = r"z|[+-]\d{2}(?::?\d{2})?"
_ISO = re.compile(f"{_ISO_DATE}(?:[t ]{_ISO_TIME} ?({_ISO_ZONE})?)?", re.ASCII)
_SLASHED = re.compile(
    r"(\d{1,2})/(\d{1,2})/(\d{4})(?:,? (\d{1,2}):(\d{2})(?::(\d{2}))?(?: ?([ap])m)?)?", re.ASCII
)
DATE_NUMBER = re.compile(r"[+-]?\d{1,17}(?:\.\d+)?", re.ASCII)
_MAX_DATE = 64
_SERIAL_OF_1970 = 25_569  # days in Excel's 1900 system
_FIRST_SERIAL = 18_264  # 1950-01-01
_AFTER_LAST_SERIAL = 73_416  # 2101-01-01
_LEAST_UNIX_TIME = 1e8
_EARLIEST_MS = datetime(1900, 1, 1, tzinfo=timezone.utc).timestamp() * 1000
_AFTER_LATEST_MS = datetime(2101, 1, 1, tzinfo=timezone.utc).timestamp() * 1000


def read_date_text(text: str, date_order: str | None) -> float | None:
    """Unix ms of a folded text, None if it is no date from 1900 to 2100. `date_order`: "dmy" or "mdy"."""
    if len(text) > _MAX_DATE:
        return None
    if iso := _ISO.fullmatch(text):
        return _iso_ms(iso)
    if DATE_NUMBER.fullmatch(text):
        return read_date_number(float(text))
    slashed = _SLASHED.fullmatch(text) if date_order else None
    return _slashed_ms(slashed, is_day_first=date_order == "dmy") if slashed else None


def read_date_number(value: float) -> float | None:
    """Unix ms of a date written as a number, by its size; None for any other number.

    18264 to 73415 are a spreadsheet's days, 1950 to 2100. Eight digits are year, month and day. From 1e8 on
    it is Unix time: seconds below 1e11, milliseconds below 1e14, else microseconds.
    """
    size = abs(value)
    if size < _LEAST_UNIX_TIME:
        is_serial = _FIRST_SERIAL <= value < _AFTER_LAST_SERIAL
        return (value - _SERIAL_OF_1970) * MS_PER_DAY if is_serial else _compact_day_ms(value)
    return _within_years(value * 1000 if size < 1e11 else value if size < 1e14 else value / 1000)


def _compact_day_ms(value: float) -> float | None:
    """The day that a number of eight digits names (20261120)."""
    if value < 19_000_101 or value != int(value):
        return None
    year, day_of_year = divmod(int(value), 10_000)
    return _within_years(_calendar_day_ms(year, *divmod(day_of_year, 100)))


def _iso_ms(found: re.Match[str]) -> float | None:
    year, _, month, day, hour, minute, second, fraction, zone = found.groups()
    day_ms = _calendar_day_ms(int(year), int(month), int(day))
    if hour is None:
        return _within_years(day_ms)
    time = _time_ms(int(hour), int(minute or 0), int(second or 0))
    return _within_years(day_ms + time + float(f"0.{fraction or 0}") * 1000 - _zone_ms(zone))


def _slashed_ms(found: re.Match[str], *, is_day_first: bool) -> float | None:
    first, second, year, hour, minute, seconds, half = found.groups()
    day, month = (first, second) if is_day_first else (second, first)
    day_ms = _calendar_day_ms(int(year), int(month), int(day))
    if hour is None:
        return _within_years(day_ms)
    if half is not None and not 1 <= int(hour) <= 12:
        return None
    hours = int(hour) if half is None else int(hour) % 12 + (12 if half == "p" else 0)
    return _within_years(day_ms + _time_ms(hours, int(minute), int(seconds or 0)))


def _calendar_day_ms(year: int, month: int, day: int) -> float:
    """Midnight UTC; NaN for a day that does not exist."""
    try:
        return datetime(year, month, day, tzinfo=timezone.utc).timestamp() * 1000
    except ValueError:
        return math.nan


def _time_ms(hour: int, minute: int, second: int) -> float:
    """Time of day in ms, NaN if invalid. 24:00:00 is the end of the day."""
    is_end_of_day = (hour, minute, second) == (24, 0, 0)
    if (hour > 23 and not is_end_of_day) or minute > 59 or second > 59:
        return math.nan
    return hour * 3_600_000 + minute * 60_000 + second * 1000


def _zone_ms(zone: str | None) -> float:
    if zone is None or zone == "z":
        return 0
    digits = re.sub("[^0-9]", "", zone)
    size = _time_ms(int(digits[:2]), int(digits[2:] or 0), 0)
    return -size if zone.startswith("-") else size


def _within_years(milliseconds: float) -> float | None:
    return milliseconds if _EARLIEST_MS <= milliseconds < _AFTER_LATEST_MS else None
