"""Chooses the bundle's golden records from rows outside training, and computes their expected answers."""

from __future__ import annotations

import random
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import lightgbm as lgb
import numpy as np
import shap
from leadscore_export.convert.onnx_graph import INPUT_NAME, OUTPUT_NAME, run_onnx
from leadscore_export.featurizer.featurizer import Featurizer
from leadscore_export.scores.serving_figures import conversion_likelihood, is_steady, percentile_score

from untidy_record import Record, untidy_record

TIDY_COUNT = 160
UNTIDY_COUNT = 40


@dataclass(frozen=True)
class Candidate:
    """A record, the time of its request, and the changes made to it."""

    record: Record
    now: datetime
    mutations: list[str]


def golden_lines(
    records: Sequence[Record],
    manifest: Mapping[str, Any],
    booster: lgb.Booster,
    onnx_bytes: bytes,
    now: datetime,
) -> list[dict[str, Any]]:
    """200 golden objects, 40 of them untidy, from records that were not trained on.

    A record is chosen only if a shift of 2e-6 in `raw` changes neither score nor likelihood. No two have the
    same row.

    `now`: The time of the requests. Untidy records get random times up to a day later.
    """
    draw = random.Random(40)
    tidy = [Candidate(record, now, []) for record in records if _is_tidy(record, manifest["features"])]
    draw.shuffle(tidy)
    messy = [_made_untidy(candidate.record, manifest, now, draw) for candidate in tidy[-8 * UNTIDY_COUNT :]]
    chosen = _steady(tidy[: -8 * UNTIDY_COUNT], manifest, onnx_bytes)[:TIDY_COUNT]
    chosen += _most_varied(_steady(messy, manifest, onnx_bytes), UNTIDY_COUNT)
    if len(chosen) != TIDY_COUNT + UNTIDY_COUNT:
        raise ValueError(f"only {len(chosen)} golden records were found; write a larger table of leads")
    draw.shuffle(chosen)
    return _answers(chosen, manifest, booster, onnx_bytes)


def raw_probabilities(onnx_bytes: bytes, rows: Sequence[Sequence[float]]) -> np.ndarray:
    """The probability of the positive class by ONNX, float32."""
    return run_onnx(onnx_bytes, rows, input_name=INPUT_NAME, output_name=OUTPUT_NAME)[:, 1]


def _is_tidy(record: Record, features: list[Mapping[str, Any]]) -> bool:
    return all(_is_tidy_cell(record.get(feature["field"]), feature) for feature in features)


def _is_tidy_cell(value: Any, feature: Mapping[str, Any]) -> bool:
    kind = feature["type"]
    if value is None:
        return True
    if kind in ("number", "boolean"):
        return isinstance(value, bool) == (kind == "boolean") and not isinstance(value, str)
    if not isinstance(value, str):
        return False
    if kind == "date":
        return len(value) in (10, 20) and value[:2] == "20"
    parts = value.split(";") if kind == "multi" else [value]
    return all(part in feature["categories"] for part in parts)


def _made_untidy(
    record: Record, manifest: Mapping[str, Any], now: datetime, draw: random.Random
) -> Candidate:
    later = now + timedelta(milliseconds=draw.randrange(86_400_000))
    changed, mutations = untidy_record(record, manifest["features"], later, draw)
    if draw.random() < 0.3:
        changed["custom_fields"] = {"owner": "u_513", "notes": ["a", "b"]}
    return Candidate(changed, later, mutations)


def _rows(candidates: Sequence[Candidate], manifest: Mapping[str, Any]) -> list[list[float]]:
    times = [candidate.now.timestamp() * 1000 for candidate in candidates]
    return (
        Featurizer.from_manifest(manifest)
        .rows([candidate.record for candidate in candidates], times)
        .tolist()
    )


def _steady(
    candidates: Sequence[Candidate], manifest: Mapping[str, Any], onnx_bytes: bytes
) -> list[Candidate]:
    rows = _rows(candidates, manifest)
    raws = raw_probabilities(onnx_bytes, rows)
    seen: set[str] = set()
    steady = []
    for candidate, row, raw in zip(candidates, rows, raws, strict=True):
        if is_steady(float(raw), manifest["quantiles"], manifest["calibration"]) and str(row) not in seen:
            seen.add(str(row))
            steady.append(candidate)
    return steady


def _most_varied(candidates: Sequence[Candidate], count: int) -> list[Candidate]:
    """So many, each time the one that brings most kinds of untidiness that are not there yet."""
    left, shown = list(candidates), set[str]()
    chosen: list[Candidate] = []
    while left and len(chosen) < count:
        best = max(left, key=lambda candidate: len(_kinds(candidate) - shown))
        left.remove(best)
        chosen.append(best)
        shown |= _kinds(best)
    return chosen


def _kinds(candidate: Candidate) -> set[str]:
    return {mutation.split(": ", 1)[1].split("'")[0] for mutation in candidate.mutations}


def _answers(
    chosen: Sequence[Candidate], manifest: Mapping[str, Any], booster: lgb.Booster, onnx_bytes: bytes
) -> list[dict[str, Any]]:
    rows = _rows(chosen, manifest)
    raws = raw_probabilities(onnx_bytes, rows)
    # ONNX compares float32 values with its thresholds, so LightGBM gets the same values.
    rows32 = np.asarray(rows, dtype=np.float32).astype(np.float64)
    margins = booster.predict(rows32, raw_score=True, num_threads=1)
    explainer = shap.TreeExplainer(booster)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # shap warns that the shape of its result has changed
        shares = explainer.shap_values(rows32)
    # shap sets the base of a LightGBM model when it first explains rows.
    base = float(np.ravel(explainer.expected_value)[-1])
    lines = []
    for candidate, row, raw, margin, share in zip(chosen, rows, raws, margins, shares, strict=True):
        untidy = {"dirty": True, "mutations": candidate.mutations} if candidate.mutations else {}
        lines.append(
            {
                "record": candidate.record,
                "now": _iso_ms(candidate.now),
                "x": [_json_number(value) for value in row],
                **untidy,
                "raw": float(raw),
                "margin": float(margin),
                "conversion_likelihood": conversion_likelihood(float(raw), manifest["calibration"]),
                "score": percentile_score(float(raw), manifest["quantiles"]),
                "contributions": _per_field(share, manifest["features"]),
                "base": base,
            }
        )
    return lines


def _per_field(share: np.ndarray, features: list[Mapping[str, Any]]) -> dict[str, float]:
    fields: dict[str, float] = {}
    for feature in features:
        columns = [
            *feature["columns"],
            *(feature[key] for key in ("other_column", "missing_column") if key in feature),
        ]
        fields[feature["field"]] = fields.get(feature["field"], 0.0) + float(
            sum(share[column] for column in columns)
        )
    return fields


def _json_number(value: float) -> float | int | None:
    if value != value:
        return None
    return int(value) if float(value).is_integer() else value


def _iso_ms(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
