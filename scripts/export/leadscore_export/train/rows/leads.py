"""The leads of a file: one row each, with a known outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from leadscore_export.train.as_of import AsOf, known_outcomes, present_ms, read_as_of
from leadscore_export.train.command.failures import TrainError
from leadscore_export.train.command.options import TrainOptions
from leadscore_export.train.outcomes import LeadRows, check_classes, one_row_a_lead, read_outcomes
from leadscore_export.train.read_table import Column, Table, read_table
from leadscore_export.train.stored import StoredLeads, read_stored

Vector = npt.NDArray[np.float64]

_FEW_ROWS, _FEW_CONVERSIONS = 1000, 120
MOST_LEADS = 1_000_000
_SEED = 0


@dataclass(frozen=True)
class Leads:
    """Past leads.

    `table`: One row a lead; also with the columns that train nothing.
    `converted`: 1 or 0 for each.
    `at_ms`: When each lead was as its row says; None if that is not known.
    `is_one_day`: Whether that is the same day for all.
    `group`: Rows of one value belong together.
    `left_out`: Columns that train nothing, with the reasons.
    `counts`: Rows of the file, and rows that were left out, by reason.
    `stored`: The stored leads that these are, None for leads of a file.
    """

    table: Table
    converted: Vector
    at_ms: Vector | None
    is_one_day: bool
    group: Column | None
    left_out: dict[str, str]
    counts: dict[str, int]
    stored: StoredLeads | None = None

    def missing(self, options: TrainOptions) -> tuple[str, ...]:
        """Texts that mean missing."""
        return options.missing if self.stored is None else self.stored.missing_tokens

    @property
    def split_ms(self) -> Vector | None:
        """The dates that part old leads from new ones."""
        return None if self.is_one_day else self.at_ms


def stored_leads(options: TrainOptions, note: Callable[[str], None]) -> Leads:
    """Reads the stored leads of a model. Raises TrainError."""
    if options.stored is None:
        raise ValueError("the options name no stored leads")
    try:
        with open(options.stored, encoding="utf-8") as lines:  # noqa: PTH123, it is a descriptor
            stored = read_stored(lines)
    except OSError as problem:
        raise TrainError(
            "bad_stored_leads", f"descriptor {options.stored} cannot be read: {problem}"
        ) from problem
    left_out = {stored.table.named(wanted, "--skip").name: "--skip" for wanted in options.skip}
    _note_few(stored.converted, note)
    return Leads(
        table=stored.table,
        converted=stored.converted,
        at_ms=stored.at_ms,
        is_one_day=False,
        group=None,
        left_out=left_out,
        counts={"leads": stored.table.rows, **stored.counts},
        stored=stored,
    )


def _note_few(converted: Vector, note: Callable[[str], None]) -> None:
    won = int(converted.sum())
    if len(converted) < _FEW_ROWS or won < _FEW_CONVERSIONS:
        note(
            f"only {len(converted):,} leads, {won:,} of them converted: with {_FEW_ROWS:,} leads and "
            f"{_FEW_CONVERSIONS} conversions the figures are more certain"
        )


def read_leads(options: TrainOptions, note: Callable[[str], None]) -> Leads:
    """Reads the file of the options. Raises TrainError. `note`: Gets sentences about rows."""
    table = read_table(options.file, encoding=options.encoding)
    outcome = table.named(options.converted, "--converted")
    lead = None if options.id is None else table.named(options.id, "--id")
    group = None if options.group is None else table.named(options.group, "--group")
    as_of = read_as_of(table, options, present_ms())
    left_out = _left_out(table, options, outcome=outcome, lead=lead, group=group, as_of=as_of)
    outcomes = read_outcomes(outcome, options, is_dated=as_of is not None and not as_of.is_one_day)
    for text in outcomes.notes:
        note(text)
    joined = _joined(table, lead, outcomes.converted, as_of)
    if len(joined.rows) < table.rows:
        note(f"{table.rows - len(joined.rows):,} further rows of the same leads are left out")
    counts = {"rows": table.rows, "without_outcome": outcomes.unknown, "open": outcomes.open}
    is_known, converted = ~np.isnan(joined.converted), joined.converted
    at_ms = None
    if as_of is not None:
        at_ms = as_of.at_ms[joined.rows]
        dated = replace(
            as_of,
            at_ms=np.where(is_known, at_ms, np.nan),
            converted_at_ms=joined.converted_at_ms,
        )
        known = known_outcomes(dated, converted, options)
        for text in known.notes:
            note(text)
        counts |= known.counts
        is_known &= known.is_known
        converted = known.converted
    if int(is_known.sum()) > MOST_LEADS:
        counts["beyond_most"] = int(is_known.sum()) - MOST_LEADS
        is_known = _fewer(is_known, None if as_of is None or as_of.is_one_day else at_ms)
        chosen = "a random" if as_of is None or as_of.is_one_day else "the newest"
        note(f"{chosen} {MOST_LEADS:,} leads train; more are too many for one training")
    rows = joined.rows[is_known]
    converted = converted[is_known]
    check_classes(converted)
    _note_few(converted, note)
    return Leads(
        table=table.taken(rows),
        converted=converted,
        at_ms=None if at_ms is None else at_ms[is_known],
        is_one_day=as_of is not None and as_of.is_one_day,
        group=None if group is None else group.taken(rows),
        left_out=left_out,
        counts=counts | {"leads": len(rows)},
    )


def _fewer(is_known: npt.NDArray[np.bool_], at_ms: Vector | None) -> npt.NDArray[np.bool_]:
    """The newest of the known leads, without dates a random part."""
    known = np.flatnonzero(is_known)
    if at_ms is None:
        chosen = np.random.default_rng(_SEED).choice(known, MOST_LEADS, replace=False)
    else:
        chosen = known[np.argsort(-at_ms[known], kind="stable")[:MOST_LEADS]]
    fewer = np.zeros(len(is_known), dtype=bool)
    fewer[chosen] = True
    return fewer


def _joined(table: Table, lead: Column | None, converted: Vector, as_of: AsOf | None) -> LeadRows:
    conversions = None if as_of is None else as_of.converted_at_ms
    if lead is None:
        return LeadRows(np.arange(table.rows), converted, conversions)
    return one_row_a_lead(lead, converted, None if as_of is None else as_of.at_ms, conversions)


def _left_out(
    table: Table,
    options: TrainOptions,
    *,
    outcome: Column,
    lead: Column | None,
    group: Column | None,
    as_of: AsOf | None,
) -> dict[str, str]:
    """Columns that the options leave out. Raises TrainError for a column that is skipped and kept."""
    left_out = {outcome.name: "it is the outcome"} | ({} if as_of is None else as_of.columns)
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
