"""Assembles the manifest (docs/models.md, "manifest.json") and writes the files of a bundle."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leadscore_export.convert.converted_model import ConvertedModel
from leadscore_export.errors import ExportError, failures_advise
from leadscore_export.featurizer.feature_types import columns_of
from leadscore_export.featurizer.featurizer import Featurizer, Moment, unix_ms
from leadscore_export.featurizer.record_values import Record, iso_text
from leadscore_export.scores.training_figures import recency_of

# Characters of a day such as 2026-11-20.
_DAY_LENGTH = 10

Vector = npt.NDArray[np.float64]

MANIFEST_FILE, MODEL_FILE, COVERS_FILE, GOLDEN_FILE = (
    "manifest.json",
    "model.onnx",
    "covers.f32",
    "golden.jsonl",
)

# The service's limits, from shared/bundle/bundle-files.ts.
_MAX_BYTES = {MANIFEST_FILE: 8 * 2**20}
_MAX_BYTES_OF_OTHERS = 64 * 2**20
_ADVICE = {
    MANIFEST_FILE: 'give fewer categories, or calibration="platt"',
    MODEL_FILE: "train fewer or smaller trees (min_samples_leaf, max_depth)",
    COVERS_FILE: "train fewer or smaller trees (min_samples_leaf, max_depth)",
    GOLDEN_FILE: "give golden records without columns that the model does not read",
}


def onnx_reference(model: ConvertedModel) -> dict[str, Any]:
    """The manifest's `onnx`."""
    return {
        "file": MODEL_FILE,
        "sha256": hashlib.sha256(model.file).hexdigest(),
        "input": model.input,
        "output": model.output,
        "kind": model.kind,
        "positive_class": model.positive_class,
    }


def explanation(
    model: ConvertedModel, featurizer: Featurizer, rows: Vector, baseline: Record | Sequence[float] | None
) -> dict[str, Any]:
    """The manifest's `explain`: exact for trees and linear models, else a reference row for occlusion."""
    if model.trees is not None:
        return {"kind": "tree", "covers": COVERS_FILE}
    if model.linear is not None:
        return {"kind": "linear", "means": [float(mean) for mean in rows.mean(axis=0)]}
    if isinstance(baseline, Mapping):
        baseline = featurizer.rows([baseline], datetime.now(timezone.utc))[0].tolist()
    advice = f"baseline must be {featurizer.width} numbers, or a record without missing values"
    with failures_advise("baseline cannot be read", advice):
        values = typical_row(featurizer.features, rows) if baseline is None else [float(v) for v in baseline]
    if len(values) != featurizer.width or not np.isfinite(values).all():
        raise ExportError(advice)
    return {"kind": "baseline", "values": values}


def recency_guard(
    recency: str | Mapping[str, Any] | None, featurizer: Featurizer, rows: Vector
) -> dict[str, Any]:
    """The manifest's `recency` entry, or an empty dict."""
    if recency is None:
        return {}
    return {
        "recency": recency_of(recency, featurizer.features, rows)
        if isinstance(recency, str)
        else dict(recency)
    }


def training_time(trained_at: Moment | None) -> str:
    """The manifest's `trained_at`, by default the current time."""
    if trained_at is None:
        return iso_text(datetime.now(timezone.utc).replace(microsecond=0))
    return time_text(unix_ms(trained_at))


def data_end(data_until: date | Moment | None, trained: str) -> dict[str, str]:
    """The manifest's `data_until`, or an empty dict. A day stays a day: the service counts all of it.

    Raises ExportError if it is no time, or after `trained`.
    """
    if data_until is None:
        return {}
    moment: Moment = (
        data_until.isoformat()
        if isinstance(data_until, date) and not isinstance(data_until, datetime)
        else data_until
    )
    until = moment if isinstance(moment, str) and len(moment) == _DAY_LENGTH else time_text(unix_ms(moment))
    if unix_ms(moment) > unix_ms(trained):
        raise ExportError(
            f"data_until is {until}, after trained_at ({trained}); give the last day whose leads are in X"
        )
    return {"data_until": until}


def time_text(milliseconds: float) -> str:
    """A Unix time in ISO 8601."""
    return iso_text(datetime.fromtimestamp(0, timezone.utc) + timedelta(milliseconds=milliseconds))


def typical_row(features: Sequence[Mapping[str, Any]], rows: Vector) -> list[float]:
    """The row that occlusion compares a record with.

    It holds the median of each number and date, and the most frequent values of the other features' columns.
    """
    row = np.zeros(rows.shape[1])
    for feature in features:
        columns = columns_of(feature)
        if feature["type"] in ("number", "date"):
            values = rows[:, feature["columns"][0]]
            known = values[np.isfinite(values)]
            row[feature["columns"][0]] = np.median(known) if len(known) else 0.0
            continue
        block = rows[:, columns]
        usual = block[np.isfinite(block).all(axis=1)]
        if len(usual):
            kinds, counts = np.unique(usual, axis=0, return_counts=True)
            row[columns] = kinds[np.argmax(counts)]
    return [float(value) for value in row]


def write_bundle(
    folder: Path, manifest: Mapping[str, Any], model: ConvertedModel, golden: Sequence[Mapping[str, Any]]
) -> None:
    """Writes the files into a folder, which is created if missing.

    Removes files of an earlier export that this bundle lacks. Raises ExportError before it writes anything if
    a file exceeds the service's limit.
    """
    lines = "".join(json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n" for line in golden)
    members = {
        MANIFEST_FILE: (json.dumps(manifest, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode(),
        MODEL_FILE: model.file,
        COVERS_FILE: None if model.covers is None else model.covers.tobytes(),
        GOLDEN_FILE: lines.encode() or None,
    }
    for file, content in members.items():
        _check_size(file, content or b"")
    with failures_advise(f"the bundle could not be written to {folder}", "give another folder as `out`"):
        folder.mkdir(parents=True, exist_ok=True)
        for file, content in members.items():
            if content is None:
                (folder / file).unlink(missing_ok=True)
            else:
                (folder / file).write_bytes(content)


def _check_size(file: str, content: bytes) -> None:
    max_bytes = _MAX_BYTES.get(file, _MAX_BYTES_OF_OTHERS)
    if len(content) > max_bytes:
        raise ExportError(
            f"{file} has {len(content) / 2**20:.1f} MiB, more than the limit of {max_bytes // 2**20} "
            f"MiB; {_ADVICE[file]}"
        )
