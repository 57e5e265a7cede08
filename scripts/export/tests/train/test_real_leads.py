"""Three public tables of leads: a bundle that the service accepts, and the AUC of a tuned script."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from model_check import model_check
from past_leads import trained
from real_leads import real_leads

from leadscore_export.train import search
from leadscore_export.train.command.options import parsed_options
from leadscore_export.train.rows.leads import read_leads
from leadscore_export.train.rows.prepare import prepare
from leadscore_export.train.search import Parameters, search_parameters

TABLES = {
    "salvirt-b2b": ("--converted=Status",),
    "x-education-leads": ("--converted=Converted", "--skip=Tags", "--skip=Lead Quality"),
    "bank-full": ("--converted=y", "--skip=duration"),
}
# The AUC of the held-out fifth, measured. Another draw of it gives up to 0.02 less.
LEAST_AUC = {"salvirt-b2b": 0.8, "x-education-leads": 0.87, "bank-full": 0.77}
SUSPECTS = {"x-education-leads": {"Tags", "Lead Quality"}, "bank-full": {"duration"}}
DRAWS = 4
SEARCHED_ROWS = 8000


@pytest.mark.parametrize("name", TABLES)
def test_a_table_becomes_a_bundle(name: str, tmp_path: Path) -> None:
    out = tmp_path / "model"
    training = trained(real_leads(name), *TABLES[name], "--budget", "30", "--out", out).training
    assert training["auc"]["held_out"]["value"] > LEAST_AUC[name]
    assert (out / "report.html").stat().st_size < 300_000
    (checked,) = model_check([out / "bundle"])
    assert checked["passed"]


@pytest.mark.parametrize("name", SUSPECTS)
def test_leaks_of_a_table_are_refused(name: str, tmp_path: Path) -> None:
    run = trained(real_leads(name), TABLES[name][0], "--out", tmp_path / "model")
    assert {field["field"] for field in run.error["context"]["fields"]} == SUSPECTS[name]


@pytest.mark.parametrize("name", TABLES)
def test_the_search_is_as_good_as_a_tuned_script(name: str) -> None:
    """Random draws of wide ranges on the same folds are no more than 0.005 of AUC better."""
    options = parsed_options([str(real_leads(name)), *TABLES[name]])
    leads = read_leads(options, lambda text: None)
    prepared = prepare(
        leads, options, note=lambda text: None, say=lambda text, share: None, confirm=lambda ranks: {}
    )
    some = slice(0, SEARCHED_ROWS)
    rows, won, groups = prepared.rows[some], prepared.converted[some], prepared.groups[some]
    found = search_parameters(rows, won, groups, budget_seconds=1e6, threads=1, say=lambda text, share: None)
    trial = search._Trial(rows, won, groups, 1)
    draw = np.random.default_rng(0)
    drawn = [
        Parameters(
            leaves=int(draw.integers(3, 64)),
            rows_a_leaf=int(draw.integers(3, 120)),
            columns=float(draw.uniform(0.2, 1)),
            l2=float(10 ** draw.uniform(-2, 2)),
        )
        for _ in range(DRAWS)
    ]
    best = max(trial.candidate(parameters).auc for parameters in drawn)
    assert found.best.auc >= best - 0.005
