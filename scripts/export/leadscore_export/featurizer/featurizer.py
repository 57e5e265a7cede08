"""Converts CRM records to the input rows of a model, as the service does (docs/models.md, "Values")."""

from __future__ import annotations

import math
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import numpy.typing as npt

from leadscore_export.errors import ExportError, UnusableRecord
from leadscore_export.featurizer.feature_reader import FeatureReader, FoldedKeys
from leadscore_export.featurizer.feature_types import Feature, manifest_features
from leadscore_export.featurizer.from_frame import frame_features
from leadscore_export.featurizer.read_cell import missing_texts
from leadscore_export.featurizer.record_values import Record, folded_name, nearest_text, plain_records

Rows = npt.NDArray[np.float64]
Moment = datetime | str | int | float
_MAX_FOLDED_NAME = 4096
_REFUSED = re.compile(r'[\[\]{}<>:,"]')  # in column names, by LightGBM or XGBoost
_MANY_RECORDS = 20  # enough records that a feature without any value is most likely a mistake
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MAX_UNIX_MS = 253_402_300_799_999  # the last of the year 9999


class Featurizer:
    """Converts records to rows of `width` numbers.

    `features`: The model's inputs, in the order of the columns.
    `missing_tokens`: Further texts that mean missing in every field, such as "unknown".
    """

    def __init__(self, features: Sequence[Feature], *, missing_tokens: Sequence[str] = ()) -> None:
        written, width = manifest_features(features)
        self._compile(written, width, missing_tokens)

    @classmethod
    def from_manifest(cls, manifest: Mapping[str, Any]) -> Featurizer:
        """The featurizer of a bundle. `manifest`: A parsed manifest.json; `features` and `width` suffice."""
        featurizer = cls.__new__(cls)
        featurizer._compile(manifest["features"], manifest["width"], manifest.get("missing_tokens", ()))
        return featurizer

    @classmethod
    def from_frame(cls, frame: Any, *, missing_tokens: Sequence[str] = ()) -> Featurizer:
        """The featurizer of a model that was trained on a pandas frame: one column for each field, in order.

        Raises ExportError for a column that the service cannot read, with the remedy.
        """
        return cls(frame_features(frame), missing_tokens=missing_tokens)

    def _compile(
        self, features: Sequence[Mapping[str, Any]], width: int, missing_tokens: Sequence[str]
    ) -> None:
        missing = missing_texts(missing_tokens)
        self.features: list[Mapping[str, Any]] = list(features)
        self.width = width
        self.missing_tokens = list(missing_tokens)
        self._readers = [FeatureReader(feature, missing) for feature in features]
        fields = {feature["field"] for feature in features}
        folded = Counter(folded_name(field) for field in fields)
        self._namesakes = {field for field in fields if folded[folded_name(field)] > 1}
        self._missing_row = [0.0] * width
        for feature in features:
            _write_missing(self._missing_row, feature)

    @property
    def column_names(self) -> list[str]:
        """A readable name for each column: "Industry = Retail", "Industry is missing"."""
        names = [""] * self.width
        for feature in self.features:
            name, columns = feature["field"], feature["columns"]
            parts = (
                [f"{name} = {category}" for category in feature["categories"]] if len(columns) > 1 else [name]
            )
            for column, part in zip(columns, parts, strict=True):
                names[column] = part
            for extra, text in (("other_column", "is another"), ("missing_column", "is missing")):
                if extra in feature:
                    names[feature[extra]] = f"{name} {text}"
        return names

    @property
    def plain_column_names(self) -> list[str]:
        """`column_names` that LightGBM and XGBoost accept as the names of a table's columns.

        `_` replaces the characters []{}<>:," and numbers tell equal names apart.
        """
        names: list[str] = []
        taken: set[str] = set()
        for name in self.column_names:
            plain = unique = _REFUSED.sub("_", name)
            number = 1
            while unique in taken:
                number += 1
                unique = f"{plain}_{number}"
            taken.add(unique)
            names.append(unique)
        return names

    def rows(self, records: Any, now: Moment | Sequence[Moment] | None = None) -> Rows:
        """One row of float64 per record, NaN where a value is missing and not imputed.

        `records`: A pandas DataFrame, or mappings from field to value.
        `now`: The time of scoring, for all records or one each: datetime, ISO 8601 or Unix ms, UTC by
            default. Required for date features.

        Raises UnusableRecord with the record's number. Warns of features that find no value in 20 records or
        more.
        """
        plain = plain_records(records)
        if now is None and any(feature["type"] == "date" for feature in self.features):
            raise UnusableRecord("a feature is a date; give now=, the time at which the records were scored")
        times = request_times(0 if now is None else now, len(plain))
        rows = np.empty((len(plain), self.width))
        found: set[int] = set()
        for index, (record, time_ms) in enumerate(zip(plain, times, strict=True)):
            try:
                rows[index] = self._row(record, time_ms, found)
            except UnusableRecord as problem:
                raise UnusableRecord(f"record {index + 1}: {problem}") from None
        if len(plain) >= _MANY_RECORDS and len(found) < len(self._readers):
            warnings.warn(self._not_found_text(plain, found), stacklevel=2)
        return rows

    def missing_row(self) -> Rows:
        """The row of a record without any value."""
        return np.asarray(self._missing_row)

    def _not_found_text(self, records: Sequence[Record], found: set[int]) -> str:
        """The warning about features that read nothing. `found`: The indexes of the others."""
        keys: dict[str, Any] = {key: None for record in records for key in record}
        folded = self._folded_keys(keys)
        texts = []
        for reader in [reader for index, reader in enumerate(self._readers) if index not in found]:
            if reader.key_in(keys, folded) is None:
                texts.append(f'"{reader.field}"{nearest_text(reader.field, list(keys))}')
            else:
                texts.append(f'a readable value of "{reader.field}"')
        return (
            f"no record has {', or '.join(texts)}: check the spelling of each field and the type of its "
            "feature"
        )

    def _folded_keys(self, record: Record) -> FoldedKeys:
        first = _first_by_folded_name(record)
        if not self._namesakes:
            return FoldedKeys(first, first)
        return FoldedKeys(first, _first_by_folded_name(record, self._namesakes))

    def _row(self, record: Record, now_ms: float, found: set[int]) -> list[float]:
        row = self._missing_row.copy()
        folded = self._folded_keys(record)
        is_known = False
        for index, reader in enumerate(self._readers):
            key = reader.key_in(record, folded)
            is_known = is_known or key is not None
            if reader.fill(row, None if key is None else record[key], now_ms):
                found.add(index)
            elif reader.is_required:
                raise UnusableRecord(f"{reader.field} is required and has no readable value")
        if not is_known:
            raise UnusableRecord("none of its fields is one that the model knows")
        return row


