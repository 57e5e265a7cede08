"""Trains the demo model on made-up leads and writes its bundle (docs/models.md).

    python train_demo_model.py --leads leads.csv --now 2026-11-20T00:00:00Z --out ../bundle

README.md here lists all steps.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
from leadscore_export.convert.lightgbm_trees import lightgbm_trees
from leadscore_export.convert.onnx_graph import INPUT_NAME, OUTPUT_NAME
from leadscore_export.convert.tree_model import tree_onnx
from leadscore_export.featurizer.featurizer import Featurizer
from leadscore_export.scores.training_figures import quantiles_of

import demo_model
from demo_features import MISSING_TOKENS, RECENCY, demo_features
from golden_records import golden_lines

HORIZON_DAYS = 90
VERSION = "2026.11.0"


def main() -> None:
    options = _options()
    now = datetime.fromisoformat(options.now.replace("Z", "+00:00"))
    table = demo_model.read_leads(options.leads)
    features, width = demo_features()
    manifest: dict[str, Any] = {"features": features, "width": width, "missing_tokens": MISSING_TOKENS}
    # The service passes float32 to ONNX, so training uses float32 too.
    rows = Featurizer.from_manifest(manifest).rows(table.records, now).astype(np.float32)
    converted = np.asarray(table.converted)
    split = demo_model.split_rows(len(rows))
    _check_nan_seen(features, rows[split.training])

    raw_unseen = demo_model.out_of_fold(rows[split.training], converted[split.training])
    booster = demo_model.train(rows[split.training], converted[split.training])
    figures = _figures(booster, rows, converted, split, raw_unseen)
    onnx_bytes, covers = tree_onnx(lightgbm_trees(booster), name="demo_leads", producer="leadscore demo")
    manifest = _manifest(features, width, options.now, onnx_bytes) | {
        "calibration": demo_model.platt(raw_unseen, converted[split.training]),
        "quantiles": quantiles_of(raw_unseen),
        "missing_tokens": MISSING_TOKENS,
        "recency": RECENCY,
        "explain": {"kind": "tree", "covers": "covers.f32"},
        "validation": {
            "horizon_days": HORIZON_DAYS,
            "base_rate": round(figures["holdout_base_rate"], 6),
            "holdout_top_lift": round(figures["holdout_top_lift"], 4),
        },
    }
    held_out = [table.records[row] for row in split.holdout]
    lines = golden_lines(held_out, manifest, booster, onnx_bytes, now)
    _write(options.out, manifest, onnx_bytes, covers, lines)
    print(json.dumps(figures, indent=1))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Trains the demo model and writes its bundle.")
    parser.add_argument(
        "--leads", type=Path, required=True, help="CSV from write-leads, with the column `converted`"
    )
    parser.add_argument("--now", required=True, help="the --now of write-leads, ISO 8601 with a zone")
    parser.add_argument("--out", type=Path, required=True, help="folder for the bundle")
    return parser.parse_args()


def _check_nan_seen(features: list[dict[str, Any]], rows: np.ndarray) -> None:
    """Raises ValueError if a column can be NaN but has none in training: LightGBM would treat NaN as 0."""
    for feature in features:
        single = feature["type"] != "multi" and feature.get("encoding") != "onehot"
        if single and "impute" not in feature and not np.isnan(rows[:, feature["columns"][0]]).any():
            raise ValueError(f"{feature['field']} can be NaN but never is in training; give it an impute")


def _figures(
    booster: lgb.Booster,
    rows: np.ndarray,
    converted: np.ndarray,
    split: demo_model.Split,
    raw_unseen: np.ndarray,
) -> dict[str, float]:
    raw_held = np.asarray(booster.predict(rows[split.holdout].astype(np.float64), num_threads=1))
    return {
        "rows_trained": len(split.training),
        "rows_held_out": len(split.holdout),
        "base_rate": float(converted.mean()),
        "out_of_fold_auc": demo_model.auc(raw_unseen, converted[split.training]),
        "holdout_auc": demo_model.auc(raw_held, converted[split.holdout]),
        "holdout_base_rate": float(converted[split.holdout].mean()),
        "holdout_top_lift": demo_model.top_lift(raw_held, converted[split.holdout]),
    }


def _manifest(
    features: list[dict[str, Any]], width: int, trained_at: str, onnx_bytes: bytes
) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "name": "Demo lead conversion",
        "version": VERSION,
        "family": "forward",
        "trained_at": trained_at,
        "onnx": {
            "file": "model.onnx",
            "sha256": hashlib.sha256(onnx_bytes).hexdigest(),
            "input": INPUT_NAME,
            "output": OUTPUT_NAME,
            "kind": "probability",
            "positive_class": 1,
        },
        "width": width,
        "features": features,
    }


def _write(
    folder: Path, manifest: dict[str, Any], onnx_bytes: bytes, covers: np.ndarray, lines: list[dict[str, Any]]
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "manifest.json").write_text(
        json.dumps(manifest, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    (folder / "model.onnx").write_bytes(onnx_bytes)
    (folder / "covers.f32").write_bytes(covers.tobytes())
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    (folder / "golden.jsonl").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
