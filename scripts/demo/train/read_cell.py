"""Reads single cells of a CRM record, by the rules under "Values" of the bundle format (docs/models.md).

Written from that text alone and apart from the TypeScript that serves: where the two disagree, one of them is wrong.
Every reader takes a scalar (text, number, boolean or None) and gives None for a value that is missing or unreadable.
"""

from __future__ import annotations

import math
import re
import unicodedata
from datetime import UTC, datetime, timedelta

Scalar = str | int | float | bool | None

MISSING_TOKENS = frozenset({"", "null", "none", "n/a", "na", "-"})
TRUE_WORDS = frozenset({"true", "1", "yes", "y", "t", "on"})
FALSE_WORDS = frozenset({"false", "0", "no", "n", "f", "off"})
CURRENCY_CODES = frozenset("AUD BRL CAD CHF CNY CZK DKK EUR GBP HKD INR JPY MXN NOK NZD PLN SEK SGD USD ZAR".split())
SUFFIXES = {"k": 1e3, "m": 1e6, "b": 1e9}
MS_PER_DAY = 86_400_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_FLOAT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_ISO_DATE = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d+))?)?\s?([Zz]|[+-]\d{2}:?\d{2})?)?"
)
_SLASH_DATE = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})")


def tidy_text(text: str) -> str:
    """NFKC, trimmed, runs of white space made one space."""
    return " ".join(unicodedata.normalize("NFKC", text).split())


def is_missing_text(text: str, extra_tokens: frozenset[str]) -> bool:
    """Whether a text means "no value". `extra_tokens`: the bundle's own, tidy and in lower case."""
    folded = tidy_text(text).lower()
    return folded in MISSING_TOKENS or folded in extra_tokens


def read_number(value: Scalar, unit: str | None = None) -> float | None:
    """A number, from JSON or from text such as "$1.2m", "(5)", "1.200,5" or, with the unit `fraction`, "12 %"."""
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return float(value) if math.isfinite(value) else None
    text = tidy_text(value)
    sign = 1.0
    if text.startswith("(") and text.endswith(")"):
        sign, text = -1.0, text[1:-1]
    text = _without_currency(text)
    text = "".join(character for character in text if not character.isspace() and character not in "'\u2019")
    percent = text.endswith("%")
    multiplier = SUFFIXES.get(text[-1:].lower(), 1.0)
    if percent or multiplier != 1.0:
        text = text[:-1]
    plain = _with_decimal_point(text)
    if plain is None or not _FLOAT.fullmatch(plain):
        return None
    number = float(plain) * multiplier / (100.0 if percent and unit == "fraction" else 1.0)
    return sign * number if math.isfinite(number) else None


def _without_currency(text: str) -> str:
    text = "".join(character for character in text if unicodedata.category(character) != "Sc").strip()
    if text[:3].upper() in CURRENCY_CODES:
        return text[3:]
    if text[-3:].upper() in CURRENCY_CODES:
        return text[:-3]
    return text


def _with_decimal_point(text: str) -> str | None:
    """Drops thousands separators and makes the decimal sign a point; None when the signs make no sense."""
    commas, points = text.count(","), text.count(".")
    if commas and points:
        decimal, thousands = (",", ".") if text.rindex(",") > text.rindex(".") else (".", ",")
        return None if text.count(decimal) > 1 else text.replace(thousands, "").replace(decimal, ".")
    if commas == 1:
        before, after = text.split(",")
        groups = re.fullmatch(r"\d{3}", after) and before.lstrip("+-").strip("0") != ""
        return before + after if groups else f"{before}.{after}"
    if commas > 1 or points > 1:
        return re.sub("[.,]", "", text) if re.fullmatch(r"[+-]?\d{1,3}([.,]\d{3})+", text) else None
    return text


def read_boolean(value: Scalar) -> bool | None:
    """true/1/yes/y/t/on or false/0/no/n/f/off, in any case, as text, number or JSON boolean."""
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        return bool(value) if value in (0, 1) else None
    word = tidy_text(value).lower() if value is not None else ""
    return True if word in TRUE_WORDS else False if word in FALSE_WORDS else None


def read_category_text(value: Scalar) -> str | None:
    """What a cell says, in lower case and tidy, to be looked up in a vocabulary; None for null alone."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return tidy_text(str(value)).lower()


def read_date_ms(value: Scalar, date_order: str | None = None) -> float | None:
    """Milliseconds since 1970 (UTC) of an ISO 8601 date or a Unix time; "3/14/2026" only with a `date_order`."""
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        if not math.isfinite(value):
            return None
        size = abs(value)
        milliseconds = value * 1000.0 if size < 1e11 else float(value) if size < 1e14 else value / 1000.0
    else:
        moment = _read_iso(tidy_text(value)) or _read_slashes(tidy_text(value), date_order)
        if moment is None:
            return None
        milliseconds = (moment - EPOCH) / timedelta(milliseconds=1)
    low, high = datetime(1900, 1, 1, tzinfo=UTC), datetime(2101, 1, 1, tzinfo=UTC)
    in_range = (low - EPOCH) / timedelta(milliseconds=1) <= milliseconds < (high - EPOCH) / timedelta(milliseconds=1)
    return milliseconds if in_range else None


def _read_iso(text: str) -> datetime | None:
    found = _ISO_DATE.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    microsecond = int((fraction or "0")[:6].ljust(6, "0"))
    try:
        day_start = datetime(int(year), int(month), int(day))
        moment = day_start.replace(
            hour=int(hour or 0), minute=int(minute or 0), second=int(second or 0), microsecond=microsecond
        )
    except ValueError:
        return None
    if zone is None or zone in "Zz":
        return moment.replace(tzinfo=UTC)
    offset = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
    return (moment - (offset if zone[0] == "+" else -offset)).replace(tzinfo=UTC)


def _read_slashes(text: str, date_order: str | None) -> datetime | None:
    found = _SLASH_DATE.fullmatch(text)
    if found is None or date_order is None:
        return None
    first, second, year = (int(part) for part in found.groups())
    day, month = (first, second) if date_order == "dmy" else (second, first)
    try:
        return datetime(year, month, day, tzinfo=UTC)
    except ValueError:
        return None
