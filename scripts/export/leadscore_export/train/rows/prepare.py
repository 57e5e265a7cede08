"""Makes rows of features from leads, and parts them into those that train and those that are held out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leadscore_export.featurizer.featurizer import Featurizer
from leadscore_export.train.columns import choose_columns
from leadscore_export.train.command.failures import TrainError
from leadscore_export.train.command.options import TrainOptions
from leadscore_export.train.rows.feature_rows import feature_rows
from leadscore_export.train.rows.leads import Leads
from leadscore_export.train.rows.split import Split, fewer_groups, row_groups, split_rows

Rows = npt.NDArray[np.float32]
Vector = npt.NDArray[np.float64]
Indexes = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Prepared:
    """The rows of a training.

    `groups`: Trained rows of one number stay in one fold.
    `split`: Indexes of the leads of both parts.
    `left_out`: Columns that train nothing, with the reasons.
    """

    featurizer: Featurizer
    rows: Rows
    converted: Vector
    groups: Indexes
    held_rows: Rows
    held_converted: Vector
    split: Split
    left_out: dict[str, str]


def prepare(leads: Leads, options: TrainOptions, note: Callable[[str], None]) -> Prepared:
    """Chooses the columns and makes the rows. Raises TrainError."""
    every = np.arange(leads.table.rows)
    # Which rows are equal depends on the features, and these on the rows that train. So features are chosen
    # twice: by all rows for the split, then by the trained ones alone.
    newest_ms = None if leads.at_ms is None else float(leads.at_ms.max())
    chosen = choose_columns(
        leads.table, every, left_out=leads.left_out, missing=options.missing, newest_ms=newest_ms
    )
    featurizer = Featurizer(chosen.features, missing_tokens=options.missing)
    rows = feature_rows(leads.table, featurizer, leads.at_ms)
    groups = row_groups(rows, leads.group)
    split = split_rows(leads.converted, fewer_groups(groups), leads.at_ms)
    for part, name in ((split.trained, "trained"), (split.held, "held-out")):
        outcomes = leads.converted[part]
        if len(part) == 0 or outcomes.min() == outcomes.max():
            raise TrainError(
                "too_few_leads",
                f"the {name} leads are all of one kind; give more leads, or leaves --group out",
            )
    final = choose_columns(
        leads.table, split.trained, left_out=leads.left_out, missing=options.missing, newest_ms=newest_ms
    )
    if final.features != chosen.features:
        featurizer = Featurizer(final.features, missing_tokens=options.missing)
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
    )
