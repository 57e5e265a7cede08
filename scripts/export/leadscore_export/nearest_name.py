"""Finds the name that was meant by a misspelt one."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from leadscore_export.record_text import folded_name

_LIKE = 0.6


def nearest_text(name: str, names: Sequence[str]) -> str:
    """` (did you mean "Balance Total"?)`, or nothing when no name is like it."""
    by_folded = {folded_name(each): each for each in reversed(names)}
    nearest = difflib.get_close_matches(folded_name(name), list(by_folded), n=1, cutoff=_LIKE)
    return f' (did you mean "{by_folded[nearest[0]]}"?)' if nearest else ""
