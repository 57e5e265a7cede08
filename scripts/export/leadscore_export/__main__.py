"""Prints the input rows of records: `python -m leadscore_export BUNDLE records.jsonl --now ISO`."""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path

from leadscore_export.errors import ExportError, UnusableRecord
from leadscore_export.featurizer.featurizer import Featurizer


def main() -> None:
    """Reads one JSON record per line and prints one row per line.

    A row is a list with null for NaN, or {"unusable": reason}.
    """
    parser = argparse.ArgumentParser(prog="leadscore_export", description=__doc__)
    parser.add_argument("bundle", type=Path, help="bundle folder, or a manifest.json")
    parser.add_argument(
        "records",
        type=argparse.FileType(encoding="utf-8"),
        help="one JSON object per line; - reads standard input",
    )
    parser.add_argument("--now", default="1970-01-01T00:00:00Z", help="time of scoring, ISO 8601")
    options = parser.parse_args()
    path = options.bundle / "manifest.json" if options.bundle.is_dir() else options.bundle
    featurizer = Featurizer.from_manifest(json.loads(path.read_text(encoding="utf-8")))
    for number, line in enumerate(options.records, start=1):
        if not line.strip():
            continue
        try:
            print(json.dumps(_row_of(featurizer, line, options.now)))
        except (ExportError, json.JSONDecodeError) as error:
            parser.error(f"line {number}: {error}")


def _row_of(featurizer: Featurizer, line: str, now: str) -> object:
    try:
        row = featurizer.rows([json.loads(line)], now)[0]
    except UnusableRecord as problem:
        return {"unusable": str(problem)}
    return [None if math.isnan(value) else value for value in row.tolist()]


if __name__ == "__main__":
    main()
