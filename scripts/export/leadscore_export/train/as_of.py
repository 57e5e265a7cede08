"""When each lead was as its row says, and which outcomes are known by then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

import numpy as np
import numpy.typing as npt

from leadscore_export.bundle.bundle_files import time_text
from leadscore_export.featurizer.featurizer import unix_ms
from leadscore_export.featurizer.infer_features import date_order_of
from leadscore_export.featurizer.read_cell import missing_texts
from leadscore_export.featurizer.read_date import MS_PER_DAY
from leadscore_export.train.command.failures import TrainError
from leadscore_export.train.command.options import TrainOptions
from leadscore_export.train.read_table import Column, Table
from leadscore_export.train.rows.feature_rows import dates_of

Vector = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

_MAX_UNREADABLE = 0.05
_MAX_IMMATURE = 0.5
_DAY_LENGTH = 10
_SHOWN = 3


@dataclass(frozen=True)
class AsOf:
    """Dates of rows, as Unix ms.

    `at_ms`: When the lead was as its row says; NaN if the cell is no date.
    `converted_at_ms`: When it converted, NaN if that is not known; None without such a column.
    `is_one_day`: Whether all rows have the same date, given as an option.
    `columns`: The columns with these dates, and why they train nothing.
    """

    at_ms: Vector
    converted_at_ms: Vector | None
    is_one_day: bool
    columns: dict[str, str]

    @property
    def newest_ms(self) -> float:
        """The newest date of a row or a conversion."""
        dates = [self.at_ms, *([] if self.converted_at_ms is None else [self.converted_at_ms])]
        return float(max(np.nanmax(each) for each in dates if not np.isnan(each).all()))


@dataclass(frozen=True)
class Known:
    """Which leads have a known outcome, and the outcomes within the horizon."""

    is_known: Mask
    converted: Vector
    counts: dict[str, int]
    notes: tuple[str, ...]


def read_as_of(table: Table, options: TrainOptions, now_ms: float) -> AsOf | None:
    """The dates of the rows, None without `--at`. Raises TrainError if more than 5 % cannot be read."""
    if options.at is None:
        if options.converted_at is not None or options.since_ms is not None or options.until_ms is not None:
            raise TrainError("usage", "--converted-at, --since and --until need --at: when each row was so")
        return None
    converted_at = (
        None if options.converted_at is None else table.named(options.converted_at, "--converted-at")
    )
    columns = {} if converted_at is None else {converted_at.name: "it dates the conversion (--converted-at)"}
    conversions = None if converted_at is None else _dates(converted_at, options, "--converted-at")
    day_ms = None if table.has(options.at) else _day(options.at)
    if day_ms is not None:
        if day_ms > now_ms:
            raise TrainError("bad_dates", f"--at {options.at} is in the future; give the day of the export")
        return AsOf(np.full(table.rows, day_ms), conversions, True, columns)
    column = table.named(options.at, "--at")
    dates = _dates(column, options, "--at")
    dates[dates > now_ms + MS_PER_DAY] = np.nan
    unread = int(np.isnan(dates).sum())
    if unread > _MAX_UNREADABLE * table.rows:
        cells = column.cells(np.flatnonzero(np.isnan(dates))[:100])
        shown = ", ".join(repr(text) for text in list(dict.fromkeys(cells))[:_SHOWN])
        raise TrainError(
            "bad_dates",
            f'{unread:,} of {table.rows:,} cells of "{column.name}" are no date, or one in the future '
            f"({shown}). Write dates as 2026-11-20, or give --date-order for dates with slashes",
            rows=table.rows,
            unreadable=unread,
        )
    return AsOf(dates, conversions, False, {**columns, column.name: "it dates the row (--at)"})


def known_outcomes(as_of: AsOf, converted: Vector, options: TrainOptions) -> Known:
    """Leaves out leads whose outcome cannot be known. Raises TrainError if these are more than half.

    `as_of`, `converted`: One entry a lead.
    """
    at, horizon_ms = as_of.at_ms, options.horizon_days * MS_PER_DAY
    converted, notes = converted.copy(), []
    counts = {"undated": int(np.isnan(at).sum())}
    is_known = ~np.isnan(at)
    if as_of.converted_at_ms is not None:
        later = is_known & (converted == 1) & (as_of.converted_at_ms > at + horizon_ms)
        converted[later] = 0.0
        if later.any():
            notes.append(
                f"{int(later.sum()):,} leads converted after {options.horizon_days} days and count as lost"
            )
        # A date without a time is the midnight before.
        before = is_known & (converted == 1) & (as_of.converted_at_ms < at - MS_PER_DAY)
        is_known &= ~before
        counts["converted_before"] = int(before.sum())
    if options.since_ms is not None:
        too_old = is_known & (at < options.since_ms)
        is_known &= ~too_old
        counts["before_since"] = int(too_old.sum())
    if not as_of.is_one_day or options.until_ms is not None:
        until_ms = as_of.newest_ms if options.until_ms is None else options.until_ms
        immature = is_known & (at > until_ms - horizon_ms)
        counts["immature"] = int(immature.sum())
        _check_matured(counts["immature"], int(is_known.sum()), until_ms, options)
        is_known &= ~immature
    texts = {
        "undated": "have no readable date",
        "converted_before": "had converted before their date",
        "before_since": "are older than --since",
        "immature": f"are younger than the horizon of {options.horizon_days} days",
    }
    notes += [f"{count:,} leads {texts[name]} and are left out" for name, count in counts.items() if count]
    return Known(is_known, converted, counts, tuple(notes))


def _check_matured(immature: int, dated: int, until_ms: float, options: TrainOptions) -> None:
    if immature <= _MAX_IMMATURE * dated:
        return
    raise TrainError(
        "not_matured",
        f"{immature:,} of {dated:,} leads are younger than {options.horizon_days} days on "
        f"{time_text(until_ms)[:_DAY_LENGTH]}, the end of known outcomes. Give older leads, a shorter "
        "--horizon, or a later --until if outcomes are known longer",
        leads=dated,
        immature=immature,
    )


def month_rates(at_ms: Vector, converted: Vector) -> list[dict[str, object]]:
    """Leads and conversion rate by month, the oldest first."""
    months = at_ms.astype("datetime64[ms]").astype("datetime64[M]")
    names, inverse = np.unique(months, return_inverse=True)
    leads = np.bincount(inverse)
    won = np.bincount(inverse, weights=converted)
    return [
        {"month": str(name), "leads": int(count), "converted": int(part), "rate": round(part / count, 4)}
        for name, count, part in zip(names, leads.tolist(), won.tolist(), strict=True)
    ]


def likely_since(months: Sequence[dict[str, object]]) -> str | None:
    """The first day of the newest months with about one rate; None if that is all of them."""
    if not months:
        return None
    chosen = len(months)
    leads = won = 0.0
    for index in range(len(months) - 1, -1, -1):
        count, part = float(str(months[index]["leads"])), float(str(months[index]["converted"]))
        if leads:
            rate = max(won / leads, 1 / (leads + 1))
            error = np.sqrt(rate * (1 - rate) * (1 / leads + 1 / count))
            if abs(part / count - rate) > max(3 * error, 0.25 * rate):
                break
        leads, won, chosen = leads + count, won + part, index
    return None if chosen == 0 else f"{months[chosen]['month']}-01"


def _dates(column: Column, options: TrainOptions, option: str) -> Vector:
    order = date_order_of(list(column.texts)) or options.date_order
    if order is None and sum(text.count("/") == 2 for text in column.texts) > len(column.texts) / 2:
        raise TrainError(
            "bad_dates",
            f'{option}: the dates of "{column.name}" can be read in two ways ({column.texts[0]!r}); give '
            "--date-order dmy or mdy",
        )
    return dates_of(column, missing_texts(options.missing), order)


def _day(text: str) -> float | None:
    """A date as Unix ms, None if the text is no date: then it is the name of a column."""
    try:
        datetime.fromisoformat(text.replace("Z", "+00:00"))
        return unix_ms(text)
    except ValueError:
        return None


def present_ms() -> float:
    """The current time."""
    return datetime.now(timezone.utc).timestamp() * 1000
