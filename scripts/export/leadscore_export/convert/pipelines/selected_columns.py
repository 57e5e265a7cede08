"""Columns that a step of a ColumnTransformer gets: by name, index, slice, mask, or a callable's result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from leadscore_export.errors import ExportError


def indexes_of(chosen: Any, count: int, names: Sequence[str] | None) -> list[int]:
    """The indexes of the chosen columns among `count`. A fitted step holds the result of a callable."""
    if isinstance(chosen, slice):
        return _slice(chosen, count, names)
    listed = [chosen] if isinstance(chosen, str | int | np.integer) else list(chosen)
    if listed and all(isinstance(each, bool | np.bool_) for each in listed):
        return np.flatnonzero(listed).tolist()
    return [_index(each, count, names) for each in listed]


def _slice(chosen: slice, count: int, names: Sequence[str] | None) -> list[int]:
    start, stop = chosen.start, chosen.stop
    if isinstance(start, str) or isinstance(stop, str):  # a slice of names includes its end, as in pandas
        start = None if start is None else _index(start, count, names)
        stop = None if stop is None else _index(stop, count, names) + 1
    return list(range(count))[slice(start, stop, chosen.step)]


def _index(one: Any, count: int, names: Sequence[str] | None) -> int:
    if not isinstance(one, str):
        return range(count)[int(one)]
    if names is None or one not in names:
        raise ExportError(
            f'a ColumnTransformer chooses the column "{one}", whose index is unknown here; choose it by its '
            "index, or put all columns into one ColumnTransformer"
        )
    return list(names).index(one)
