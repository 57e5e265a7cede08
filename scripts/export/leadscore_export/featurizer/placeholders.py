"""Finds values that probably mean missing: words such as "Select", and numbers such as -1 or 9999."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from leadscore_export.featurizer.read_cell import NoValue, number_reader
from leadscore_export.featurizer.record_values import folded_text, normal_text

_WORDS = frozenset(
    (
        "select", "please select", "select one", "- select -", "--select--", "choose", "please choose",
        "unknown", "unk", "unspecified", "undisclosed", "undetermined", "not specified", "not provided",
        "not available", "not applicable", "not disclosed", "not known", "not given", "not set", "no answer",
        "no data", "no info", "missing", "blank", "empty", "tbd", "tba", "?", "??", "???", "n.a.", "n.a",
    )
)  # fmt: skip
_SENTINELS = (-1.0, *(sign * float("9" * digits) for sign in (-1, 1) for digits in range(1, 10)))
_MIN_ROWS_OF_A_SENTINEL = 10
_GAP = 2.0  # a sentinel of nines is at least so many times the largest other number
_MIN_READABLE = 0.5

Counts = dict[str, int]


def placeholder_words(
    cells_by_field: Mapping[str, Sequence[Any]], missing: frozenset[str]
) -> dict[str, Counts]:
    """By word, as it is commonest: how many cells of each field hold it.

    `missing`: Folded texts that mean missing already.
    """
    spellings: Counter[str] = Counter()
    counts: dict[str, Counts] = {}
    for field, cells in cells_by_field.items():
        for text, count in Counter(cell for cell in cells if isinstance(cell, str)).items():
            folded = folded_text(text)
            if folded in _WORDS and folded not in missing:
                spellings[normal_text(text)] += count
                by_field = counts.setdefault(folded, {})
                by_field[field] = by_field.get(field, 0) + count
    commonest = {folded_text(spelling): spelling for spelling, _ in reversed(spellings.most_common())}
    total = {folded: sum(by_field.values()) for folded, by_field in counts.items()}
    return {commonest[folded]: counts[folded] for folded in sorted(counts, key=lambda each: -total[each])}


def sentinel_numbers(cells: Sequence[Any], missing: frozenset[str]) -> dict[float, int]:
    """Numbers of a field that probably mean missing, with their counts.

    Such a number is in ten cells or more. It is the only one below 0, or nines far above all others.
    """
    read = number_reader(missing, None)
    present = [cell for cell in cells if isinstance(cell, str | int | float)]
    found = [value for value in map(read, present) if not isinstance(value, NoValue)]
    if len(found) < _MIN_READABLE * len(present):
        return {}
    counts = Counter(found)
    return {
        value: counts[value]
        for value in _SENTINELS
        if counts[value] >= _MIN_ROWS_OF_A_SENTINEL and _is_apart(value, counts)
    }


def _is_apart(value: float, counts: Mapping[float, int]) -> bool:
    others = [other for other in counts if other != value]
    if not others:
        return False
    return min(others) >= 0 if value < 0 else value > 9 and value >= _GAP * max(others)