def _write_missing(row: list[float], feature: Mapping[str, Any]) -> None:
    if feature["type"] != "multi" and feature.get("encoding") != "onehot":
        row[feature["columns"][0]] = float(feature.get("impute", math.nan))
    if "missing_column" in feature:
        row[feature["missing_column"]] = 1.0


def _first_by_folded_name(record: Record, without: Set[str] = frozenset()) -> dict[str, tuple[int, str]]:
    """The first key per folded name, with its index. `without`: Keys to pass over."""
    folded: dict[str, tuple[int, str]] = {}
    for index, key in enumerate(record):
        if len(key) <= _MAX_FOLDED_NAME and key not in without:
            folded.setdefault(folded_name(key), (index, key))
    return folded


def request_times(now: Moment | Sequence[Moment], count: int) -> list[float]:
    """Unix ms for `count` requests. `now`: One time for all, or one each."""
    if isinstance(now, datetime | str | int | float):
        return [unix_ms(now)] * count
    if not isinstance(now, Iterable):
        raise ExportError(f"now is {now!r}; give one time for all records, or one for each")
    times = [unix_ms(moment) for moment in now]
    if len(times) != count:
        raise ExportError(
            f"now has {len(times)} times for {count} records; give one time for all, or one for each"
        )
    return times


def unix_ms(moment: Moment) -> float:
    """A time as Unix ms, UTC if it has no zone. Raises ExportError if it is no time."""
    if isinstance(moment, int | float):
        if not abs(moment) <= _MAX_UNIX_MS:
            raise ExportError(f"{moment!r} is no time in Unix milliseconds before the year 10,000")
        return float(moment)
    try:
        at = datetime.fromisoformat(moment.replace("Z", "+00:00")) if isinstance(moment, str) else moment
        return ((at if at.tzinfo else at.replace(tzinfo=timezone.utc)) - _EPOCH) / timedelta(milliseconds=1)
    except (AttributeError, TypeError, ValueError) as problem:
        raise ExportError(
            f"{moment!r} is no time; give a datetime, ISO 8601 (2026-11-20T00:00:00Z) or Unix milliseconds"
        ) from problem
