"""Each kind of model in each way of training: exported with right likelihoods, noted, or refused with advice.

The table of docs/models.md is the result. If the test fails, it prints the right table.
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from training_kinds import FEATURES, KINDS, drawn
from training_ways import WAYS

from leadscore_export import ExportError, export_bundle
from leadscore_export.comparison.holdout import holdout_level
from leadscore_export.comparison.reliability import likelihoods_of
from leadscore_export.convert.convert_model import convert_model
from leadscore_export.scores.out_of_fold import FoldScores, fold_scores, kept_trees

DOCUMENT = Path(__file__).parents[4] / "docs" / "models.md"
BEGIN, END = "<!-- made by test_training_ways.py -->\n", "<!-- end -->"

ROWS = drawn(3000)
UNSEEN = drawn(20_000, seed=1)

# The arguments and calls that a refusal may advise.
REMEDIES = ("sample_weight=", "oof_raw", "X is not what it was trained on", "export the classifier inside")
# Notes of every export here, which has neither golden records nor a holdout.
USUAL = ("no golden records", "no holdout")


@pytest.fixture
def outcomes(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> dict[str, dict[str, str]]:
    """By way and kind: "exported", "noted" or "refused"; or "-" if the kind cannot be trained so."""
    # The package's attribute of that name is the function.
    module = sys.modules["leadscore_export.export_bundle"]
    monkeypatch.setattr(module, "fold_scores", trained_once())
    return {
        way: {kind: outcome_of(way, kind, tmp_path_factory.mktemp("bundle")) for kind in KINDS}
        for way in WAYS
    }


def trained_once() -> Any:
    """`fold_scores`, which trains equal copies on X only once."""
    known: dict[str, FoldScores] = {}

    def scores(model: Any, rows: Any, converted: Any, groups: Any, weights: Any, **more: Any) -> FoldScores:
        parameters = sorted(model.get_params().items()) if hasattr(model, "get_params") else id(model)
        key = repr((parameters, kept_trees(model), None if weights is None else sum(weights)))
        if key not in known:
            known[key] = fold_scores(model, rows, converted, groups, weights, **more)
        return known[key]

    return scores


def outcome_of(way: str, kind: str, folder: Path) -> str:
    """Trains and exports. Asserts that a refusal gives advice, and that likelihoods hold on new leads."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = WAYS[way](kind, *ROWS, folder)
        if given is None:
            return "-"
        model, more = given
        try:
            report = export_bundle(
                model, FEATURES, folder / "bundle", name="n", version="1", X=ROWS[0], y=ROWS[1], **more
            )
        except ExportError as refusal:
            assert any(remedy in str(refusal) for remedy in REMEDIES), refusal
            return "refused"
    manifest = json.loads((folder / "bundle" / "manifest.json").read_text(encoding="utf-8"))
    raw = convert_model(model, len(FEATURES)).raw(UNSEEN[0])
    level = holdout_level(likelihoods_of(raw, manifest["calibration"]), UNSEEN[1].astype(float))
    assert not level.is_refused, (way, kind, level)
    return "exported" if all(note.startswith(USUAL) for note in report.notes) else "noted"


def table_of(outcomes: dict[str, dict[str, str]]) -> str:
    head = f"| training | {' | '.join(KINDS)} |\n|{'---|' * (len(KINDS) + 1)}\n"
    return head + "".join(
        f"| {way} | {' | '.join(found[kind] for kind in KINDS)} |\n" for way, found in outcomes.items()
    )


def test_the_table_of_the_docs_is_right(outcomes: dict[str, dict[str, str]]) -> None:
    table = table_of(outcomes)
    written = DOCUMENT.read_text(encoding="utf-8")
    found = re.search(f"{re.escape(BEGIN)}(.*?){re.escape(END)}", written, re.DOTALL)
    assert found is not None and found[1] == table, f"write this into {DOCUMENT.name}:\n{BEGIN}{table}{END}"
