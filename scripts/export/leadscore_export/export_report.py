"""The report of an export: figures of the bundle, and notes on what may be wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from leadscore_export.bundle.check_columns import constant_notes, same_name_notes
from leadscore_export.comparison.reliability import ReliabilityCurve, reliability_lines
from leadscore_export.comparison.reliability_page import reliability_page
from leadscore_export.featurizer.featurizer import Featurizer
from leadscore_export.scores.calibration import PLATT_FROM, CalibrationKind
from leadscore_export.scores.out_of_fold import KeptTrees
from leadscore_export.scores.score_bands import MIN_BANDS, bands_of
from leadscore_export.scores.training_data import smaller_class
from leadscore_export.scores.training_figures import area_under_curve, best_column

Vector = npt.NDArray[np.float64]

_FEW_ROWS = 300
_LEAK_AUC = 0.98  # no honest lead model ranks this well

# A note on two rates needs both: this ratio between them, and a difference of these standard errors.
_RATE_RATIO = 1.3
_RATE_ERRORS = 2.5


@dataclass(frozen=True)
class ExportReport:
    """Location of the bundle, figures on rows outside training, reliability curves, and notes."""

    folder: Path
    rows: int
    base_rate: float
    out_of_fold_auc: float
    top_lift: float
    calibration: str
    contributions: str
    golden_records: int
    notes: tuple[str, ...]
    curves: tuple[ReliabilityCurve, ...] = ()

    def page(self) -> str:
        """The report with a chart of the reliability curves, as HTML."""
        return reliability_page(f"Export of {self.folder.name}", self.curves, str(self))

    def __str__(self) -> str:
        lines = [
            f"Bundle written to {self.folder}",
            f"  trained on        {self.rows:,} rows, {self.base_rate:.1%} of them converted",
            f"  AUC out of fold   {self.out_of_fold_auc:.3f}",
            f"  top-fifth lift    {self.top_lift:.2f}",
            f"  calibration       {self.calibration}",
            f"  contributions     {self.contributions}",
            f"  golden records    {self.golden_records}",
            *reliability_lines(self.curves),
            *(f"  note: {note}" for note in self.notes),
            f"Check it: npx leadscore model check {self.folder}",
        ]
        return "\n".join(lines)


@dataclass(frozen=True)
class Exported:
    """The data from which the notes are derived.

    `rows`, `converted`, `raw`: X, its outcomes and its out-of-fold probabilities.
    `scores`: The different scores that the model gives to X; None for a model that is not graded.
    `conversion`: Notes of the conversion to ONNX.
    `held_converted`: Outcomes of the holdout, None without one.
    `lift`: Of the holdout, else of the out-of-fold rows.
    `trees`: Tree counts of a model that was copied here, if the model does not have the configured number.
    `golden_given`: Number of golden records, None if the argument was not given.
    `golden_left_out`: Number of golden records on which ONNX and the trainer differ.
    `golden_explained`: Number of golden records with contributions.
    `is_exact`: Whether the model has exact contributions.
    """

    featurizer: Featurizer
    rows: Vector
    converted: Vector
    raw: Vector
    scores: Sequence[int] | None
    conversion: Sequence[str]
    held_converted: Vector | None
    calibration: CalibrationKind
    trees: KeptTrees | None
    lift: float
    golden_given: int | None
    golden_kept: int
    golden_left_out: int
    golden_explained: int
    is_exact: bool
    model_kind: str


def report_notes(exported: Exported) -> tuple[str, ...]:
    """The notes that apply."""
    auc = area_under_curve(exported.raw, exported.converted)
    count = len(exported.raw)
    notes = [
        *exported.conversion,
        _trees_note(exported.trees),
        *same_name_notes(exported.featurizer),
        *constant_notes(exported.featurizer, exported.rows),
        f"only {count} rows: scores and likelihoods are imprecise" if count < _FEW_ROWS else None,
        "the out-of-fold AUC is below 0.55: the model ranks hardly better than chance"
        if auc < 0.55
        else None,
        _few_note(exported.converted),
        None if exported.scores is None else _verdict_note(exported.scores),
        _leak_note(exported, auc) if auc >= _LEAK_AUC else None,
        f"the top fifth converts no better than the rest (lift {exported.lift:.2f})"
        if exported.lift <= 1
        else None,
        _uncalibrated_note(exported.raw, exported.converted) if exported.calibration == "identity" else None,
        _golden_note(exported.golden_given, exported.golden_kept),
        _left_out_note(exported.golden_left_out),
        _explained_note(exported) if exported.is_exact else None,
        _own_calibration_note(exported.model_kind),
        _holdout_note(exported.converted, exported.held_converted),
    ]
    return tuple(note for note in notes if note is not None)


def _trees_note(trees: KeptTrees | None) -> str | None:
    if trees is None:
        return None
    if trees.kept > trees.configured:
        return (
            f"the model continued the training of another one, to {trees.kept} trees. The copies for "
            "out-of-fold scores grow as many, all on X with this model's settings. Give oof_raw if the "
            "other model was trained differently"
        )
    return (
        f"early stopping kept {trees.kept} of {trees.configured} trees: the copies for out-of-fold "
        f"scores have {trees.kept} trees and no early stopping"
    )


def _few_note(converted: Vector) -> str | None:
    smaller, kind = smaller_class(converted)
    if smaller >= PLATT_FROM or len(converted) < _FEW_ROWS:
        return None
    return (
        f"only {smaller} of {len(converted):,} rows {kind}: scores and likelihoods are imprecise. "
        f"Likelihoods are calibrated from {PLATT_FROM} such rows on"
    )


def _verdict_note(scores: Sequence[int]) -> str | None:
    bands = bands_of(scores)
    if bands >= MIN_BANDS:
        return None
    few = len(scores) < MIN_BANDS
    given = f"{len(scores)} different scores" if few else f"scores in {bands} of the 5 score bands only"
    return (
        f"validation can never reach a verdict: the model gives {given}; {MIN_BANDS} are needed. Train a "
        "model that tells more leads apart (more features, trees or leaves)"
    )


def _golden_note(given: int | None, kept: int) -> str | None:
    if kept:
        return None
    seen = "`model check` can only verify that the model runs"
    if not given:
        return (
            f"no golden records {'are given' if given is None else '(the list is empty)'}: {seen}; give "
            "golden_records"
        )
    return (
        f"{given:,} golden records given, 0 kept: {seen}. A change in the last digits of raw changes "
        "the score or likelihood of each, as when many leads have almost the same probability. Give "
        "others, or more"
    )


def _left_out_note(count: int) -> str | None:
    if not count:
        return None
    return (
        f"{count:,} golden {'record is' if count == 1 else 'records are'} left out: ONNX differs from the "
        "trainer there by more than 1e-4 of a probability. Leads like them score a little differently than "
        "in training"
    )


def _explained_note(exported: Exported) -> str | None:
    explained, kept = exported.golden_explained, exported.golden_kept
    if explained == kept:
        return None
    first = f"the first {explained} of {kept}" if explained else "none of the"
    return (
        f"{first} golden records have contributions to compare: the trees have too many leaves to "
        "compute more. Fewer or smaller trees (min_samples_leaf, max_depth) often rank better and "
        "score faster"
    )


def _own_calibration_note(model_kind: str) -> str | None:
    if model_kind != "CalibratedClassifierCV":
        return None
    return (
        "CalibratedClassifierCV was exported as a whole: export the classifier inside instead. The "
        "exporter calibrates by itself, and contributions of trees become exact"
    )


def _leak_note(exported: Exported, auc: float) -> str:
    column, alone = best_column(exported.rows, exported.converted)
    return (
        f"the out-of-fold AUC of {auc:.3f} suggests a leak. The column that ranks best alone is "
        f'"{exported.featurizer.column_names[column]}" (AUC {alone:.3f}): was it known when the leads '
        "were scored?"
    )


def _uncalibrated_note(raw: Vector, converted: Vector) -> str | None:
    expected, rate = float(raw.mean()), float(converted.mean())
    if not _is_far(expected, rate, len(raw)):
        return None
    return (
        f"likelihoods are not calibrated: out of fold they average {expected:.1%}, but {rate:.1%} "
        'converted. Give calibration="platt", or more rows, or train without class weights'
    )


def _holdout_note(converted: Vector, held: Vector | None) -> str | None:
    if held is None:
        return "no holdout: base rate and lift come from out-of-fold scores"
    trained, natural = float(converted.mean()), float(held.mean())
    if not _is_far(trained, natural, min(len(converted), len(held))):
        return None
    return (
        f"{trained:.1%} of X converted, but {natural:.1%} of the holdout. Likelihoods are calibrated on "
        "X, so they hold only where leads convert at that rate. Train on leads at their natural rate; "
        "use weights instead of dropping or duplicating leads"
    )


def _is_far(one: float, other: float, count: int) -> bool:
    """Whether two rates differ by more than 1.3 times, and by more than chance, given `count` rows."""
    low, high = sorted([one, other])
    middle = (low + high) / 2
    return high > _RATE_RATIO * low and high - low > _RATE_ERRORS * float(
        np.sqrt(middle * (1 - middle) / count)
    )
