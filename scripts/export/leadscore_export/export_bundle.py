"""Writes the bundle of a trained model."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from leadscore_export.bundle.bundle_files import (
    data_end,
    explanation,
    onnx_reference,
    recency_guard,
    training_time,
    write_bundle,
)
from leadscore_export.bundle.check_answers import check_answers
from leadscore_export.bundle.check_arguments import check_arguments, check_features, whole_days
from leadscore_export.bundle.check_columns import (
    check_fields,
    check_missing_values,
    check_whole_categories,
)
from leadscore_export.bundle.check_scores import (
    check_agreement,
    check_lift,
    check_ranking,
    checked_holdout,
    given_scores,
    holdout_scores,
    own_answers,
)
from leadscore_export.bundle.golden_records import golden_lines
from leadscore_export.comparison.compare import Compared, compare
from leadscore_export.convert.convert_model import convert_model, positive_class_of
from leadscore_export.convert.converted_model import ConvertedModel
from leadscore_export.convert.exact_limits import occlusion_reason
from leadscore_export.convert.pipelines.fold_pipeline import fold_pipeline
from leadscore_export.convert.pipelines.trained_table import TrainedTable, decimal_columns
from leadscore_export.errors import ExportError, failures_advise
from leadscore_export.export_report import Exported, ExportReport, report_notes
from leadscore_export.featurizer.feature_types import Feature
from leadscore_export.featurizer.featurizer import Featurizer, Moment
from leadscore_export.featurizer.from_frame import holds_fields
from leadscore_export.featurizer.record_values import Record, plain_records
from leadscore_export.scores.calibration import CalibrationKind, chosen_calibration, fitted_calibration
from leadscore_export.scores.out_of_fold import fold_scores, kept_trees
from leadscore_export.scores.score_bands import different_scores
from leadscore_export.scores.serving_figures import as_served
from leadscore_export.scores.training_data import checked_training_data, checked_weights
from leadscore_export.scores.training_figures import area_under_curve, quantiles_of, top_lift

Vector = npt.NDArray[np.float64]

_MAX_ONNX_BYTES = 64 * 1024 * 1024
_CONVERT_YOURSELF = "convert it yourself, and give OnnxFile(path) with oof_raw"


def export_bundle(
    model: Any,
    features: Featurizer | Sequence[Feature],
    out: str | Path,
    *,
    name: str,
    version: str,
    X: Any,
    y: Any,
    positive: Any = None,
    oof_raw: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    holdout: tuple[Any, Any] | None = None,
    golden_records: Any = None,
    now: Moment | Sequence[Moment] | None = None,
    calibration: CalibrationKind | Literal["auto"] = "auto",
    horizon_days: int = 90,
    recency: str | Mapping[str, Any] | None = None,
    family: Literal["forward", "timing"] = "forward",
    baseline: Record | Sequence[float] | None = None,
    trained_at: Moment | None = None,
    data_until: date | Moment | None = None,
) -> ExportReport:
    """Writes a bundle to the folder `out` and reports its contents. Raises ExportError, saying what to do.

    `model`: A fitted binary classifier of LightGBM, XGBoost, CatBoost or scikit-learn, also in a pipeline, or
        an `OnnxFile`.
    `features`: The model's inputs; a Featurizer if there are missing_tokens. `Featurizer.from_frame(X)` for a
        model or pipeline that was trained on the frame X.
    `name`, `version`: The displayed name of the score, and the author's version. A version cannot change once
        it is imported.
    `X`, `y`: The training rows as `Featurizer.rows` makes them, or the frame that the model was trained on.
        `y` is 1 for each that converted, else 0, or a usual word for won or lost.
    `positive`: The value of y that means converted, such as "Closed Won". All others mean not converted.
    `oof_raw`: For each row of X, the probability by a model that was not trained on it. Without it, copies of
        the model are trained on five folds.
    `groups`: For those copies, the rows that must stay in one fold.
    `sample_weight`: For those copies, the weight that each row had in training.
    `holdout`: Rows and outcomes that were not trained on. Validation expects their lift; without them, that
        of the out-of-fold rows. Likelihoods must hold on them.
    `golden_records`, `now`: Records that `model check` compares, preferably held out, and when they were
        scored.
    `calibration`: "auto" chooses by the number of rows, see calibration.py.
    `horizon_days`: Days after scoring within which a conversion counts.
    `recency`: The Date field that warns about old records, or the manifest's own form. The limit is the 99th
        percentile of X.
    `baseline`: The reference row or record, for models that are neither trees nor linear.
    `data_until`: The last day whose leads are in X, by default `trained_at`. A candidate is judged on later
        leads.
    """
    check_arguments(name=name, version=version, family=family, calibration=calibration, recency=recency)
    days, trained = whole_days(horizon_days), training_time(trained_at)
    known_until = data_end(data_until, trained)
    featurizer = features if isinstance(features, Featurizer) else Featurizer(features)
    positive_index = positive_class_of(model, positive)
    say(f"reading {_row_count(X)} of X")
    folded = fold_pipeline(model, featurizer, X)
    if folded is not None:
        featurizer = folded.featurizer
    check_features(featurizer)
    rows, converted = checked_training_data(X if folded is None else folded.rows, y, featurizer, positive)
    table = TrainedTable(featurizer.width) if folded is None else folded.table
    table = replace(table, decimals=decimal_columns(rows), positive=positive_index)
    given = X if folded is not None or holds_fields(X, featurizer) else rows
    weights = checked_weights(sample_weight, len(rows))
    unseen = (
        None
        if holdout is None
        else checked_holdout(holdout, featurizer, positive, is_folded=folded is not None)
    )
    held_converted = converted if unseen is None else unseen[1]
    base_rate = round(float(held_converted.mean()), 6)
    with failures_advise("the model could not be converted", _CONVERT_YOURSELF):
        say("converting the model to ONNX, and comparing it with the trainer")
        onnx = convert_model(model if folded is None else folded.classifier, table)
        _check_file(onnx, featurizer)
        check_whole_categories(onnx, featurizer, rows)
        check_answers(onnx, rows, base_rate)
        served = check_agreement(onnx, rows, None if given is rows else own_answers(model, X, positive_index))
    check_fields(featurizer, rows)
    check_missing_values(onnx, featurizer, rows)
    too_large = None if onnx.trees is None else occlusion_reason(onnx.trees)
    if too_large is not None:  # the service would refuse exact contributions in golden records
        onnx = replace(onnx, trees=None, covers=None)
    guard = recency_guard(recency, featurizer, rows)
    explained = explanation(onnx, featurizer, rows, baseline)
    held = None if unseen is None else (holdout_scores(onnx, unseen[0]), held_converted)
    asked = None if golden_records is None else plain_records(golden_records)

    # The checks above are fast; out-of-fold scoring trains five models.
    if oof_raw is None:
        scores = fold_scores(model, given, converted, groups, weights, positive_index=positive_index, say=say)
        raw, copies = scores.raw, scores.copies
    else:
        raw, copies = given_scores(oof_raw, served), None
    raw = as_served(raw, served)
    check_ranking(served, raw, converted, are_given=oof_raw is not None)
    kind, reason = chosen_calibration(converted) if calibration == "auto" else (calibration, "as requested")
    lift = round(top_lift(raw if held is None else held[0], held_converted), 4)
    check_lift(lift, held_converted)
    fitted = fitted_calibration(kind, raw, converted)
    compared = compare(
        Compared(
            featurizer=featurizer,
            rows=rows,
            converted=converted,
            served=served,
            raw=raw,
            copies=copies,
            held=held,
            calibration=fitted,
        )
    )
    manifest: dict[str, Any] = {
        "schema_version": 1,
        "name": name,
        "version": version,
        "family": family,
        "trained_at": trained,
        "onnx": onnx_reference(onnx),
        "width": featurizer.width,
        "features": featurizer.features,
        "calibration": fitted,
        "quantiles": quantiles_of(raw),
        **({"missing_tokens": featurizer.missing_tokens} if featurizer.missing_tokens else {}),
        **guard,
        "explain": explained,
        "validation": {
            "horizon_days": days,
            "base_rate": base_rate,
            "holdout_top_lift": lift,
            **known_until,
        },
    }
    if asked:
        say(f"scoring {len(asked):,} golden records")
    with failures_advise("the golden records could not be scored", "leave out those that fail"):
        golden, left_out = golden_lines(onnx, featurizer, manifest, asked, now) if asked else ([], 0)
    # Written last: a failed check leaves no partial bundle.
    say(f"writing the bundle to {out}")
    write_bundle(Path(out), manifest, onnx, golden)
    return ExportReport(
        folder=Path(out),
        rows=len(rows),
        base_rate=float(converted.mean()),
        out_of_fold_auc=area_under_curve(raw, converted),
        top_lift=lift,
        calibration=f"{kind}: {reason}",
        contributions=_contributions_text(onnx, too_large),
        golden_records=len(golden),
        curves=compared.curves,
        notes=compared.notes
        + report_notes(
            Exported(
                raw=raw,
                scores=different_scores(served, manifest["quantiles"]) if family == "forward" else None,
                conversion=onnx.notes,
                converted=converted,
                held_converted=None if holdout is None else held_converted,
                featurizer=featurizer,
                rows=rows,
                calibration=kind,
                trees=kept_trees(model) if oof_raw is None else None,
                lift=lift,
                golden_given=None if asked is None else len(asked),
                golden_kept=len(golden),
                golden_left_out=left_out,
                golden_explained=sum("contributions" in line for line in golden),
                is_exact=onnx.trees is not None or onnx.linear is not None,
                model_kind=type(model).__name__,
            )
        ),
    )


def say(text: str) -> None:
    """Prints a step of the export to stderr."""
    print(f"export: {text}", file=sys.stderr, flush=True)


def _row_count(X: Any) -> str:
    return f"{len(X):,} rows" if hasattr(X, "__len__") else "the rows"


def _check_file(model: ConvertedModel, featurizer: Featurizer) -> None:
    if model.width is not None and model.width != featurizer.width:
        raise ExportError(
            f"the model was trained on {model.width} columns, but the features fill {featurizer.width} "
            f"({', '.join(featurizer.column_names)}); give the features that X was made with"
        )
    if len(model.file) > _MAX_ONNX_BYTES:
        raise ExportError(
            f"the ONNX file has {len(model.file) / 2**20:.0f} MiB, more than the limit of 64 MiB; train "
            "fewer or smaller trees (min_samples_leaf, max_depth)"
        )


def _contributions_text(model: ConvertedModel, too_large: str | None) -> str:
    if too_large is not None:
        return f"by occlusion, against the baseline row: {too_large}"
    if model.trees is not None:
        return "exact (trees)"
    if model.linear is not None:
        return "exact (linear)"
    return "by occlusion, against the baseline row: neither trees nor linear"
