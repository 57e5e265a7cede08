"""Chooses the columns that become features, and names the reason for each that does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from leadscore_export.featurizer.feature_types import Date, Feature
from leadscore_export.featurizer.infer_features import infer_features
from leadscore_export.featurizer.read_cell import missing_texts
from leadscore_export.featurizer.read_date import MS_PER_DAY
from leadscore_export.featurizer.record_values import folded_name, folded_text
from leadscore_export.train.command.failures import TrainError
from leadscore_export.train.command.options import DateOrder
from leadscore_export.train.read_table import Column, Table
from leadscore_export.train.rows.feature_rows import dates_of

Vector = npt.NDArray[np.float64]

Indexes = npt.NDArray[np.intp]

_SAMPLE_ROWS = 50_000
_SEED = 0
_MIN_VALUES = 10
_ALL_DIFFERENT = 0.98
_ID_ENDINGS = tuple("id ids number no nr key code uuid guid email phone url name".split())


@dataclass(frozen=True)
class ChosenColumns:
    """Features for the columns that train, and the reason for each column that does not.

    `placeholders`: Words that perhaps mean missing, such as "Select", with the number of their cells.
    """

    features: list[Feature]
    left_out: dict[str, str]
    placeholders: dict[str, int]


def choose_columns(
    table: Table,
    rows: Indexes,
    *,
    left_out: dict[str, str],
    missing: Sequence[str],
    date_order: DateOrder | None,
    at_ms: Vector | None,
) -> ChosenColumns:
    """Proposes features by some rows. Raises TrainError if no column is left.

    `left_out`: Columns that are left out already, with the reasons.
    `at_ms`: The date of each row of the table, to which ages count. Without it, date fields are left out.
    """
    reasons = dict(left_out)
    sample = _sample(rows)
    tokens = missing_texts(missing)
    cells: dict[str, list[str]] = {}
    for name, column in table.columns.items():
        if name in reasons:
            continue
        values = column.cells(sample)
        reason = _reason(column, values, tokens)
        if reason is None:
            cells[name] = values
        else:
            reasons[name] = reason
    proposal = infer_features(
        [dict(zip(cells, values, strict=True)) for values in zip(*cells.values(), strict=True)],
        missing_tokens=missing,
        now=None if at_ms is None else float(at_ms.max()),
        date_order=date_order,
    )
    reasons |= {name: reason.replace("records", "rows") for name, reason in proposal.skipped.items()}
    features: list[Feature] = []
    for feature in proposal.features:
        if not isinstance(feature, Date):
            features.append(feature)
        elif at_ms is None:
            reasons[feature.field] = "a date counts to the time of scoring: give --at"
        else:
            features.append(_dated(feature, table.columns[feature.field], tokens, at_ms, sample))
    if not features:
        raise TrainError(
            "no_features",
            "no column is left to train on; see the reasons, and keep columns with --keep",
            left_out=reasons,
        )
    placeholders = {word: sum(counts.values()) for word, counts in proposal.missing_tokens.items()}
    in_order = {name: reasons[name] for name in table.columns if name in reasons}
    return ChosenColumns(features, in_order, placeholders)


def _dated(feature: Date, column: Column, missing: frozenset[str], at_ms: Vector, rows: Indexes) -> Date:
    """The feature with the median of its ages as impute, each counted to the date of its row."""
    if feature.impute is None:
        return feature
    ages = (at_ms[rows] - dates_of(column.taken(rows), missing, feature.date_order)) / MS_PER_DAY
    return replace(feature, impute=float(np.nanmedian(ages)))


def _sample(trained: Indexes) -> Indexes:
    if len(trained) <= _SAMPLE_ROWS:
        return trained
    drawn = np.random.default_rng(_SEED).choice(len(trained), _SAMPLE_ROWS, replace=False)
    return trained[np.sort(drawn)]


def _reason(column: Column, values: Sequence[str], missing: frozenset[str]) -> str | None:
    """Why a column is no feature, by its trained cells; None if it can be one."""
    are_missing = {text: folded_text(text) in missing for text in set(values)}
    different = {text for text, is_missing in are_missing.items() if not is_missing}
    count = sum(not are_missing[text] for text in values)
    if count == 0:
        return "it is empty"
    if count < _MIN_VALUES:
        return f"only {count} rows have a value"
    if len(different) == 1:
        return f"it always has the same value ({next(iter(different))[:40]!r})"
    name = folded_name(column.name)
    if len(different) > _ALL_DIFFERENT * count and name.endswith(_ID_ENDINGS) and _are_whole(different):
        return "it identifies leads: its values are all different"
    return None


def _are_whole(texts: set[str]) -> bool:
    """Whether texts are no fractions, so that they can name leads."""
    return not any(text.replace(",", ".").count(".") == 1 and _is_number(text) for text in texts)


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True
