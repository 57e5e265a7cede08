"""Trains as `python -m leadscore_export.train`, and then asks the fitted model about 300 raw rows of the file.

    python keep_model.py FOLDER FILE [OPTIONS]

FOLDER gets `rows.json`: {"records": [...], "raw": [...], "likelihoods": [...]}. A record has the cells of the file as
they are. `raw` is `predict_proba` of the fitted classifier of LightGBM, and `likelihoods` are its calibrated values.
FOLDER/checked is the bundle, with these rows as its golden records.
"""

from __future__ import annotations

import csv
import gzip
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np

from leadscore_export.train import run
from leadscore_export.train.__main__ import main
from leadscore_export.train.command.options import parsed_options

ROWS = 300
kept: dict[str, Any] = {}
fit = run.fitted_model


def keep(prepared: Any, *arguments: Any) -> Any:
    """Fits the model of the training, and keeps it."""
    kept["model"], kept["featurizer"] = fit(prepared, *arguments), prepared.featurizer
    return kept["model"]


def raw_rows(file: Path) -> list[dict[str, str]]:
    """Rows from the whole file, each cell as its text."""
    opened = gzip.open(file, "rt", encoding="utf-8", newline="") if file.suffix == ".gz" else file.open(newline="")
    with opened as lines:
        header = lines.readline()
        lines.seek(0)
        rows = list(csv.DictReader(lines, delimiter=max(",;", key=header.count)))
    return [rows[index] for index in np.linspace(0, len(rows) - 1, ROWS).astype(int)]


def calibrated(raw: np.ndarray, calibration: dict[str, Any]) -> np.ndarray:
    """The definition of docs/models.md, written down again."""
    if calibration["kind"] == "platt":
        kept_raw = np.clip(raw, 1e-7, 1 - 1e-7)
        return 1 / (1 + np.exp(-(calibration["a"] * np.log(kept_raw / (1 - kept_raw)) + calibration["b"])))
    if calibration["kind"] == "isotonic":
        return np.interp(raw, calibration["x"], calibration["y"])
    return raw


def write_rows(folder: Path, arguments: list[str]) -> None:
    """Writes rows.json and the bundle with golden records."""
    options = parsed_options(arguments)
    records = raw_rows(options.file)
    model, featurizer = kept["model"], kept["featurizer"]
    manifest = json.loads((options.out / "bundle" / "manifest.json").read_text(encoding="utf-8"))
    raw = model.predict_proba(featurizer.rows(records).astype(np.float32))[:, 1]
    likelihoods = calibrated(raw, manifest["calibration"])
    document = {"records": records, "raw": raw.tolist(), "likelihoods": likelihoods.tolist()}
    (folder / "rows.json").write_text(json.dumps(document), encoding="utf-8")
    shutil.copytree(options.out / "bundle", folder / "checked")
    golden = "".join(
        json.dumps({"record": record, "raw": value}) + "\n" for record, value in zip(records, raw.tolist(), strict=True)
    )
    (folder / "checked" / "golden.jsonl").write_text(golden, encoding="utf-8")


run.fitted_model = keep
out, words = Path(sys.argv[1]), sys.argv[2:]
code = main(words)
if code == 0:
    write_rows(out, words)
sys.exit(code)
