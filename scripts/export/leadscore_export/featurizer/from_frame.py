"""Features of a pandas frame that a model was trained on: one feature with one column for each field.

Nothing here imports pandas: a frame is known by its attributes.
"""

from __future__ import annotations

import numbers
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from leadscore_export.errors import ExportError
from leadscore_export.featurizer.feature_types import Boolean, Category, Feature, Number
from leadscore_export.featurizer.read_cell import scalar_text
from leadscore_export.featurizer.record_values import folded_text, plain_value

if TYPE_CHECKING:
    from leadscore_export.featurizer.featurizer import Featurizer

Vector = npt.NDArray[np.float64]
_NUMBERS, _TRUTHS, _MOMENTS = "iuf", "b", "mM"


def is_frame(table: Any) -> bool:
    """Whether a table is a pandas DataFrame."""
    return all(hasattr(table, name) for name in ("columns", "dtypes", "iloc", "to_dict"))


def frame_features(frame: Any) -> list[Feature]:
    """A Number, Boolean or ordinal Category for each column of a frame, in order. Raises ExportError.

    A column without gaps gets its median or commonest value as impute, because a model without NaN in
    training learns nothing about it. Texts have the categories that `astype("category")` gives.
    """
    _check_frame(frame)
    _warn_of_dummies(frame)
    return [_feature(str(field), column) for field, column in _columns(frame)]


def holds_fields(table: Any, featurizer: Featurizer) -> bool:
    """Whether a table holds fields to read, and not rows of the featurizer.

    A frame of numbers with the featurizer's width holds its rows.
    """
    if not is_frame(table):
        return False
    are_numbers = all(_is_plain_number(kind) for kind in table.dtypes)
    return not are_numbers or len(table.columns) != featurizer.width


def is_reordered(table: Any, featurizer: Featurizer) -> bool:
    """Whether the columns of a frame are the features' fields in another order."""
    fields = [feature["field"] for feature in featurizer.features]
    names = [str(name) for name in table.columns] if is_frame(table) else fields
    return names != fields and sorted(names) == sorted(fields)


def holds_texts(frame: Any) -> bool:
    """Whether a frame has a column that is neither a number, nor a truth, nor of the dtype category."""
    return any(_is_text(column) for _, column in _columns(frame))


def check_same_fields(frame: Any, featurizer: Featurizer) -> None:
    """Raises ExportError unless the columns of a frame are the fields of one-column features, in order."""
    fields = [feature["field"] for feature in featurizer.features]
    given = [str(name) for name in frame.columns]
    lacking = [name for name in fields if name not in given]
    further = [name for name in given if name not in fields]
    if lacking or further or given != fields:
        texts = [
            f"no feature reads its column {_listed(further)}" if further else "",
            f"it lacks the field {_listed(lacking)}" if lacking else "",
            "" if lacking or further else "its columns have another order than the features",
        ]
        raise ExportError(
            f"X is a frame, and {' and '.join(text for text in texts if text)}; give the frame that the "
            "model was trained on, and Featurizer.from_frame(X) as features"
        )
    if featurizer.width != len(fields):
        wide = [each["field"] for each in featurizer.features if _width(each) > 1]
        raise ExportError(
            f"X is a frame of fields, but the features make several columns of {_listed(wide)}; give "
            "Featurizer.from_frame(X) as features, or make X with Featurizer.rows"
        )
    for field, column in _columns(frame):
        if _is_text(column):
            raise ExportError(
                f'the column "{field}" of X holds texts, which no classifier takes. Train on '
                f'df["{field}"].astype("category"), or on a Pipeline that encodes it, and give that frame'
            )


def frame_rows(frame: Any, featurizer: Featurizer) -> Vector:
    """The rows that the service makes of a frame's fields. Raises ExportError for a cell that it refuses."""
    for field, column in _columns(frame):
        if column.dtype.kind == "f" and np.isinf(_floats(column)).any():
            raise ExportError(
                f'the column "{field}" of X holds infinite numbers, which the service never sends; replace '
                "them "
                "before training"
            )
    return featurizer.rows(frame)


def _check_frame(frame: Any) -> None:
    if not is_frame(frame):
        also = "; call .to_pandas() first" if hasattr(frame, "to_pandas") else ""
        raise ExportError(f"from_frame needs a pandas DataFrame, not a {type(frame).__name__}{also}")
    names = list(frame.columns)
    if not names or len(frame) == 0:
        raise ExportError("the frame has no columns or no rows; give the frame that the model was trained on")
    unnamed = [name for name in names if not isinstance(name, str) or not name.strip()]
    if unnamed:
        raise ExportError(
            f"the frame has a column named {unnamed[0]!r}; name each column as the CRM names the field, "
            "with a text: df.columns = [...]"
        )
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ExportError(
            f"the frame has several columns named {_listed(twice)}; rename or drop all but one, and train "
            "again"
        )


