"""Proposes features for the fields of a table. A person who knows the fields should review them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from leadscore_export.errors import ExportError
from leadscore_export.featurizer.feature_types import Boolean, Category, Date, Feature, Multi, Number
from leadscore_export.featurizer.featurizer import Moment, unix_ms
from leadscore_export.featurizer.placeholders import placeholder_words, sentinel_numbers
from leadscore_export.featurizer.read_cell import (
    NoValue,
    boolean_reader,
    date_reader,
    missing_texts,
    number_reader,
    scalar_text,
    without_zero_fraction,
)
from leadscore_export.featurizer.read_date import MS_PER_DAY
from leadscore_export.featurizer.record_values import (
    folded_name,
    folded_text,
    nearest_text,
    normal_text,
    plain_records,
)

_MIN_READABLE = 0.95  # share of a field's values that a type must be able to read
_MIN_SHARE_OF_CATEGORIES = 0.3
_MIN_ROWS_OF_A_CATEGORY = 10


@dataclass(frozen=True)
class InferredFeatures:
    """Features for the fields of a table, and the reasons why other fields were skipped.

    `missing_tokens`: Words that probably mean missing, and in how many cells of each field they are. Give
        those that do to `infer_features` and `Featurizer`, as missing_tokens.
    `sentinels`: By field, numbers that probably mean missing, and in how many cells they are. The service
        reads them as numbers: leave such cells empty in the table and in the CRM.
    """

    features: list[Feature]
    skipped: dict[str, str]
    missing_tokens: dict[str, dict[str, int]] = field(default_factory=dict)
    sentinels: dict[str, dict[float, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Proposal:
    """The options of `infer_features`."""

    now_ms: float | None
    takes_nan: bool
    most_categories: int
    date_order: Literal["dmy", "mdy"] | None

    def imputed(self, found: list[float], *, has_missing: bool) -> dict[str, Any]:
        """The options for missing values: NaN only if the model takes it and has learnt from it."""
        if self.takes_nan and has_missing:
            return {}
        return {"impute": float(np.median(found)), "missing_column": has_missing}


class _Skipped(Exception):
    """The reason why a field becomes no feature."""


def infer_features(
    records: Any,
    *,
    skip: str | Iterable[str] = (),
    missing_tokens: Sequence[str] = (),
    now: Moment | None = None,
    takes_nan: bool = True,
    most_categories: int = 20,
    date_order: Literal["dmy", "mdy"] | None = None,
) -> InferredFeatures:
    """Proposes a feature for each field that can be one.

    `records`: Training records, a DataFrame or mappings.
    `skip`: Fields to skip: the outcome, and all that becomes known only later. Raises ExportError for a field
        that no record has.
    `now`: The time of scoring, for the ages of dates. The default is the latest date of each field.
    `takes_nan`: False for linear models and networks, which get the median as impute, and a missing_column.

    `date_order`: For dates with slashes that can be read in two ways.

    Numbers that are never missing get their median as impute, because no model learns about NaN from them.
    """
    plain = plain_records(records)
    fields = list(dict.fromkeys(field for record in plain for field in record))
    missing = missing_texts(missing_tokens)
    proposal = _Proposal(None if now is None else unix_ms(now), takes_nan, most_categories, date_order)
    skip_fields, features, skipped = _checked_skip(skip, fields), [], {}
    cells = {name: [record.get(name) for record in plain] for name in fields if name not in skip_fields}
    for name, values in cells.items():
        try:
            features.append(_feature(name, _Values(values, missing), proposal))
        except _Skipped as reason:
            skipped[name] = str(reason)
    sentinels = {name: sentinel_numbers(values, missing) for name, values in cells.items()}
    return InferredFeatures(
        features,
        skipped,
        placeholder_words(cells, missing),
        {name: numbers for name, numbers in sentinels.items() if numbers},
    )


def _checked_skip(skip: str | Iterable[str], fields: Sequence[str]) -> set[str]:
    """The fields to skip, all of which must exist: a misspelt outcome would become a feature."""
    names = {skip} if isinstance(skip, str) else set(skip)
    unknown = sorted(names - set(fields), key=str)
    if unknown and fields:
        texts = [f'"{name}"{nearest_text(str(name), fields)}' for name in unknown]
        raise ExportError(
            f"skip: no record has {', '.join(texts)}; write it as the records do, or leave it out"
        )
    return names


class _Values:
    """The cells of a field, without the missing ones."""

    def __init__(self, cells: Sequence[Any], missing: frozenset[str]) -> None:
        self.no_text = missing
        lists = [cell if isinstance(cell, list) else [cell] for cell in cells]
        self.has_lists = any(len(parts) > 1 for parts in lists)
        # Most cells repeat others, so each different text is folded once.
        texts = {part for parts in lists for part in parts if isinstance(part, str)}
        absent = {text for text in texts if folded_text(text) in missing}
        self.present = [
            part
            for parts in lists
            for part in parts
            if part is not None and not (isinstance(part, str) and part in absent)
        ]
        self.has_missing = len(self.present) < sum(map(len, lists)) or not all(lists)
        scalars = {scalar_text(part) for part in self.present if not isinstance(part, dict | list)}
        self.distinct = {_compared(text) for text in scalars}

    def read(self, reader: Any) -> list[float]:
        """The values that a reader finds, or an empty list if it can read less than 95 %."""
        found = [value for value in map(reader, self.present) if not isinstance(value, NoValue)]
        return found if len(found) >= _MIN_READABLE * len(self.present) else []


def _feature(field: str, values: _Values, proposal: _Proposal) -> Feature:
    _check_usable(field, values)
    separated = sum(isinstance(value, str) and ";" in value for value in values.present)
    if values.has_lists or separated > 0.02 * len(values.present):
        return Multi(field, _frequent(Counter(_parts(values)), proposal.most_categories))
    if truths := values.read(boolean_reader(values.no_text)):
        return Boolean(field, **proposal.imputed(truths, has_missing=values.has_missing))
    if numbers := values.read(number_reader(values.no_text, None)):
        return Number(field, **proposal.imputed(numbers, has_missing=values.has_missing))
    order = date_order_of(values.present) or proposal.date_order
    if dates := values.read(date_reader(values.no_text, order)):
        now_ms = max(dates) if proposal.now_ms is None else proposal.now_ms
        ages = [(now_ms - date) / MS_PER_DAY for date in dates]
        return Date(field, date_order=order, **proposal.imputed(ages, has_missing=values.has_missing))
    return _category(field, values, proposal.most_categories)


def _check_usable(field: str, values: _Values) -> None:
    if any(isinstance(value, dict | list) for value in values.present):
        raise _Skipped("it holds objects or nested lists")
    if len(values.present) < _MIN_ROWS_OF_A_CATEGORY:
        raise _Skipped(f"only {len(values.present)} records have it")
    if len(values.distinct) < 2:
        raise _Skipped("it always has the same value")
    if folded_name(field).endswith("id") and len(values.distinct) > 0.9 * len(values.present):
        raise _Skipped("it is an identifier: its values are all different")


def _category(field: str, values: _Values, most_categories: int) -> Category:
    counts = Counter(scalar_text(value) for value in values.present)
    categories = _frequent(counts, most_categories)
    known = {_compared(category) for category in categories}
    share = sum(count for text, count in counts.items() if _compared(text) in known) / counts.total()
    if share < _MIN_SHARE_OF_CATEGORIES:
        raise _Skipped(
            f"it is free text: its {len(categories)} most frequent values make up {share:.0%} of the records"
        )
    return Category(field, categories, other_column=share < 1, missing_column=values.has_missing)


def _parts(values: _Values) -> list[str]:
    parts = [part for value in values.present for part in scalar_text(value).split(";")]
    absent = {part for part in set(parts) if folded_text(part) in values.no_text}
    return [part for part in parts if part not in absent]


def _compared(text: str) -> str:
    """The form in which the service compares categories: "3.0" is also "3"."""
    return without_zero_fraction(folded_text(text))


def _frequent(texts: Counter[str], max_count: int) -> list[str]:
    """The most frequent texts, each in its most frequent spelling. Rare texts are dropped."""
    spellings: Counter[str] = Counter()
    for text, count in texts.items():
        spellings[normal_text(text)] += count
    counts: Counter[str] = Counter()
    for spelling, count in spellings.items():
        counts[_compared(spelling)] += count
    chosen = [folded for folded, count in counts.most_common(max_count) if count >= _MIN_ROWS_OF_A_CATEGORY]
    if not chosen:
        raise _Skipped(f"none of its values is in {_MIN_ROWS_OF_A_CATEGORY} records")
    commonest = {_compared(spelling): spelling for spelling, _ in reversed(spellings.most_common())}
    return [commonest[folded] for folded in chosen]


def date_order_of(values: Sequence[Any]) -> Literal["dmy", "mdy"] | None:
    """Which number between slashes is the day: the one that exceeds 12. None if no number does."""
    parts = [value.split("/") for value in values if isinstance(value, str) and value.count("/") == 2]
    days = [
        index for part in parts for index in (0, 1) if part[index].strip().isdigit() and int(part[index]) > 12
    ]
    if not days:
        return None
    return "dmy" if days[0] == 0 else "mdy"
