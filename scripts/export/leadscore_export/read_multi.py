"""Reads cells that hold several categories at once."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence

from leadscore_export.read_cell import MISSING, UNREADABLE, NoValue, Scalar, scalar_text, vocabulary
from leadscore_export.record_text import folded_text

_LONGEST_LIST = 65_536


def multi_reader(
    missing: frozenset[str], categories: Sequence[str], separator: str
) -> Callable[[Scalar], tuple[list[int], NoValue | None]]:
    """A reader of one scalar, or of one element of an array: the indexes of its categories, and why there is no value.

    A text that is a category as a whole stands for it; any other is taken apart at the separator. Unknown parts are a
    value, but name no category.
    """
    words = vocabulary(categories)
    between = unicodedata.normalize("NFKC", separator)

    def read(value: Scalar) -> tuple[list[int], NoValue | None]:
        text = scalar_text(value)
        if len(text) > _LONGEST_LIST:
            return [], UNREADABLE
        is_whole = between == "" or folded_text(text) in words
        parts = [text] if is_whole else unicodedata.normalize("NFKC", text).split(between)
        folded = [folded_text(part) for part in parts if part != ""]
        has_value = any(part in words or part not in missing for part in folded)
        return [words[part] for part in folded if part in words], None if has_value else MISSING

    return read
