"""Writes a bundle's files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from leadscore_export.converted_model import ConvertedModel
from leadscore_export.export_error import ExportError

MANIFEST_FILE, MODEL_FILE, COVERS_FILE, GOLDEN_FILE = "manifest.json", "model.onnx", "covers.f32", "golden.jsonl"

# As in shared/bundle/bundle-limits.ts.
_MOST_BYTES = {MANIFEST_FILE: 8 * 2**20}
_MOST_BYTES_OF_OTHERS = 64 * 2**20
_ADVICE = {
    MANIFEST_FILE: 'give fewer categories, or calibration="platt"',
    MODEL_FILE: "train fewer or smaller trees (min_samples_leaf, max_depth)",
    COVERS_FILE: "train fewer or smaller trees (min_samples_leaf, max_depth)",
    GOLDEN_FILE: "give golden records without columns that the model does not read",
}


def write_bundle(
    folder: Path, manifest: Mapping[str, Any], model: ConvertedModel, golden: Sequence[Mapping[str, Any]]
) -> None:
    """Writes the members into a folder, made when missing; those of an earlier export that it lacks are removed.

    Raises ExportError before anything is written when a member is larger than the service takes.
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
    folder.mkdir(parents=True, exist_ok=True)
    for file, content in members.items():
        if content is None:
            (folder / file).unlink(missing_ok=True)
        else:
            (folder / file).write_bytes(content)


def _check_size(file: str, content: bytes) -> None:
    most = _MOST_BYTES.get(file, _MOST_BYTES_OF_OTHERS)
    if len(content) > most:
        raise ExportError(
            f"{file} has {len(content) / 2**20:.1f} MiB, and a bundle's may have {most // 2**20}; {_ADVICE[file]}"
        )
