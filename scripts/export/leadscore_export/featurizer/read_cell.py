"""Reads single cells as the service does, by the rules under "Values" in docs/models.md."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import Final, TypeVar

from leadscore_export.featurizer.read_date import DATE_NUMBER, read_date_number, read_date_text
from leadscore_export.featurizer.read_number import read_number_text
from leadscore_export.featurizer.record_values import folded_text, number_text, trimmed

Scalar = str | int | float | bool
Value = TypeVar("Value", int, float)
_ALWAYS_MISSING = (
    *("", "-", "--", "n/a", "na", "null", "none", "nil", "undefined", r"\N"),
    *("nan", "-nan", "nat", "<na>", "#na"),
    *("(blank)", "(empty)", "(null)", "(none)", "(no value)", "--none--"),
    *("#n/a", "#ref!", "#value!", "#null!", "#div/0!", "#name?", "#num!", "#error!", "#spill!", "#calc!"),
    *("#nv", "#n/d"),
)
_TRUE_WORDS = ("true", "1", "yes", "y", "t", "on")
_FALSE_WORDS = ("false", "0", "no", "n", "f", "off")
_ZERO_FRACTION = re.compile(r"(-?\d+)\.0+", re.ASCII)
_WHOLE_NUMBER = re.compile(r"-?\d+", re.ASCII)
_MAX_VALUE = 4096  # characters
_MAX_LIST = 65_536  # characters
_CACHED_TEXTS = 4096


class NoValue(Enum):
    """Why a cell has no value for a feature. Both members fill the row alike."""

    MISSING = "missing"
    UNREADABLE = "unreadable"


MISSING: Final = NoValue.MISSING
UNREADABLE: Final = NoValue.UNREADABLE


def missing_texts(further_tokens: Sequence[str] = ()) -> frozenset[str]:
    """The folded texts that mean missing. `further_tokens`: The manifest's `missing_tokens`."""
    return frozenset(folded_text(token) for token in (*_ALWAYS_MISSING, *further_tokens))


