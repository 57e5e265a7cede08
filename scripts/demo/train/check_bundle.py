"""Checks a demo bundle from its files alone: without a trainer, by ONNX and the rules of the format.

    python check_bundle.py --bundle ../bundle
    python check_bundle.py --bundle ../bundle --leads fresh.csv --now 2026-11-20T00:00:00Z

With `--leads`, a table that was not trained on, it also prints the model's quality on that table. The first
violation raises an AssertionError.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from leadscore_export.featurizer.featurizer import Featurizer
from leadscore_export.scores.serving_figures import conversion_likelihood, is_steady, logit, percentile_score

import demo_model
from golden_records import raw_probabilities

MAX_BUNDLE_BYTES = 1_000_000
MAX_ONNX_BYTES = 400_000


def main() -> None:
    parser = argparse.ArgumentParser(description="Checks a demo bundle.")
    parser.add_argument("--bundle", type=Path, required=True)
    parser.add_argument("--leads", type=Path)
    parser.add_argument("--now")
    options = parser.parse_args()
    manifest = json.loads((options.bundle / "manifest.json").read_text(encoding="utf-8"))
    onnx_bytes = (options.bundle / manifest["onnx"]["file"]).read_bytes()
    golden = (options.bundle / "golden.jsonl").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in golden.splitlines()]
    check_files(options.bundle, manifest, onnx_bytes)
    check_covers(options.bundle / manifest["explain"]["covers"], onnx_bytes)
    check_golden(lines, manifest, onnx_bytes)
    print(f"{len(lines)} golden records pass, {sum('dirty' in line for line in lines)} of them untidy")
    if options.leads:
        print(json.dumps(fresh_figures(options.leads, options.now, manifest, onnx_bytes), indent=1))


def check_files(bundle: Path, manifest: dict[str, Any], onnx_bytes: bytes) -> None:
    """Checks sizes, hash, columns, quantiles and calibration."""
    assert sum(file.stat().st_size for file in bundle.iterdir()) < MAX_BUNDLE_BYTES
    assert len(onnx_bytes) < MAX_ONNX_BYTES
    assert hashlib.sha256(onnx_bytes).hexdigest() == manifest["onnx"]["sha256"]
    extras = ("other_column", "missing_column")
    used = [column for feature in manifest["features"] for column in feature["columns"]]
    used += [feature[key] for feature in manifest["features"] for key in extras if key in feature]
    assert sorted(used) == list(range(manifest["width"]))
    assert len(manifest["quantiles"]) == 101 and manifest["quantiles"] == sorted(manifest["quantiles"])
    assert manifest["calibration"]["a"] > 0


def check_covers(path: Path, onnx_bytes: bytes) -> None:
    """Checks that each node has a cover, and that the covers of two children add up to their parent's."""
    covers = np.fromfile(path, dtype="<f4")
    node = onnx.load_from_string(onnx_bytes).graph.node[0]
    attributes = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
    trees, nodes = attributes["nodes_treeids"], attributes["nodes_nodeids"]
    assert len(covers) == len(nodes)
    position = {key: index for index, key in enumerate(zip(trees, nodes, strict=True))}
    for index, mode in enumerate(attributes["nodes_modes"]):
        if mode != b"LEAF":
            children = [attributes[f"nodes_{side}nodeids"][index] for side in ("true", "false")]
            assert sum(covers[position[trees[index], child]] for child in children) == covers[index]


def check_golden(lines: list[dict[str, Any]], manifest: dict[str, Any], onnx_bytes: bytes) -> None:
    """Checks that every golden answer follows from its record by the rules of the format."""
    featurizer = Featurizer.from_manifest(manifest)
    rows = featurizer.rows([line["record"] for line in lines], [line["now"] for line in lines]).tolist()
    raws = raw_probabilities(onnx_bytes, rows)
    singles = [raw_probabilities(onnx_bytes, [row])[0] for row in rows]
    for line, row, raw, single in zip(lines, rows, raws, singles, strict=True):
        assert [None if math.isnan(value) else value for value in row] == line["x"]
        assert abs(raw - line["raw"]) < 1e-6 and abs(single - line["raw"]) < 1e-6
        assert abs(logit(line["raw"]) - line["margin"]) < 1e-4
        assert percentile_score(line["raw"], manifest["quantiles"]) == line["score"]
        assert conversion_likelihood(line["raw"], manifest["calibration"]) == line["conversion_likelihood"]
        assert is_steady(line["raw"], manifest["quantiles"], manifest["calibration"])
        assert abs(line["base"] + sum(line["contributions"].values()) - line["margin"]) < 1e-6


def fresh_figures(leads: Path, now: str, manifest: dict[str, Any], onnx_bytes: bytes) -> dict[str, Any]:
    """Figures of the served scores on a table that was not trained on."""
    table = demo_model.read_leads(leads)
    rows = Featurizer.from_manifest(manifest).rows(table.records, now)
    raws, converted = raw_probabilities(onnx_bytes, rows).astype(np.float64), np.asarray(table.converted)
    scores = np.array([percentile_score(raw, manifest["quantiles"]) for raw in raws])
    likelihoods = np.array([conversion_likelihood(raw, manifest["calibration"]) for raw in raws])
    bands = {
        f"{low}-{high}": {
            "leads": int(((scores >= low) & (scores <= high)).sum()),
            "likelihood": round(float(likelihoods[(scores >= low) & (scores <= high)].mean()), 4),
            "converted": round(float(converted[(scores >= low) & (scores <= high)].mean()), 4),
        }
        for low, high in ((0, 19), (20, 39), (40, 59), (60, 79), (80, 100))
    }
    return {
        "leads": len(scores),
        "base_rate": round(float(converted.mean()), 4),
        "mean_likelihood": round(float(likelihoods.mean()), 4),
        "auc": round(demo_model.auc(raws, converted), 4),
        "top_lift": round(demo_model.top_lift(raws, converted), 3),
        "bands": bands,
    }


if __name__ == "__main__":
    main()
