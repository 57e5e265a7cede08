"""Makes rows of features from leads, and parts them into those that train and those that are held out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leadscore_export.featurizer.featurizer import Featurizer
from leadscore_export.train.columns import ChosenColumns, choose_columns
from leadscore_export.train.command.failures import TrainError
from leadscore_export.train.command.options import TrainOptions
from leadscore_export.train.leaks import FieldRank, rank_fields
from leadscore_export.train.rows.feature_rows import feature_rows
from leadscore_export.train.rows.leads import Leads
from leadscore_export.train.rows.split import Split, fewer_groups, row_groups, split_rows
from leadscore_export.train.stored import stored_features

Rows = npt.NDArray[np.float32]
Vector = npt.NDArray[np.float64]
Indexes = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Prepared:
    """The rows of a training.

    `groups`: Trained rows of one number stay in one fold.
    `split`: Indexes of the leads of both parts.
    `left_out`: Columns that train nothing, with the reasons.
    `ranks`: How each field ranks alone, the best first.
    """

    featurizer: Featurizer
    rows: Rows
    converted: Vector
    groups: Indexes
    held_rows: Rows
    held_converted: Vector
    split: Split
    left_out: dict[str, str]
    ranks: tuple[FieldRank, ...]


# Gets the ranks of the fields, and returns those to leave out with the reasons.
Confirm = Callable[[list[FieldRank]], Mapping[str, str]]


def prepare(
    leads: Leads,
    options: TrainOptions,
    *,
    note: Callable[[str], None],
    say: Callable[[str, float], None],
    confirm: Confirm,
) -> Prepared:
    """Chooses the columns and makes the rows. Raises TrainError.

    `say`: Gets the field that is tested, and the share of the tests that is done.
    """
    every = np.arange(leads.table.rows)
    chosen = _choose(leads, options, every, leads.left_out)
    featurizer = Featurizer(chosen.features, missing_tokens=leads.missing(options))
    rows = feature_rows(leads.table, featurizer, leads.at_ms)
    groups = row_groups(rows, leads.group)
    # Suspects are left out before the split, because without them more rows are equal.
    ranks = rank_fields(leads.table, featurizer, rows, leads.converted, groups, leads.at_ms, say)
    left_out = {**leads.left_out, **confirm(ranks)}
    if len(left_out) > len(leads.left_out):
        chosen = _choose(leads, options, every, left_out)
        featurizer = Featurizer(chosen.features, missing_tokens=leads.missing(options))
        rows = feature_rows(leads.table, featurizer, leads.at_ms)
        groups = row_groups(rows, leads.group)
    split = split_rows(leads.converted, groups, leads.split_ms)
    _check_split(leads, split)
    # The trained rows alone choose the features, so that the held-out ones are as new leads.
    final = _choose(leads, options, split.trained, left_out)
    if final.features != chosen.features:
        featurizer = Featurizer(final.features, missing_tokens=leads.missing(options))
        rows = feature_rows(leads.table, featurizer, leads.at_ms)
    for word, cells in final.placeholders.items():
        note(f'"{word}" is in {cells:,} cells. If it means missing, give --missing "{word}"')
    return Prepared(
        featurizer=featurizer,
        rows=rows[split.trained],
        converted=leads.converted[split.trained],
        groups=fewer_groups(groups[split.trained]),
        held_rows=rows[split.held],
        held_converted=leads.converted[split.held],
        split=split,
        left_out=final.left_out,
        ranks=tuple(ranks),
    )


def _choose(leads: Leads, options: TrainOptions, rows: Indexes, left_out: dict[str, str]) -> ChosenColumns:
    if leads.stored is not None:
        return stored_features(leads.stored, rows, left_out)
    return choose_columns(
        leads.table,
        rows,
        left_out=left_out,
        missing=options.missing,
        date_order=options.date_order,
        at_ms=leads.at_ms,
    )


def _check_split(leads: Leads, split: Split) -> None:
    for part, name in ((split.trained, "trained"), (split.held, "held-out")):
        outcomes = leads.converted[part]
        if len(part) == 0 or outcomes.min() == outcomes.max():
            raise TrainError(
                "too_few_leads",
                f"the {name} leads are all of one kind; give more leads, or leave out --group",
                rows=len(leads.converted),
                converted=int(leads.converted.sum()),
            )