def scalar_text(value: Scalar) -> str:
    """A scalar as the text that categories are compared with: 5.0 is "5", True is "true"."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return number_text(value)


def without_zero_fraction(folded: str) -> str:
    """A whole number without the fraction that data frames write ("3.0" is "3"); any other text as it is."""
    found = _ZERO_FRACTION.fullmatch(folded)
    return found[1] if found else folded


def number_reader(missing: frozenset[str], unit: str | None) -> Callable[[Scalar], float | NoValue]:
    """A reader of number cells. With the unit "fraction", "45%" is 0.45."""

    def read_text(folded: str) -> float | NoValue:
        if folded in missing:
            return MISSING
        number = read_number_text(folded, percent_is_fraction=unit == "fraction")
        return UNREADABLE if number is None else number

    of_text = _remembering(read_text)

    def read(value: Scalar) -> float | NoValue:
        if isinstance(value, str):
            return of_text(value)
        return UNREADABLE if isinstance(value, bool) else float(value)

    return read


def boolean_reader(missing: frozenset[str]) -> Callable[[Scalar], float | NoValue]:
    """A reader of boolean cells, to 1.0 or 0.0. "1.0" is 1.0.

    Its words take precedence over texts that mean missing.
    """
    words = dict.fromkeys(_TRUE_WORDS, 1.0) | dict.fromkeys(_FALSE_WORDS, 0.0)

    def read_text(folded: str) -> float | NoValue:
        if folded in words:
            return words[folded]
        return MISSING if folded in missing else words.get(without_zero_fraction(folded), UNREADABLE)

    of_text = _remembering(read_text)

    def read(value: Scalar) -> float | NoValue:
        if not isinstance(value, str) and value in (0, 1):
            return float(value)
        return of_text(scalar_text(value))

    return read


def date_reader(missing: frozenset[str], date_order: str | None) -> Callable[[Scalar], float | NoValue]:
    """A reader of date cells, to Unix ms."""

    def read_text(folded: str) -> float | NoValue:
        if folded in missing:
            return MISSING
        return _or_unreadable(read_date_text(folded, date_order))

    of_text = _remembering(read_text)
    has_missing_numbers = any(DATE_NUMBER.fullmatch(text) for text in missing)

    def read(value: Scalar) -> float | NoValue:
        if isinstance(value, str):
            return of_text(value)
        if isinstance(value, bool):
            return UNREADABLE
        if has_missing_numbers:
            return of_text(scalar_text(value))
        return _or_unreadable(read_date_number(float(value)))

    return read


def category_reader(
    missing: frozenset[str], categories: Sequence[str], aliases: Mapping[str, str] | None = None
) -> Callable[[Scalar], int | NoValue]:
    """A reader of category cells, to an index in `categories`. UNREADABLE means none of them."""
    of_text = _remembering(_look_up(missing, categories, aliases))
    return lambda value: of_text(scalar_text(value))


def _look_up(
    missing: frozenset[str], categories: Sequence[str], aliases: Mapping[str, str] | None = None
) -> Callable[[str], int | NoValue]:
    """A look-up of folded texts: categories and aliases, then texts that mean missing, then whole numbers.

    "3.0" is the category "3", and "3" the category "3.0", if nothing else matches.
    """
    words = vocabulary(categories, aliases)
    whole_numbers: dict[str, int] = {}
    for text, index in words.items():
        whole = without_zero_fraction(text)
        if _WHOLE_NUMBER.fullmatch(whole):
            whole_numbers.setdefault(whole, index)

    def look_up(folded: str) -> int | NoValue:
        if folded in words:
            return words[folded]
        return MISSING if folded in missing else whole_numbers.get(without_zero_fraction(folded), UNREADABLE)

    return look_up


def vocabulary(categories: Sequence[str], aliases: Mapping[str, str] | None = None) -> dict[str, int]:
    """The index of each category and alias by its folded text. A category takes precedence over an alias."""
    words: dict[str, int] = {}
    for index, category in enumerate(categories):
        words.setdefault(folded_text(category), index)
    for seen, canonical in (aliases or {}).items():
        words.setdefault(folded_text(seen), words[folded_text(canonical)])
    return words


def _or_unreadable(milliseconds: float | None) -> float | NoValue:
    return UNREADABLE if milliseconds is None else milliseconds


def _remembering(read: Callable[[str], Value | NoValue]) -> Callable[[str], Value | NoValue]:
    """A reader of unfolded texts with an LRU cache. More than 4096 characters are unreadable."""
    remembered = lru_cache(_CACHED_TEXTS)(lambda text: read(folded_text(text)))

    def read_text(text: str) -> Value | NoValue:
        if len(text) > _MAX_VALUE and len(trimmed(text)) > _MAX_VALUE:
            return UNREADABLE
        return remembered(text)

    return read_text


def multi_reader(
    missing: frozenset[str], categories: Sequence[str], separator: str
) -> Callable[[Scalar], tuple[list[int], NoValue | None]]:
    """A reader of one scalar, or of one element of an array.

    It returns the indexes of the categories, and why there is no value. A text that is a category as a whole,
    or means missing, is not split. Any other text is split at the separator. Unknown parts count as a value,
    but name no category.
    """
    look_up = _look_up(missing, categories)
    between = unicodedata.normalize("NFKC", separator)

    def read(value: Scalar) -> tuple[list[int], NoValue | None]:
        text = scalar_text(value)
        if len(text) > _MAX_LIST:
            return [], UNREADABLE
        is_whole = between == "" or look_up(folded_text(text)) is not UNREADABLE
        parts = [text] if is_whole else unicodedata.normalize("NFKC", text).split(between)
        found = [look_up(folded_text(part)) for part in parts if part != ""]
        has_value = any(index is not MISSING for index in found)
        return [index for index in found if not isinstance(index, NoValue)], None if has_value else MISSING

    return read
