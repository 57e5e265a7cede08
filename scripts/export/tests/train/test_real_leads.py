"""Three public tables of leads: a bundle that the service accepts, and the AUC of a tuned script."""

from __future__ import annotations

from pathlib import Path

import pytest
from model_check import model_check
from past_leads import trained
from real_leads import real_leads
from tuned_script import compared

TABLES = {
    "salvirt-b2b": ("--converted=Status",),
    "x-education-leads": ("--converted=Converted", "--skip=Tags", "--skip=Lead Quality"),
    "bank-full": ("--converted=y", "--skip=duration"),
}
# The AUC of the held-out fifth, measured. Another draw of it gives up to 0.02 less.
LEAST_AUC = {"salvirt-b2b": 0.8, "x-education-leads": 0.87, "bank-full": 0.77}
SUSPECTS = {"x-education-leads": {"Tags", "Lead Quality"}, "bank-full": {"duration"}}
DRAWS = {"salvirt-b2b": (30, 10), "x-education-leads": (20, 6), "bank-full": (10, 4)}


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
    """Fewer draws than `tuned_script.py` makes for the figures of docs/train.md, to save time."""
    draws, finalists = DRAWS[name]
    found = compared(real_leads(name), *TABLES[name], draws=draws, finalists=finalists)
    assert found.searched.of_folds >= found.tuned.of_folds - 0.005
    if name != "salvirt-b2b":  # its 89 held-out leads have a standard error of 0.04
        assert found.searched.held_out >= found.tuned.held_out - 0.005
