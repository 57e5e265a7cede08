"""Fits the model on its rows, and exports it with all checks of the exporter."""

from __future__ import annotations

import contextlib
import io
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leadscore_export.errors import ExportError, HoldoutRefused, short_text
from leadscore_export.export_bundle import export_bundle
from leadscore_export.export_report import ExportReport
from leadscore_export.scores.training_figures import area_under_curve
from leadscore_export.train.as_of import likely_since
from leadscore_export.train.command.failures import TrainError
from leadscore_export.train.rows.prepare import Prepared
from leadscore_export.train.search import Candidate

Vector = npt.NDArray[np.float64]

_SHOWN_MONTHS = 24


@dataclass(frozen=True)
class Interval:
    """A figure with its 95 % interval."""

    value: float
    low: float
    high: float

    def document(self) -> dict[str, float]:
        """The figure for training.json."""
        return {"value": round(self.value, 4), "low": round(self.low, 4), "high": round(self.high, 4)}


def fitted_model(prepared: Prepared, candidate: Candidate, threads: int) -> Any:
    """A classifier of LightGBM with a fixed number of trees, so that its copies have as many."""
    from lightgbm import LGBMClassifier

    parameters = candidate.parameters.lightgbm(threads)
    return LGBMClassifier(n_estimators=candidate.trees, **parameters).fit(prepared.rows, prepared.converted)


def exported(
    model: Any,
    prepared: Prepared,
    folder: Path,
    *,
    say: Callable[[str], None],
    months: Sequence[dict[str, object]],
    **arguments: Any,
) -> ExportReport:
    """Exports the model. `arguments`: Further ones of `export_bundle`. Raises TrainError.

    `say`: Gets each step of the export.
    `months`: Conversion rates, for the error of a holdout that converts at another rate.
    """
    try:
        with _steps_to(say):
            return export_bundle(
                model,
                prepared.featurizer,
                folder,
                X=prepared.rows,
                y=prepared.converted,
                groups=prepared.groups,
                holdout=(prepared.held_rows, prepared.held_converted),
                **arguments,
            )
    except HoldoutRefused as problem:
        raise _holdout_error(problem, months) from problem
    except ExportError as problem:
        raise TrainError("not_exported", f"the exporter refuses the model: {problem}") from problem


def auc_interval(scores: Vector, converted: Vector) -> Interval:
    """The AUC with its interval by Hanley and McNeil (1982)."""
    auc = area_under_curve(scores, converted)
    won, lost = float(converted.sum()), float(len(converted) - converted.sum())
    one, two = auc / (2 - auc), 2 * auc * auc / (1 + auc)
    variance = (auc * (1 - auc) + (won - 1) * (one - auc * auc) + (lost - 1) * (two - auc * auc)) / (
        won * lost
    )
    half = 1.96 * math.sqrt(max(0.0, variance))
    return Interval(auc, max(0.0, auc - half), min(1.0, auc + half))


def _holdout_error(problem: HoldoutRefused, months: Sequence[dict[str, object]]) -> TrainError:
    text = f"the model is refused on the held-out leads: {problem}"
    if not months:
        return TrainError("holdout_refused", text)
    rates = ", ".join(f"{each['month']} {float(str(each['rate'])):.1%}" for each in months[-_SHOWN_MONTHS:])
    since = likely_since(months)
    advice = "" if since is None else f". If older leads converted otherwise, give --since {since}"
    return TrainError(
        "holdout_refused", f"{text}. Rates by month: {rates}{advice}", months=list(months), since=since
    )


@contextlib.contextmanager
def _steps_to(say: Callable[[str], None]) -> Iterator[None]:
    """Hands the lines that the exporter prints on standard error to `say`."""

    class Steps(io.TextIOBase):
        def write(self, text: str) -> int:
            for line in text.splitlines():
                if line.startswith("export: "):
                    say(line.removeprefix("export: "))
            return len(text)

    with contextlib.redirect_stderr(Steps()):
        yield


def check_lightgbm() -> None:
    """Raises TrainError with the remedy if LightGBM cannot load its library."""
    try:
        import lightgbm  # noqa: F401
    except OSError as problem:
        raise TrainError(
            "no_openmp",
            f"LightGBM cannot be loaded ({short_text(problem)}); install OpenMP. On macOS: brew install "
            "libomp. On Debian and Ubuntu: apt-get install libgomp1",
        ) from problem
