"""Records as plain JSON values, and their texts and names in the form in which the service compares them."""

from __future__ import annotations

import difflib
import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

from leadscore_export.errors import ExportError

_SPACES = "\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_SPACE_RUN = re.compile(f"[{_SPACES}]+")
# Characters that show nothing, as in shared/contract/texts.ts.
_INVISIBLE = (
    "\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb"
)
_NAME_MARKS = re.compile(f"[{_SPACES}_{_INVISIBLE}-]+")
_MIN_SIMILARITY = 0.6  # difflib's ratio, from 0 to 1
Record = Mapping[str, Any]


def normal_text(text: str) -> str:
    """NFKC, trimmed, each run of white space replaced by one space."""
    return _SPACE_RUN.sub(" ", unicodedata.normalize("NFKC", text)).strip(" ")


def folded_text(text: str) -> str:
    """`normal_text` in lower case.

    Upper case comes first, so that "straße", "STRASSE" and "STRAẞE" fold alike.
    """
    return normal_text(text).replace("ẞ", "SS").upper().lower()


def folded_name(name: str) -> str:
    """A field name without case, spaces, `_`, `-` and invisible characters."""
    return _NAME_MARKS.sub("", folded_text(name))


def trimmed(text: str) -> str:
    """The text without white space at its ends."""
    return re.sub(f"^[{_SPACES}]+|[{_SPACES}]+$", "", text)


def number_text(value: int | float) -> str:
    """A finite number as JavaScript writes it (ECMAScript, Number::toString): 5.0 is "5", 1e21 is "1e+21"."""
    number = float(value)
    if number == 0:
        return "0"
    sign, digit_tuple, exponent = Decimal(repr(number)).as_tuple()
    digits = "".join(map(str, digit_tuple)).rstrip("0")
    point = len(digit_tuple) + int(exponent)
    return ("-" if sign else "") + _with_point(digits, point)


def _with_point(digits: str, point: int) -> str:
    """The digits with a decimal point after the first `point` of them."""
    if len(digits) <= point <= 21:
        return digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    mantissa = digits if len(digits) == 1 else f"{digits[0]}.{digits[1:]}"
    return f"{mantissa}e{point - 1:+d}"


def nearest_text(name: str, names: Sequence[str]) -> str:
    """` (did you mean "Balance Total"?)`, or an empty text if no name is similar."""
    by_folded = {folded_name(each): each for each in reversed(names)}
    nearest = difflib.get_close_matches(folded_name(name), list(by_folded), n=1, cutoff=_MIN_SIMILARITY)
    return f' (did you mean "{by_folded[nearest[0]]}"?)' if nearest else ""


def plain_records(table: Any) -> list[dict[str, Any]]:
    """The rows of a table as records. `table`: A pandas DataFrame, or mappings from field to value.

    NaN, NaT and NA become null, dates ISO 8601, numpy's numbers Python's own. Raises ExportError for anything
    else.
    """
    if hasattr(table, "to_dict") and hasattr(table, "columns"):
        table = table.to_dict(orient="records")
    elif problem := _no_table(table):
        raise ExportError(f"records: {problem}")
    return [plain_record(_mapping(record, index)) for index, record in enumerate(table)]


def _no_table(table: Any) -> str | None:
    """The remedy, if the argument is known not to be records."""
    if isinstance(table, Mapping):
        return "this is one record; give a list of records: [record]"
    if isinstance(table, str | Path):
        return f"{str(table)!r} is a text or path; read the file first, for example with pandas.read_csv"
    if hasattr(table, "to_frame") and hasattr(table, "index"):
        return "this is a pandas Series; give a DataFrame (for one record: series.to_frame().T)"
    if not isinstance(table, Iterable):
        return f"a {type(table).__name__} holds no records; give a DataFrame, or mappings from field to value"
    return None


def _mapping(record: Any, index: int) -> Record:
    if isinstance(record, Mapping):
        return record
    raise ExportError(
        f"record {index + 1} is {record!r:.80}; each record must be a mapping from field to value, such as "
        "a dict"
    )


def plain_record(record: Record) -> dict[str, Any]:
    """One record as JSON values; see `plain_records`."""
    return {str(field): plain_value(value) for field, value in record.items()}


def plain_value(value: Any) -> Any:
    """A cell as a JSON value."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if isinstance(value, Mapping):
        return {str(key): plain_value(part) for key, part in value.items()}
    if isinstance(value, date):
        return _date_text(value)
    if type(value).__name__ == "NAType":
        return None
    if type(value).__name__ == "datetime64":  # of nanoseconds, item() would be a number
        return plain_value(value.astype("datetime64[us]").item())
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        return plain_value(value.item())
    if isinstance(value, Iterable):
        return [plain_value(part) for part in value]
    return str(value)


def _date_text(value: date) -> str | None:
    if value != value:  # pandas' NaT
        return None
    if not isinstance(value, datetime):
        return value.isoformat()
    moment = value if value.tzinfo else value.replace(tzinfo=timezone.utc)
    return iso_text(moment)


def iso_text(moment: datetime) -> str:
    """ISO 8601 in UTC, with milliseconds only if there are any: `2026-11-20T00:00:00Z`."""
    moment = moment.astimezone(timezone.utc)
    precision = "milliseconds" if moment.microsecond else "seconds"
    return moment.isoformat(timespec=precision).replace("+00:00", "Z")
