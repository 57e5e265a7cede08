"""Records as a caller would send them: plain JSON values, whatever table they come from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any

from leadscore_export.export_error import ExportError

Record = Mapping[str, Any]


def plain_records(table: Any) -> list[dict[str, Any]]:
    """The rows of a table as records. `table`: a pandas DataFrame, or mappings from field to value.

    NaN, NaT and NA become null, dates ISO 8601, numpy's numbers Python's own. Raises ExportError for anything else.
    """
    if hasattr(table, "to_dict") and hasattr(table, "columns"):
        table = table.to_dict(orient="records")
    elif problem := _no_table(table):
        raise ExportError(f"records: {problem}")
    return [plain_record(_mapping(record, place)) for place, record in enumerate(table)]


def _no_table(table: Any) -> str | None:
    """What to do instead, when it is known that these are no records."""
    if isinstance(table, Mapping):
        return "this is one record; give a list of records: [record]"
    if isinstance(table, str | Path):
        return f"{str(table)!r} is a text or path; read the file first, for example with pandas.read_csv"
    if hasattr(table, "to_frame") and hasattr(table, "index"):
        return "this is a pandas Series; give a DataFrame (for one record: series.to_frame().T)"
    if not isinstance(table, Iterable):
        return f"a {type(table).__name__} holds none; give a DataFrame, or mappings from field to value"
    return None


def _mapping(record: Any, place: int) -> Record:
    if isinstance(record, Mapping):
        return record
    raise ExportError(f"record {place + 1} is {record!r:.80}; each is a mapping from field to value: a dict")


def plain_record(record: Record) -> dict[str, Any]:
    """One record; see `plain_records`."""
    return {str(field): plain_value(value) for field, value in record.items()}


def plain_value(value: Any) -> Any:
    """A cell as JSON has it."""
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
    """ISO 8601 in UTC, to the millisecond where it has any: `2026-11-20T00:00:00Z`."""
    moment = moment.astimezone(timezone.utc)
    precision = "milliseconds" if moment.microsecond else "seconds"
    return moment.isoformat(timespec=precision).replace("+00:00", "Z")
