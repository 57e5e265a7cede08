"""The leads of a file: one row each, with a known outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leadscore_export.train.command.failures import TrainError
from leadscore_export.train.command.options import TrainOptions
from leadscore_export.train.outcomes import check_classes, one_row_a_lead, read_outcomes
from leadscore_export.train.read_table import Column, Table, read_table

Vector = npt.NDArray[np.float64]

_FEW_ROWS, _FEW_CONVERSIONS = 1000, 120


@dataclass(frozen=True)
class Leads:
    """Past leads.

    `table`: One row a lead; also with the columns that train nothing.
    `converted`: 1 or 0 for each.
    `at_ms`: When each lead was as its row says; None if that is not known.
    `group`: What belongs together.
    `left_out`: Columns that train nothing, with the reasons.
    `counts`: Rows of the file, and rows that were left out, by reason.
    """

    table: Table
    converted: Vector
    at_ms: Vector | None
    group: Column | None
    left_out: dict[str, str]
    counts: dict[str, int]


def read_leads(options: TrainOptions, note: Callable[[str], None]) -> Leads:
    """Reads the file of the options. Raises TrainError. `note`: Gets sentences about rows."""
    table = read_table(options.file, encoding=options.encoding)
    outcome = table.named(options.converted, "--converted")
    lead = None if options.id is None else table.named(options.id, "--id")
    group = None if options.group is None else table.named(options.group, "--group")
    left_out = _left_out(table, options, outcome=outcome, lead=lead, group=group)
    outcomes = read_outcomes(outcome, options, is_dated=False)
    for text in outcomes.notes:
        note(text)
    converted, rows = outcomes.converted, np.arange(table.rows)
    if lead is not None:
        rows, converted = one_row_a_lead(lead, converted, None)
        if len(rows) < table.rows:
            note(f"{table.rows - len(rows):,} further rows of the same leads are left out")
    known = ~np.isnan(converted)
    rows, converted = rows[known], converted[known]
    check_classes(converted)
    won = int(converted.sum())
    if len(rows) < _FEW_ROWS or won < _FEW_CONVERSIONS:
        note(
            f"only {len(rows):,} leads, {won:,} of them converted: with {_FEW_ROWS:,} leads and "
            f"{_FEW_CONVERSIONS} conversions the figures are more certain"
        )
    return Leads(
        table=table.taken(rows),
        converted=converted,
        at_ms=None,
        group=None if group is None else group.taken(rows),
        left_out=left_out,
        counts={
            "rows": table.rows,
            "leads": len(rows),
            "without_outcome": outcomes.unknown,
            "open": outcomes.open,
        },
    )


def _left_out(
    table: Table, options: TrainOptions, *, outcome: Column, lead: Column | None, group: Column | None
) -> dict[str, str]:
    """Columns that the options leave out. Raises TrainError for a column that is skipped and kept."""
    left_out = {outcome.name: "it is the outcome"}
    if lead is not None:
        left_out[lead.name] = "it identifies leads (--id)"
    if group is not None:
        left_out.setdefault(group.name, "it names what belongs together (--group)")
    kept = {table.named(name, "--keep").name for name in options.keep}
    for wanted in options.skip:
        name = table.named(wanted, "--skip").name
        if name in kept:
            raise TrainError("usage", f'"{name}" is in --skip and in --keep; take it out of one of them')
        left_out.setdefault(name, "--skip")
    return left_out
