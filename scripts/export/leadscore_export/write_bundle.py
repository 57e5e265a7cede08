"""Writes a bundle's files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from leadscore_export.converted_model import ConvertedModel

MANIFEST_FILE, MODEL_FILE, COVERS_FILE, GOLDEN_FILE = "manifest.json", "model.onnx", "covers.f32", "golden.jsonl"


def write_bundle(
    folder: Path, manifest: Mapping[str, Any], model: ConvertedModel, golden: Sequence[Mapping[str, Any]]
) -> None:
    """Writes the members into a folder, made when missing; those of an earlier export that it lacks are removed."""
    lines = "".join(json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n" for line in golden)
    members = {
        MANIFEST_FILE: (json.dumps(manifest, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode(),
        MODEL_FILE: model.file,
        COVERS_FILE: None if model.covers is None else model.covers.tobytes(),
        GOLDEN_FILE: lines.encode() or None,
    }
    folder.mkdir(parents=True, exist_ok=True)
    for file, content in members.items():
        if content is None:
            (folder / file).unlink(missing_ok=True)
        else:
            (folder / file).write_bytes(content)
