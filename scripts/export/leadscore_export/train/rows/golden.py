"""Golden records that are no person: each field of a record comes from another row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from leadscore_export.featurizer.featurizer import Featurizer
from leadscore_export.featurizer.read_cell import UNREADABLE, category_reader, missing_texts, multi_reader
from leadscore_export.train.read_table import Table

Indexes = npt.NDArray[np.intp]

_MAX_RECORDS = 400  # the exporter keeps 200 of different rows
_SEED = 0
_OTHER = "another value"


def golden_records(table: Table, held: Indexes, featurizer: Featurizer) -> list[dict[str, Any]]:
    """Up to 400 records of the features' fields. Texts that are no category may name people: none remains."""
    draw = np.random.default_rng(_SEED)
    count = min(_MAX_RECORDS, len(held))
    missing = missing_texts(featurizer.missing_tokens)
    by_field = {}
    for feature in featurizer.features:
        name = feature["field"]
        cells = table.columns[name].cells(held[draw.permutation(len(held))[:count]])
        by_field[name] = [_impersonal(cell, feature, missing) for cell in cells]
    return [dict(zip(by_field, cells, strict=True)) for cells in zip(*by_field.values(), strict=True)]


def _impersonal(cell: Any, feature: Mapping[str, Any], missing: frozenset[str]) -> Any:
    if isinstance(cell, list) and feature["type"] != "multi":
        return ""
    if feature["type"] == "category":
        read = category_reader(missing, feature["categories"], feature.get("category_aliases"))
        return _OTHER if read(cell) is UNREADABLE else cell
    if feature["type"] == "multi":
        separator = feature.get("separator", ";")
        read_part = multi_reader(missing, feature["categories"], separator)
        parts = cell if isinstance(cell, list) else [cell]
        indexes = [index for part in parts for index in read_part(part)[0]]
        if isinstance(cell, list):
            return [feature["categories"][index] for index in sorted(set(indexes))]
        return separator.join(feature["categories"][index] for index in sorted(set(indexes)))
    # The forms of numbers, truths and dates hold no words.
    if not isinstance(cell, str):
        return cell
    return cell if any(character.isdigit() for character in cell) or len(cell) <= 5 else ""
