"""The feature types of a bundle, one object per feature (docs/models.md, "A feature")."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

from leadscore_export.errors import ExportError
from leadscore_export.featurizer.record_values import folded_text

_OPTIONAL = ("unit", "date_order", "impute", "other_value")


class _Printed:
    """Prints as its constructor call without default values, so that a proposal can be pasted into code."""

    def __repr__(self) -> str:
        given = []
        for option in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, option.name)
            if option.default is dataclasses.MISSING and option.default_factory is dataclasses.MISSING:
                given.append(repr(value))
            elif value != option.default and value not in ((), {}):
                given.append(f"{option.name}={value!r}")
        return f"{type(self).__name__}({', '.join(given)})"


@dataclass(frozen=True, repr=False)
class Number(_Printed):
    """A number, in one column.

    `impute`: The value if it is missing, by default NaN.
    `missing_column`: Adds a column that is 1 if the value is missing.
    `unit`: With "fraction", "45%" is 0.45.
    """

    field: str
    _: KW_ONLY
    label: str | None = None
    aliases: Sequence[str] = ()
    required: bool = False
    impute: float | None = None
    missing_column: bool = False
    unit: str | None = None


@dataclass(frozen=True, repr=False)
class Boolean(_Printed):
    """True or false, in one column of 1 and 0. `impute`: The value if it is missing, by default NaN."""

    field: str
    _: KW_ONLY
    label: str | None = None
    aliases: Sequence[str] = ()
    required: bool = False
    impute: float | None = None
    missing_column: bool = False


@dataclass(frozen=True, repr=False)
class Category(_Printed):
    """One of several texts.

    `encoding`: "onehot" has a column per category, "ordinal" one column with the index in `categories`.
    `other_column`: For "onehot", adds a column for values that are no category.
    `other_value`: For "ordinal", the number for values that are no category, by default NaN.
    `impute`: For "ordinal", the number if the value is missing, by default NaN.
    `category_aliases`: Maps a value in records to the category that it means.
    """

    field: str
    categories: Sequence[str]
    _: KW_ONLY
    encoding: Literal["onehot", "ordinal"] = "onehot"
    label: str | None = None
    aliases: Sequence[str] = ()
    required: bool = False
    category_aliases: Mapping[str, str] = dataclasses.field(default_factory=dict)
    other_column: bool = False
    other_value: float | None = None
    impute: float | None = None
    missing_column: bool = False

    def __post_init__(self) -> None:
        _take_list(self)
        _check_categories(self.field, self.categories)
        _check_aliases(self.field, self.categories, self.category_aliases)
        if self.encoding == "onehot" and (self.other_value is not None or self.impute is not None):
            raise ExportError(
                f'{self.field}: other_value and impute belong to the encoding "ordinal"; for one-hot '
                "columns use other_column=True and missing_column=True"
            )
        if self.encoding == "ordinal" and self.other_column:
            raise ExportError(
                f'{self.field}: other_column belongs to the encoding "onehot"; for an ordinal use '
                "other_value=-1"
            )


@dataclass(frozen=True, repr=False)
class Multi(_Printed):
    """Several texts at once ("Analytics;Forecasting", or a list): one column per category."""

    field: str
    categories: Sequence[str]
    _: KW_ONLY
    label: str | None = None
    aliases: Sequence[str] = ()
    required: bool = False
    separator: str = ";"

    def __post_init__(self) -> None:
        _take_list(self)
        _check_categories(self.field, self.categories)


@dataclass(frozen=True, repr=False)
class Date(_Printed):
    """A date, in one column: the days from it to the time of the request, with fractions.

    `date_order`: "dmy" or "mdy", to read dates with slashes.
    `impute`: The days if it is missing, by default NaN.
    """

    field: str
    _: KW_ONLY
    label: str | None = None
    aliases: Sequence[str] = ()
    required: bool = False
    date_order: Literal["dmy", "mdy"] | None = None
    impute: float | None = None
    missing_column: bool = False


Feature = Number | Boolean | Category | Multi | Date
_TYPE_NAMES: dict[type, str] = {
    Number: "number",
    Boolean: "boolean",
    Category: "category",
    Multi: "multi",
    Date: "date",
}


def manifest_features(features: Sequence[Feature]) -> tuple[list[dict[str, Any]], int]:
    """The manifest's `features` with columns assigned in order, and the number of columns."""
    width = 0
    written = []
    for feature in features:
        if type(feature) not in _TYPE_NAMES:
            raise ExportError(
                f"features holds {feature!r}; give a Featurizer, or a list of Number, Boolean, Category, "
                "Multi and Date"
            )
        entry = _without_columns(feature)
        count = column_count(entry)
        entry["columns"] = list(range(width, width + count))
        width += count
        for extra in ("other_column", "missing_column"):
            if getattr(feature, extra, False):
                entry[extra] = width
                width += 1
        written.append(entry)
    return written, width


