"""Reads the training table that `write-leads` makes."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_JSON_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?")


@dataclass(frozen=True)
class LeadsTable:
    """`records[i]` is what a CRM would send; `converted[i]`, 0 or 1, is what became of it."""

    records: list[dict[str, Any]]
    converted: list[int]


def read_leads(path: Path) -> LeadsTable:
    """Reads the CSV. A CSV has no types: cells that read as JSON numbers or booleans become such, empty ones null."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    converted = [int(row.pop("converted")) for row in rows]
    return LeadsTable([{name: _typed(cell) for name, cell in row.items()} for row in rows], converted)


def _typed(cell: str) -> Any:
    if cell == "":
        return None
    if cell in ("true", "false") or _JSON_NUMBER.fullmatch(cell):
        return json.loads(cell)
    return cell
