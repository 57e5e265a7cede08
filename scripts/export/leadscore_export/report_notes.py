"""What an export notes beside its figures: nothing is wrong enough to refuse, but somebody should know."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from leadscore_export.early_stopping import KeptTrees
from leadscore_export.training_figures import area_under_curve

Vector = npt.NDArray[np.float64]

_FEW_ROWS = 300


def report_notes(
    *, raw: Vector, converted: Vector, stopped: KeptTrees | None, lift: float, has_golden: bool, has_holdout: bool
) -> list[str]:
    """The notes that hold.

    raw, converted: out-of-fold probabilities and outcomes of X.
    stopped: what early stopping left of a model whose copies were trained here.
    lift: of the holdout, or else out of fold.
    """
    notes = {
        f"{len(raw)} rows: scores and likelihoods are rough": len(raw) < _FEW_ROWS,
        "out of fold the model hardly ranks better than chance": area_under_curve(raw, converted) < 0.55,
        f"the top fifth converts no better than the others (a lift of {lift:.2f})": lift <= 1,
        "no golden records: `model check` can only see that the model runs; give golden_records": not has_golden,
        "no holdout: base rate and lift come from out-of-fold scores": not has_holdout,
    }
    early = []
    if stopped is not None:
        early = [
            f"early stopping kept {stopped.kept} of {stopped.told} trees: the copies for out-of-fold scores were "
            "trained with as many, and without early stopping"
        ]
    return early + [note for note, holds in notes.items() if holds]
