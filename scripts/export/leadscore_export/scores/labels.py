"""Reads outcomes: 1 and 0, the usual words for won and lost, or one value that means converted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from leadscore_export.errors import ExportError
from leadscore_export.featurizer.record_values import folded_text, nearest_text

Vector = npt.NDArray[np.float64]

# The words of `leadscore outcomes import`; there, "open" means lost too.
WON_WORDS = ("1", "true", "yes", "y", "t", "on", "won", "converted")
LOST_WORDS = ("0", "false", "no", "n", "f", "off", "lost")
# With the stages of a deal.
_WON = frozenset((*WON_WORDS, "closed won", "customer"))
_LOST = frozenset((*LOST_WORDS, "open", "closed lost", "not won", "not converted"))
_MAX_SHOWN = 5  # values of y in a message


def outcomes_of(values: Sequence[Any], positive: Any = None) -> Vector:
    """1 for each value that means converted, else 0. Raises ExportError, with the remedy.

    `values`: Outcomes without missing ones.
    `positive`: The one value that means converted; all others then mean not converted.
    """
    counts = Counter(_key(value) for value in values)
    meaning = _meanings([key for key, _ in counts.most_common()], counts, positive)
    found = set(meaning.values())
    if len(found) < 2:
        (only,) = found
        raise ExportError(
            f"y holds one class only ({int(only)} in all rows); give leads that converted and leads that did "
            "not"
        )
    return np.array([meaning[_key(value)] for value in values], dtype=np.float64)


def positive_index(classes: Sequence[Any], positive: Any = None) -> int:
    """The index of the class that means converted among a model's two classes. Raises ExportError."""
    if list(classes) == [0, 1]:
        return 1
    trained = f"the model was trained on the classes {[_key(value) for value in classes]}"
    if len(classes) != 2:
        raise ExportError(f"{trained}; train it on 0 and 1, where 1 means converted")
    try:
        return int(np.argmax(outcomes_of(classes, positive)))
    except ExportError as problem:
        raise ExportError(
            f"{trained}; train it on 0 and 1, where 1 means converted, or give positive=, the class that "
            "means converted"
        ) from problem


def _meanings(keys: Sequence[Any], counts: Counter[Any], positive: Any) -> dict[Any, float]:
    if positive is not None:
        return _against(keys, _key(positive))
    words = [key for key in keys if isinstance(key, str)]
    if not words and all(key in (0, 1) for key in keys):
        return {key: float(key) for key in keys}
    meanings = {key: _usual(key) for key in keys}
    unknown = [key for key in keys if meanings[key] is None]
    if not unknown:
        return {key: float(meaning or 0) for key, meaning in meanings.items()}
    shown = ", ".join(map(repr, keys[:_MAX_SHOWN])) + (", ..." if len(keys) > _MAX_SHOWN else "")
    rows = sum(counts[key] for key in unknown)
    known = next((key for key in keys if meanings[key] == 1), None)
    likely = unknown[0] if known is None else known
    raise ExportError(
        f"y holds {shown}. {unknown[0]!r} is no usual word for won or lost ({rows:,} rows hold such values). "
        f"Give positive={likely!r} if only that means converted. Or drop the rows without an outcome, and "
        "give y as 1 and 0"
    )


def _against(keys: Sequence[Any], positive: Any) -> dict[Any, float]:
    """All values against one, which must be among them."""
    equal = [key for key in keys if key == positive]
    if not equal and isinstance(positive, str):
        equal = [key for key in keys if isinstance(key, str) and folded_text(key) == folded_text(positive)]
    if not equal:
        texts = [str(key) for key in keys]
        shown = ", ".join(map(repr, keys[:_MAX_SHOWN])) + (", ..." if len(keys) > _MAX_SHOWN else "")
        raise ExportError(
            f"positive is {positive!r}{nearest_text(str(positive), texts)}, but y holds {shown}; give the "
            "value of y that means converted"
        )
    return {key: float(key in equal) for key in keys}


def _usual(key: Any) -> int | None:
    text = folded_text(str(int(key) if isinstance(key, float) and key.is_integer() else key))
    return 1 if text in _WON else 0 if text in _LOST else None


def _key(value: Any) -> Any:
    """A value that can be compared: numpy's scalars as Python's, and anything without a hash as its text."""
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        value = value.item()
    return value if isinstance(value, str | bool | int | float) else repr(value)
