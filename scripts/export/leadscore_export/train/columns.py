"""Chooses the columns that become features, and names the reason for each that does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leadscore_export.featurizer.feature_types import Date, Feature
from leadscore_export.featurizer.infer_features import infer_features
from leadscore_export.featurizer.read_cell import missing_texts
from leadscore_export.featurizer.record_values import folded_name, folded_text
from leadscore_export.train.command.failures import TrainError
from leadscore_export.train.read_table import Column, Table

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
    trained: Indexes,
    *,
    left_out: dict[str, str],
    missing: Sequence[str],
    newest_ms: float | None,
) -> ChosenColumns:
    """Proposes features by the trained rows. Raises TrainError if no column is left.

    `left_out`: Columns that are left out already, with the reasons.
    `newest_ms`: The time to which ages count; None if the rows have no dates. Date fields are left out then.
    """
    reasons = dict(left_out)
    sample = _sample(trained)
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
        now=newest_ms,
    )
    reasons |= {name: _sentence(reason) for name, reason in proposal.skipped.items()}
    features = []
    for feature in proposal.features:
        if isinstance(feature, Date) and newest_ms is None:
            reasons[feature.field] = "a date counts to the time of scoring: give --at"
        else:
            features.append(feature)
    if not features:
        raise TrainError(
            "no_features",
            "no column is left to train on; see the reasons, and keep columns with --keep",
            left_out=reasons,
        )
    placeholders = {word: sum(counts.values()) for word, counts in proposal.missing_tokens.items()}
    in_order = {name: reasons[name] for name in table.columns if name in reasons}
    return ChosenColumns(features, in_order, placeholders)


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


def _sentence(reason: str) -> str:
    return reason.replace("records", "rows")
