"""Keeps rows that belong together on one side: of the split, and in one fold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leadscore_export.train.read_table import Column

Vector = npt.NDArray[np.float64]
Indexes = npt.NDArray[np.intp]

_PARTS = 5
_LEAST_HELD, _MOST_HELD = 0.1, 0.5
_SEED = 0
# StratifiedGroupKFold visits each group in Python. Groups of many rows are put into so many at most.
_MAX_GROUPS = 3000


@dataclass(frozen=True)
class Split:
    """Indexes of rows.

    `apart`: How many rows are on neither side, because equal rows are on the other one.
    """

    trained: Indexes
    held: Indexes
    apart: int


def row_groups(rows: npt.NDArray[np.float32], group: Column | None) -> Indexes:
    """The group of each row: equal rows are in one, and so are those of one value of the column.

    A column's empty cells belong to no group.
    """
    equal = _equal_rows(rows)
    if group is None:
        return equal
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    named = np.array([bool(text.strip()) for text in group.texts], dtype=bool)[group.codes]
    count = int(equal.max()) + 1
    edges = (equal[named], count + group.codes[named].astype(np.int64))
    size = count + len(group.texts)
    graph = coo_matrix((np.ones(len(edges[0]), dtype=np.int8), edges), shape=(size, size))
    return np.asarray(connected_components(graph, directed=False)[1][equal], dtype=np.intp)


def split_rows(converted: Vector, groups: Indexes, at_ms: Vector | None) -> Split:
    """The newest fifth of the rows is held out, a random one without dates that part so many."""
    is_held = None if at_ms is None else _newest(at_ms)
    if is_held is None:
        trained, held = next(iter(folds(converted, fewer_groups(groups), seed=_SEED)))
        return Split(trained, held, 0)
    # The side with most rows of a group keeps it. Its other rows would be known, or would know what comes.
    size = int(groups.max()) + 1
    held_share = np.bincount(groups, weights=is_held, minlength=size) / np.maximum(
        1, np.bincount(groups, minlength=size)
    )
    goes_to_held = held_share[groups] > 0.5
    trained, held = np.flatnonzero(~is_held & ~goes_to_held), np.flatnonzero(is_held & goes_to_held)
    return Split(trained, held, len(converted) - len(trained) - len(held))


def _newest(at_ms: Vector) -> npt.NDArray[np.bool_] | None:
    """About the newest fifth. None if rows of one date make it less than a tenth, or more than half."""
    _, inverse, counts = np.unique(at_ms, return_inverse=True, return_counts=True)
    later = 1 - np.cumsum(counts) / len(at_ms)  # the share of rows after each date
    cut = int(np.argmin(np.abs(later - 1 / _PARTS)))
    is_held: npt.NDArray[np.bool_] = inverse > cut
    return is_held if _LEAST_HELD <= later[cut] <= _MOST_HELD else None


def folds(
    converted: Vector, groups: Indexes, *, seed: int, count: int = _PARTS
) -> list[tuple[Indexes, Indexes]]:
    """Rows to train on and rows to score, for each fold. The rows of a group are in one fold."""
    from sklearn.model_selection import StratifiedGroupKFold

    splitter = StratifiedGroupKFold(count, shuffle=True, random_state=seed)
    return list(splitter.split(converted, converted, groups))


def fewer_groups(groups: Indexes) -> Indexes:
    """Groups of groups, if there are many: rows of one group stay together."""
    names, dense = np.unique(groups, return_inverse=True)
    if len(names) <= _MAX_GROUPS:
        return np.asarray(dense, dtype=np.intp)
    drawn = np.random.default_rng(_SEED).permutation(len(names)) % _MAX_GROUPS
    return np.asarray(drawn[dense], dtype=np.intp)


def _equal_rows(rows: npt.NDArray[np.float32]) -> Indexes:
    """The same number for rows of the same values. NaN equals NaN, and -0 equals 0.

    Rows are compared by a hash of 64 bits: sorting whole rows of a million leads takes minutes.
    """
    hashes = np.full(len(rows), 0x9E3779B97F4A7C15, dtype=np.uint64)
    for column in rows.T:
        plain = np.where(np.isnan(column), np.float32(np.nan), column) + np.float32(0)
        hashes ^= plain.view(np.uint32)
        hashes *= np.uint64(0xFF51AFD7ED558CCD)
        hashes ^= hashes >> np.uint64(32)
    return np.asarray(np.unique(hashes, return_inverse=True)[1], dtype=np.intp)