def column_count(feature: Mapping[str, Any]) -> int:
    """The number of `columns` of a manifest's feature: one per category, or one."""
    has_many = feature["type"] == "multi" or feature.get("encoding") == "onehot"
    return len(feature["categories"]) if has_many else 1


def columns_of(feature: Mapping[str, Any]) -> list[int]:
    """All columns of a manifest's feature, also those of other and of missing values."""
    extras = [feature[key] for key in ("other_column", "missing_column") if key in feature]
    return [*feature["columns"], *extras]


def columns_by_field(features: Sequence[Mapping[str, Any]]) -> dict[str, list[int]]:
    """All columns of each field: several features may read one."""
    found: dict[str, list[int]] = {}
    for feature in features:
        found.setdefault(feature["field"], []).extend(columns_of(feature))
    return found


def _without_columns(feature: Feature) -> dict[str, Any]:
    name = feature.field
    entry: dict[str, Any] = {
        "field": name,
        "label": feature.label or name,
        "type": _TYPE_NAMES[type(feature)],
    }
    if feature.aliases:
        entry["aliases"] = list(feature.aliases)
    if feature.required:
        entry["required"] = True
    if isinstance(feature, Category):
        entry |= {"encoding": feature.encoding, "categories": list(feature.categories)}
        if feature.category_aliases:
            entry["category_aliases"] = dict(feature.category_aliases)
    if isinstance(feature, Multi):
        entry |= {"categories": list(feature.categories), "separator": feature.separator}
    given = {key: getattr(feature, key, None) for key in _OPTIONAL}
    entry |= {key: _number_or_text(value) for key, value in given.items() if value is not None}
    return entry


def _number_or_text(value: Any) -> Any:
    return value if isinstance(value, str) else float(value)


def _take_list(feature: Category | Multi) -> None:
    """Categories may be an array, or a column of a table."""
    if hasattr(feature.categories, "tolist"):
        object.__setattr__(feature, "categories", feature.categories.tolist())


def _check_categories(field_name: str, categories: Sequence[str]) -> None:
    if isinstance(categories, set | frozenset):
        raise ExportError(f"{field_name}: categories are a set, which has no order; write sorted(...)")
    if isinstance(categories, str) or not isinstance(categories, Sequence) or not categories:
        raise ExportError(f"{field_name}: categories must be a list with at least one text")
    seen: dict[str, str] = {}
    for category in categories:
        if category is None or type(category).__name__ == "NAType" or category != category:
            raise ExportError(
                f"{field_name}: {category!r} is among the categories; leave it out, because a missing "
                "value is no category (missing_column=True marks it)"
            )
        if not isinstance(category, str):
            raise ExportError(
                f"{field_name}: the category {category!r} is not a text; write it as {str(category)!r}"
            )
        known = seen.setdefault(folded_text(category), category)
        if known is not category:
            raise ExportError(
                f'{field_name}: "{category}" and "{known}" differ only in case or spaces; keep one'
            )


def _check_aliases(field_name: str, categories: Sequence[str], aliases: Mapping[str, str]) -> None:
    words = {folded_text(category): category for category in categories}
    for seen, target in aliases.items():
        if folded_text(target) not in words:
            raise ExportError(
                f'{field_name}: the alias "{seen}" stands for "{target}", which is no category; add it '
                "to categories, or correct the alias"
            )
        known = words.get(folded_text(seen))
        if known is not None and folded_text(known) != folded_text(target):
            raise ExportError(f'{field_name}: the alias "{seen}" already means "{known}"; leave it out')
