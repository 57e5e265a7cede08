"""Puts a manifest together (docs/models.md, "manifest.json")."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import numpy.typing as npt

from leadscore_export.converted_model import ConvertedModel
from leadscore_export.export_error import ExportError
from leadscore_export.featurizer import Featurizer, Moment, unix_ms
from leadscore_export.plain_record import Record, iso_text
from leadscore_export.reference_row import typical_row
from leadscore_export.training_figures import recency_of
from leadscore_export.write_bundle import COVERS_FILE, MODEL_FILE

Vector = npt.NDArray[np.float64]


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
    """The manifest's `explain`: exact where the model is trees or linear, else a reference row for occlusion."""
    if model.trees is not None:
        return {"kind": "tree", "covers": COVERS_FILE}
    if model.linear is not None:
        return {"kind": "linear", "means": [float(mean) for mean in rows.mean(axis=0)]}
    if isinstance(baseline, Mapping):
        baseline = featurizer.rows([baseline], datetime.now(timezone.utc))[0].tolist()
    values = typical_row(featurizer.features, rows) if baseline is None else [float(value) for value in baseline]
    if len(values) != featurizer.width or not np.isfinite(values).all():
        raise ExportError(f"baseline must be {featurizer.width} numbers, or a record without missing values")
    return {"kind": "baseline", "values": values}


def recency_guard(recency: str | Mapping[str, Any] | None, featurizer: Featurizer, rows: Vector) -> dict[str, Any]:
    """The manifest's `recency`, as an entry to put in, or nothing."""
    if recency is None:
        return {}
    return {"recency": recency_of(recency, featurizer.features, rows) if isinstance(recency, str) else dict(recency)}


def training_time(trained_at: Moment | None) -> str:
    """The manifest's `trained_at`: now, unless it is given."""
    if trained_at is None:
        return iso_text(datetime.now(timezone.utc).replace(microsecond=0))
    return time_text(unix_ms(trained_at))


def time_text(milliseconds: float) -> str:
    """A Unix time in ISO 8601."""
    return iso_text(datetime.fromtimestamp(0, timezone.utc) + timedelta(milliseconds=milliseconds))
