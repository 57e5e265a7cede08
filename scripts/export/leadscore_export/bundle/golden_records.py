"""Golden records: records with the answers that `leadscore model check` and every import expect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from leadscore_export.bundle.bundle_files import time_text
from leadscore_export.bundle.check_scores import ONNX_TOLERANCE
from leadscore_export.convert.converted_model import ConvertedModel
from leadscore_export.convert.tree_contributions import rows_within, tree_contributions
from leadscore_export.errors import ExportError, UnusableRecord
from leadscore_export.featurizer.feature_types import columns_of
from leadscore_export.featurizer.featurizer import Featurizer, Moment, request_times
from leadscore_export.featurizer.record_values import Record
from leadscore_export.scores.serving_figures import conversion_likelihood, is_steady, logit, percentile_score

Vector = npt.NDArray[np.float64]

MAX_RECORDS = 200

# Contributions visit every leaf. A model too slow for this time has them on the first records only.
_MAX_SECONDS = 20.0
_MIN_EXPLAINED = 10

_MAX_DIFFERING_SHARE = 0.01


def golden_lines(
    model: ConvertedModel,
    featurizer: Featurizer,
    manifest: Mapping[str, Any],
    plain: Sequence[Record],
    now: Moment | Sequence[Moment] | None,
) -> tuple[list[dict[str, Any]], int]:
    """Up to 200 records with their answers, no two with the same row; and how many differ from the trainer.

    A record is chosen only if a shift of 2e-6 in `raw`, as between ONNX runtimes, changes neither score nor
    likelihood.

    A record on which ONNX and the trainer differ by more than 1e-4 is left out. Raises ExportError if these
    are more than 1 % of the records, and more than one.

    `plain`: Records as `plain_records` makes them.
    """
    try:
        times = None if now is None else [float(round(time)) for time in request_times(now, len(plain))]
        rows = featurizer.rows(plain, times)
    except UnusableRecord as problem:
        raise ExportError(
            f"golden_records: {problem}; the service would refuse it, so leave it out"
        ) from problem
    raw = model.raw(rows)
    trained = model.trained(rows)
    agrees = _agreeing(trained, raw)
    left_out = int((~agrees).sum())
    chosen = _chosen(rows, raw, manifest, agrees)
    if not chosen:
        return [], left_out
    answers = _contributions(model, featurizer, manifest, rows[chosen])
    own = (raw if trained is None else trained)[chosen]
    lines = [
        {
            "record": plain[index],
            **({} if times is None else {"now": time_text(times[index])}),
            "x": [_json_number(value) for value in rows[index].tolist()],
            "raw": float(raw[index]),
            "margin": logit(float(own[at])),
            "conversion_likelihood": conversion_likelihood(float(raw[index]), manifest["calibration"]),
            "score": percentile_score(float(raw[index]), manifest["quantiles"]),
            **answers[at],
        }
        for at, index in enumerate(chosen)
    ]
    return lines, left_out


def _agreeing(trained: Vector | None, raw: Vector) -> npt.NDArray[np.bool_]:
    """Which probabilities by ONNX are those of the trainer. All, if there is no trainer."""
    if trained is None:
        return np.ones(len(raw), dtype=bool)
    agrees: npt.NDArray[np.bool_] = np.abs(trained - raw) <= ONNX_TOLERANCE
    differing = int((~agrees).sum())
    if differing > max(1, _MAX_DIFFERING_SHARE * len(raw)):
        first = int(np.argmin(agrees))
        raise ExportError(
            f"golden_records: on {differing:,} of {len(raw):,} records, ONNX differs from the trainer by "
            f"more than {ONNX_TOLERANCE} (the first is record {first + 1}). The conversion is wrong for this "
            "model: convert it yourself, and give OnnxFile(path) with oof_raw"
        )
    return agrees


def _chosen(
    rows: Vector, raw: Vector, manifest: Mapping[str, Any], agrees: npt.NDArray[np.bool_]
) -> list[int]:
    quantiles, calibration = manifest["quantiles"], manifest["calibration"]
    seen: set[bytes] = set()
    chosen = []
    for index, value in enumerate(raw.tolist()):
        key = rows[index].tobytes()
        if agrees[index] and key not in seen and is_steady(value, quantiles, calibration):
            seen.add(key)
            chosen.append(index)
    return chosen[:MAX_RECORDS]


def _contributions(
    model: ConvertedModel, featurizer: Featurizer, manifest: Mapping[str, Any], rows: Vector
) -> list[dict[str, Any]]:
    """Contributions by field and their base. Empty where the method is not exact, or takes too long."""
    if model.trees is not None:
        count = min(len(rows), rows_within(model.trees, _MAX_SECONDS))
        if count < min(len(rows), _MIN_EXPLAINED):
            return [{}] * len(rows)
        columns, base = tree_contributions(model.trees, rows[:count])
    elif model.linear is not None:
        means = np.asarray(manifest["explain"]["means"])
        columns, base = model.linear.contributions(rows.astype(np.float32), means)
    else:
        return [{}] * len(rows)
    explained: list[dict[str, Any]] = [
        {"contributions": _by_field(featurizer, row), "base": base} for row in columns
    ]
    return explained + [{}] * (len(rows) - len(explained))


def _by_field(featurizer: Featurizer, contributions: Vector) -> dict[str, float]:
    fields: dict[str, float] = {}
    for feature in featurizer.features:
        share = sum(contributions[column] for column in columns_of(feature))
        fields[feature["field"]] = fields.get(feature["field"], 0.0) + float(share)
    return fields


def _json_number(value: float) -> float | int | None:
    if value != value:
        return None
    return int(value) if value.is_integer() and abs(value) < 2**53 else value