def _warn_of_dummies(frame: Any) -> None:
    """Warns of columns that are one-hot columns of one field, which a CRM does not send."""
    by_prefix: dict[str, list[str]] = {}
    marks: dict[str, Vector] = {}
    for name, column in _columns(frame):
        prefix, separator, _ = name.rpartition("_")
        if not separator or _is_category(column) or column.dtype.kind not in "iub" or column.isna().any():
            continue
        values = _floats(column)
        if np.isin(values, (0, 1)).all() and values.any():
            by_prefix.setdefault(prefix, []).append(name)
            marks[name] = values
    for prefix, names in by_prefix.items():
        if len(names) > 1 and np.sum([marks[name] for name in names], axis=0).max() == 1:
            warnings.warn(
                f"the columns {_listed(names)} look like one-hot columns of one field. If the CRM sends "
                f'"{prefix}", train on that text as a category, or in a Pipeline with a OneHotEncoder',
                stacklevel=4,
            )


def _feature(field: str, column: Any) -> Feature:
    kind, has_gaps = column.dtype.kind, bool(column.isna().any())
    if _is_category(column):
        return _category(field, column.cat.categories)
    if kind in _NUMBERS:
        numbers_ = _floats(column)
        return Number(field, impute=None if has_gaps else float(np.median(numbers_)))
    if kind in _TRUTHS:
        return Boolean(field, impute=None if has_gaps else float(_floats(column).mean() > 0.5))
    if kind in _MOMENTS:
        raise ExportError(
            f'the column "{field}" holds {column.dtype.name}. The service converts a date to days before the '
            f'request: use Featurizer([..., Date("{field}")]), and train on its rows'
        )
    return _text_feature(field, column)


def _category(field: str, categories: Any) -> Category:
    texts = []
    for category in categories.tolist():
        if not isinstance(category, str | bool | int | float | np.number | np.bool_):
            raise ExportError(
                f'the column "{field}" has the category {category!r}, a {type(category).__name__}, which '
                "no CRM "
                "sends; make categories of texts or numbers, or keep the number itself"
            )
        texts.append(scalar_text(plain_value(category)))
    if not texts:
        raise ExportError(f'the column "{field}" has no categories; drop it, and train again')
    by_folded: dict[str, str] = {}
    for text in texts:
        if (known := by_folded.get(folded_text(text))) is not None:
            raise ExportError(
                f'the column "{field}" has the categories "{known}" and "{text}", which the service reads as '
                f'one: it ignores case and spaces. Merge them (df["{field}"].replace), and train again'
            )
        by_folded[folded_text(text)] = text
    return Category(field, texts, encoding="ordinal")


def _text_feature(field: str, column: Any) -> Feature:
    """The feature of a column of texts, which only a Pipeline can encode."""
    present = column[column.notna()].tolist()
    kinds = sorted({type(value).__name__ for value in present if not isinstance(value, str)})
    if not present:
        raise ExportError(f'the column "{field}" has no values; drop it, and train again')
    if not kinds:
        by_folded = {folded_text(text): text for text in sorted(set(present), reverse=True)}
        return Category(field, sorted(by_folded.values()), encoding="ordinal")
    found = f'the column "{field}" of dtype {column.dtype.name} holds values of the type {_listed(kinds)}'
    if all(isinstance(value, bool | np.bool_) for value in present):
        remedy = f'write df["{field}"].astype("boolean")'
    elif all(isinstance(value, numbers.Number) and not isinstance(value, complex) for value in present):
        remedy = f'write pandas.to_numeric(df["{field}"])'
    elif all(isinstance(value, date) for value in present):
        remedy = f'use Featurizer([..., Date("{field}")]), and train on its rows'
    else:
        remedy = "give texts, numbers or booleans, or drop the column"
    raise ExportError(f"{found}; {remedy}, and train again")


def _columns(frame: Any) -> Iterator[tuple[Any, Any]]:
    return ((name, frame.iloc[:, index]) for index, name in enumerate(frame.columns))


def _is_category(column: Any) -> bool:
    return bool(column.dtype.name == "category")


def _is_text(column: Any) -> bool:
    return not (_is_category(column) or column.dtype.kind in _NUMBERS + _TRUTHS)


def _is_plain_number(kind: Any) -> bool:
    return isinstance(kind, np.dtype) and kind.kind in _NUMBERS + _TRUTHS


def _floats(column: Any) -> Vector:
    values: Vector = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return values


def _width(feature: Any) -> int:
    return len(feature["columns"]) + ("other_column" in feature) + ("missing_column" in feature)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names[:5]) + (", ..." if len(names) > 5 else "")
