"""Reads outcomes by the words of `leadscore outcomes import`, and joins the rows of one lead."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leadscore_export.scores.labels import LOST_WORDS, WON_WORDS
from leadscore_export.train.command.failures import TrainError
from leadscore_export.train.command.options import TrainOptions
from leadscore_export.train.read_table import Column

Vector = npt.NDArray[np.float64]
Indexes = npt.NDArray[np.intp]

OPEN = "open"
_ZERO_FRACTION = re.compile(r"([01])\.0+")
_MAX_UNKNOWN = 0.2
_MIN_ROWS, _MIN_OF_A_CLASS = 100, 20
_SHOWN = 5


@dataclass(frozen=True)
class Outcomes:
    """For each row 1 or 0, NaN if it has no known outcome; and notes about values."""

    converted: Vector
    unknown: int
    open: int
    notes: tuple[str, ...]


def read_outcomes(column: Column, options: TrainOptions, *, is_dated: bool) -> Outcomes:
    """The outcome of each row. Raises TrainError if more than 20 % of the rows have none.

    `is_dated`: Whether the date of each row is known. Without it, a row that is open has had no time to
        convert, so it counts as left out.
    """
    meanings = _Meanings(options, is_open_lost=is_dated)
    by_text = np.array([meanings.of(text) for text in column.texts], dtype=np.float64)
    are_open = np.array([meanings.is_open(text) for text in column.texts], dtype=bool)
    converted = by_text[column.codes]
    open_rows = int((are_open[column.codes] & np.isnan(converted)).sum())
    unknown = int(np.isnan(converted).sum()) - open_rows
    if unknown > _MAX_UNKNOWN * len(converted):
        raise _unknown_error(column, by_text, are_open, unknown, options)
    notes = [
        f"no row has the won value {value!r}"
        for value in options.won_values
        if not any(_folded(value) == _folded(text) for text in column.texts)
    ]
    if unknown:
        notes.append(f"{unknown:,} rows have no readable outcome and are left out")
    if open_rows:
        notes.append(f"{open_rows:,} open leads are left out; with --at, the time that has passed decides")
    return Outcomes(converted, unknown, open_rows, tuple(notes))


def check_classes(converted: Vector) -> None:
    """Raises TrainError if the leads are too few to train on. `converted`: 1 or 0 for each lead."""
    rows, won = len(converted), int(converted.sum())
    if rows and won in (0, rows):
        text = "all leads converted" if won else "no lead converted"
        raise TrainError(
            "one_class",
            f"{text}; give leads of both kinds, or name the values with --won-values and --lost-values",
            rows=rows,
            converted=won,
        )
    if rows < _MIN_ROWS or min(won, rows - won) < _MIN_OF_A_CLASS:
        raise TrainError(
            "too_few_leads",
            f"{rows:,} leads with an outcome, {won:,} of them converted; a model needs {_MIN_ROWS} leads, "
            f"and {_MIN_OF_A_CLASS} of each kind. Give more leads",
            rows=rows,
            converted=won,
        )


@dataclass(frozen=True)
class LeadRows:
    """The rows that stand for the leads, in the order of the file, with what is known of each lead.

    `converted_at_ms`: Its earliest conversion; None if conversions have no dates.
    """

    rows: Indexes
    converted: Vector
    converted_at_ms: Vector | None


def one_row_a_lead(
    lead: Column, converted: Vector, at_ms: Vector | None, converted_at_ms: Vector | None = None
) -> LeadRows:
    """Joins the rows of each lead.

    Its row is the first by date, without dates the last. A conversion in any of its rows counts. Rows without
    an id are leads of their own.
    """
    codes = lead.codes.astype(np.int64)
    empty = np.array([not text.strip() for text in lead.texts], dtype=bool)[codes]
    codes[empty] = len(lead.texts) + np.arange(int(empty.sum()))
    # The rows of a lead become neighbours, with the row that stands for them first.
    first = -np.arange(len(codes), dtype=np.float64) if at_ms is None else at_ms
    order = np.lexsort((first, codes))
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    chosen = order[starts]
    back = np.argsort(chosen)
    won = np.fmax.reduceat(converted[order], starts)[back]
    if converted_at_ms is None:
        return LeadRows(chosen[back], won, None)
    dates = np.where(converted == 1, converted_at_ms, np.nan)[order]
    return LeadRows(chosen[back], won, np.fmin.reduceat(dates, starts)[back])


class _Meanings:
    """The meaning of the values of an outcome. Case and surrounding space do not count."""

    def __init__(self, options: TrainOptions, *, is_open_lost: bool) -> None:
        self._won = _words(options.won_values or WON_WORDS)
        self._lost = _words(options.lost_values or (*LOST_WORDS, *((OPEN,) if is_open_lost else ())))
        self._takes_open_apart = not options.lost_values and not is_open_lost
        self._others_lost = options.others_lost
        both = [value for value in options.lost_values if _folded(value) in self._won]
        if both:
            raise TrainError(
                "usage", f"{both[0]!r} means won and lost; take it out of --won-values or --lost-values"
            )

    def of(self, text: str) -> float:
        """1, 0, or NaN for a value without a meaning."""
        for word in (_folded(text), _ZERO_FRACTION.sub(r"\1", _folded(text))):
            if word in self._won:
                return 1.0
            if word in self._lost:
                return 0.0
        is_other = self._others_lost and bool(text.strip()) and not self.is_open(text)
        return 0.0 if is_other else np.nan

    def is_open(self, text: str) -> bool:
        """Whether the value says that the outcome is still to come."""
        return self._takes_open_apart and _folded(text) == OPEN and OPEN not in self._won


def _unknown_error(
    column: Column, by_text: Vector, are_open: npt.NDArray[np.bool_], unknown: int, options: TrainOptions
) -> TrainError:
    counts = np.bincount(column.codes, minlength=len(column.texts))
    unread = [index for index in np.argsort(-counts) if np.isnan(by_text[index]) and not are_open[index]]
    values = [column.texts[index] for index in unread if counts[index]][:_SHOWN]
    shown = ", ".join(repr(value) for value in values)
    named = "--won-values and --lost-values" if not options.won_values else "--lost-values or --others-lost"
    return TrainError(
        "unknown_outcomes",
        f'{unknown:,} of {len(column.codes):,} rows of "{column.name}" have no known outcome ({shown}). Name '
        f"the values with {named}",
        rows=len(column.codes),
        unknown=unknown,
        values=values,
    )


def _words(values: Iterable[str]) -> frozenset[str]:
    return frozenset(_folded(value) for value in values)


def _folded(value: str) -> str:
    return value.strip().lower()
