"""What an export says of the bundle that it wrote."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from leadscore_export.bundle.check_columns import constant_notes
from leadscore_export.featurizer.featurizer import Featurizer
from leadscore_export.scores.calibration import CalibrationKind
from leadscore_export.scores.out_of_fold import KeptTrees
from leadscore_export.scores.training_figures import area_under_curve, best_column


@dataclass(frozen=True)
class ExportReport:
    """Where the bundle is, how good the model is on rows that it was not trained on, and what to know about it."""

    folder: Path
    rows: int
    base_rate: float
    out_of_fold_auc: float
    top_lift: float
    calibration: str
    contributions: str
    golden_records: int
    notes: tuple[str, ...]

    def __str__(self) -> str:
        lines = [
            f"Bundle written to {self.folder}",
            f"  trained on        {self.rows:,} rows, {self.base_rate:.1%} of them converted",
            f"  AUC out of fold   {self.out_of_fold_auc:.3f}",
            f"  top-fifth lift    {self.top_lift:.2f}",
            f"  calibration       {self.calibration}",
            f"  contributions     {self.contributions}",
            f"  golden records    {self.golden_records}",
            *(f"  note: {note}" for note in self.notes),
            f"Check it: npx leadscore model check {self.folder}",
        ]
        return "\n".join(lines)


Vector = npt.NDArray[np.float64]
_FEW_ROWS = 300
# No honest model of who buys is so good.
_TOO_GOOD = 0.98
# Rates that differ by so much, and by more errors of the smaller sample than chance gives, are noted.
_TIMES = 1.3
_ERRORS = 2.5


@dataclass(frozen=True)
class Exported:
    """What is known once a bundle is made.

    rows, converted, raw: X, its outcomes and its out-of-fold probabilities; held_converted: the outcomes of a holdout.
    lift: of the holdout, or else out of fold. trees: of a model that was copied here, where it has other ones than
    it was told.
    golden_given: the number of golden records, None when there were none to begin with; golden_explained: those with
    contributions, which is_exact says that the model has.
    """

    featurizer: Featurizer
    rows: Vector
    converted: Vector
    raw: Vector
    held_converted: Vector | None
    calibration: CalibrationKind
    trees: KeptTrees | None
    lift: float
    golden_given: int | None
    golden_kept: int
    golden_explained: int
    is_exact: bool
    model_kind: str


def report_notes(exported: Exported) -> tuple[str, ...]:
    """The notes that hold."""
    auc = area_under_curve(exported.raw, exported.converted)
    count = len(exported.raw)
    notes = [
        _trees_note(exported.trees),
        *constant_notes(exported.featurizer, exported.rows),
        f"{count} rows: scores and likelihoods are rough" if count < _FEW_ROWS else None,
        "out of fold the model hardly ranks better than chance" if auc < 0.55 else None,
        _leak_note(exported, auc) if auc >= _TOO_GOOD else None,
        f"the top fifth converts no better than the others (a lift of {exported.lift:.2f})"
        if exported.lift <= 1
        else None,
        _uncalibrated_note(exported.raw, exported.converted) if exported.calibration == "identity" else None,
        _golden_note(exported.golden_given, exported.golden_kept),
        _explained_note(exported) if exported.is_exact else None,
        _own_calibration_note(exported.model_kind),
        _holdout_note(exported.converted, exported.held_converted),
    ]
    return tuple(note for note in notes if note is not None)


def _trees_note(trees: KeptTrees | None) -> str | None:
    if trees is None:
        return None
    if trees.kept > trees.told:
        return (
            f"the model was trained on from another one, to {trees.kept} trees: the copies for out-of-fold scores grow "
            "as many, all on X and as the model was told; give oof_raw if the other one was trained differently"
        )
    return (
        f"early stopping kept {trees.kept} of {trees.told} trees: the copies for out-of-fold scores were trained "
        "with as many, and without early stopping"
    )


def _golden_note(given: int | None, kept: int) -> str | None:
    if kept:
        return None
    seen = "`model check` can only see that the model runs"
    if not given:
        return f"no golden records {'are given' if given is None else '(the list is empty)'}: {seen}; give golden_records"
    return (
        f"{given:,} golden records given, 0 kept: {seen}. Of each the score or likelihood changes with the last "
        "digits of raw, as where many leads have almost the same probability; give others, or more"
    )


def _explained_note(exported: Exported) -> str | None:
    explained, kept = exported.golden_explained, exported.golden_kept
    if explained == kept:
        return None
    first = f"the first {explained} of {kept}" if explained else "none of the"
    return (
        f"{first} golden records have contributions to compare: the trees have too many leaves for more; fewer or "
        "smaller ones (min_samples_leaf, max_depth) often rank better, and are scored faster"
    )


def _own_calibration_note(model_kind: str) -> str | None:
    if model_kind != "CalibratedClassifierCV":
        return None
    return (
        "CalibratedClassifierCV: export the classifier inside; the exporter calibrates by itself, and drivers of "
        "trees are exact"
    )


def _leak_note(exported: Exported, auc: float) -> str:
    column, alone = best_column(exported.rows, exported.converted)
    return (
        f"out of fold the AUC is {auc:.3f}, too good for leads: the column that ranks best by itself is "
        f'"{exported.featurizer.column_names[column]}" (AUC {alone:.3f}): was it known when the leads were scored?'
    )


def _uncalibrated_note(raw: Vector, converted: Vector) -> str | None:
    expected, rate = float(raw.mean()), float(converted.mean())
    if not _is_far(expected, rate, len(raw)):
        return None
    return (
        f"likelihoods are not calibrated, and out of fold they average {expected:.1%} where {rate:.1%} converted: give "
        'calibration="platt", or more rows, or train without class weights'
    )


def _holdout_note(converted: Vector, held: Vector | None) -> str | None:
    if held is None:
        return "no holdout: base rate and lift come from out-of-fold scores"
    trained, natural = float(converted.mean()), float(held.mean())
    if not _is_far(trained, natural, min(len(converted), len(held))):
        return None
    return (
        f"{trained:.1%} of X converted, and {natural:.1%} of the holdout: likelihoods calibrate on X, so that they are "
        "true only where leads convert at its rate; calibrate on data with the natural rate (train on leads as they "
        "come, with weights if need be, instead of leaving some out or doubling others)"
    )


def _is_far(one: float, other: float, count: int) -> bool:
    """Whether two rates differ by more than 1.3 times, and by more than chance, in so many rows."""
    low, high = sorted([one, other])
    middle = (low + high) / 2
    return high > _TIMES * low and high - low > _ERRORS * float(np.sqrt(middle * (1 - middle) / count))
