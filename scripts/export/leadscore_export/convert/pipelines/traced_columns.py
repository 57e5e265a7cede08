"""Columns of a pipeline's table, traced from the fields of a frame, and the features that fill them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from leadscore_export.convert.pipelines.trained_table import Operation, TableColumn, TrainedTable
from leadscore_export.errors import ExportError
from leadscore_export.featurizer.feature_types import Boolean, Category, Feature, Number
from leadscore_export.featurizer.featurizer import Featurizer

# Words of a boolean field that a CRM may send, where a pipeline encodes true and false.
_TRUTH_ALIASES = {
    "true": ("1", "yes", "y", "t", "on"),
    "false": ("0", "no", "n", "f", "off"),
}


@dataclass(frozen=True)
class FieldColumn:
    """A field as it is, with its gaps filled or not.

    `feature`: The feature that reads the field.
    `fill`: The value of the imputer, None without one.
    `step`: The last step that changed the column, for messages.
    """

    feature: Feature
    fill: Any = None
    operations: tuple[Operation, ...] = ()
    step: str = ""


@dataclass(frozen=True)
class CodeColumn:
    """A category as its index. `missing`, `unknown`: The numbers for these values, NaN for none."""

    feature: Feature
    categories: tuple[str, ...]
    missing: float
    unknown: float
    operations: tuple[Operation, ...] = ()
    step: str = ""


@dataclass(frozen=True, eq=False)
class Encoding:
    """A field as one-hot columns. After the categories come the indexes of a missing value and of others."""

    feature: Feature
    categories: tuple[str, ...]

    @property
    def missing(self) -> int:
        """The index of a missing value."""
        return len(self.categories)

    @property
    def unknown(self) -> int:
        """The index of a value that is no category."""
        return len(self.categories) + 1


@dataclass(frozen=True)
class OneHotColumn:
    """1 if the index of the value is a member, else 0."""

    encoding: Encoding
    members: tuple[int, ...]
    operations: tuple[Operation, ...] = ()
    step: str = ""

    @property
    def feature(self) -> Feature:
        """The feature that reads the field."""
        return self.encoding.feature


@dataclass(frozen=True)
class MissingColumn:
    """1 if the field is missing, else 0."""

    feature: Feature
    operations: tuple[Operation, ...] = ()
    step: str = ""


TracedColumn = FieldColumn | CodeColumn | OneHotColumn | MissingColumn


def features_of(
    columns: Sequence[TracedColumn], missing_tokens: Sequence[str], *, for_trees: bool
) -> tuple[Featurizer, TrainedTable]:
    """The features that fill the columns, and the columns in terms of the features'.

    `for_trees`: One-hot columns become one column with the index, which trees test for membership.
    """
    used: dict[Encoding, set[int]] = {}
    for column in columns:
        if isinstance(column, OneHotColumn):
            used.setdefault(column.encoding, set()).update(column.members)
    gathered = _GatheredFeatures(for_trees, used)
    # A pipeline may pass one column on twice.
    distinct = list({id(column): column for column in columns}.values())
    for column in distinct:
        if not isinstance(column, MissingColumn):
            gathered.draft(column)
    for column in distinct:
        if isinstance(column, MissingColumn):
            gathered.mark_missing(column)
    if not gathered.features:
        raise ExportError("the pipeline gives the classifier no column of a field; let it keep one")
    featurizer = Featurizer(gathered.features, missing_tokens=missing_tokens)
    return featurizer, TrainedTable(
        featurizer.width, tuple(gathered.table_column(column, featurizer) for column in columns)
    )


class _GatheredFeatures:
    """Features in the order of the columns that need them."""

    def __init__(self, for_trees: bool, used: Mapping[Encoding, Set[int]]) -> None:
        self._for_trees = for_trees
        self._used = used
        self.features: list[Feature] = []
        self._index_of: dict[int, int] = {}
        self._encodings: dict[Encoding, int] = {}
        self._marked: set[int] = set()

    def draft(self, column: TracedColumn) -> None:
        """Adds the feature of a column, unless another one-hot column has added it."""
        if isinstance(column, OneHotColumn):
            if column.encoding not in self._encodings:
                self._encodings[column.encoding] = self._add(self._encoded(column.encoding))
            return
        self._index_of[id(column)] = self._add(_single(column))

    def mark_missing(self, column: MissingColumn) -> None:
        """Adds a missing_column to a feature of the field."""
        for index, feature in enumerate(self.features):
            if feature.field == column.feature.field and index not in self._marked:
                self._marked.add(index)
                self._index_of[id(column)] = index
                self.features[index] = dataclasses.replace(feature, missing_column=True)  # type: ignore[call-arg]
                return
        raise ExportError(
            f'the step {column.step} marks the gaps of "{column.feature.field}", but drops its value; keep '
            "both"
        )

    def table_column(self, column: TracedColumn, featurizer: Featurizer) -> TableColumn:
        """A column in terms of the columns of the features."""
        if not isinstance(column, OneHotColumn):
            entry = featurizer.features[self._index_of[id(column)]]
            is_mark = isinstance(column, MissingColumn)
            column_index = entry["missing_column"] if is_mark else entry["columns"][0]
            return TableColumn(column_index, operations=column.operations)
        encoding = column.encoding
        entry = featurizer.features[self._encodings[encoding]]
        if self._for_trees:
            return TableColumn(
                entry["columns"][0], members=tuple(column.members), operations=column.operations
            )
        extras = {encoding.missing: "missing_column", encoding.unknown: "other_column"}
        first, *added = [
            entry[extras[index]] if index in extras else entry["columns"][index] for index in column.members
        ]
        return TableColumn(first, added=tuple(added), operations=column.operations)

    def _add(self, feature: Feature) -> int:
        self.features.append(feature)
        return len(self.features) - 1

    def _encoded(self, encoding: Encoding) -> Feature:
        given = _named(encoding.feature)
        if self._for_trees:
            return Category(
                categories=encoding.categories,
                encoding="ordinal",
                impute=encoding.missing,
                other_value=encoding.unknown,
                **_aliases(encoding.feature, encoding.categories),
                **given,
            )
        return Category(
            categories=encoding.categories,
            missing_column=encoding.missing in self._used[encoding],
            other_column=encoding.unknown in self._used[encoding],
            **_aliases(encoding.feature, encoding.categories),
            **given,
        )


def _single(column: FieldColumn | CodeColumn | MissingColumn) -> Feature:
    """The feature of a column, except a one-hot column."""
    feature = column.feature
    if isinstance(column, CodeColumn):
        numbers = {"impute": column.missing, "other_value": column.unknown}
        return Category(
            categories=column.categories,
            encoding="ordinal",
            **{name: number for name, number in numbers.items() if number == number},
            **_aliases(feature, column.categories),
            **_named(feature),
        )
    if not isinstance(feature, Number | Boolean) or not isinstance(column, FieldColumn):
        raise ExportError(
            f'the column "{feature.field}" reaches the classifier as a text; encode it in the pipeline '
            "(OneHotEncoder, OrdinalEncoder), or drop it there"
        )
    impute = feature.impute if column.fill is None else float(column.fill)
    return dataclasses.replace(feature, impute=impute, missing_column=False)


def _named(feature: Feature) -> dict[str, Any]:
    return {
        "field": feature.field,
        "label": feature.label,
        "aliases": feature.aliases,
        "required": feature.required,
    }


def _aliases(feature: Feature, categories: Sequence[str]) -> dict[str, Any]:
    """The aliases of a feature's categories that the encoder knows."""
    if isinstance(feature, Boolean):
        words = {word: truth for truth in categories for word in _TRUTH_ALIASES.get(truth, ())}
        return {"category_aliases": words}
    if not isinstance(feature, Category):
        return {}
    known = {seen: target for seen, target in feature.category_aliases.items() if target in categories}
    return {"category_aliases": known}
