"""Stored leads become a new version: with the cells that were scored, and beside the earlier scores."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_check import model_check
from past_leads import FAST, PACKAGE, Run

from leadscore_export import Boolean, Category, Date, Multi, Number
from leadscore_export.featurizer.feature_types import manifest_features
from leadscore_export.train.command.failures import TrainError
from leadscore_export.train.selection import selection_figures, selection_notes
from leadscore_export.train.stored import read_stored, stored_features

FEATURES = [
    Category(
        "Source", ["Website", "Referral", "Never"], category_aliases={"Web": "Website"}, label="Lead source"
    ),
    Number("Employees", aliases=["headcount"]),
    Boolean("Demo"),
    Multi("Products", ["CRM", "Ads"]),
    Date("Touched", date_order="dmy"),
    Number("Empty"),
]
FIRST = datetime(2026, 1, 1, tzinfo=timezone.utc)


def stored_lines(rows: int = 800, *, seed: int = 1, **head: Any) -> Iterator[str]:
    draw = np.random.default_rng(seed)
    features, _ = manifest_features(FEATURES)
    columns = [feature["field"] for feature in features]
    first = {"version": "7", "name": "Fit", "horizon_days": 30, "columns": columns, "features": features}
    yield json.dumps({**first, "missing_tokens": ["?"], **head})
    for row in range(rows):
        at = FIRST + timedelta(hours=row)
        source = str(draw.choice(["web", "Referral", "Partner", "?"]))
        demo, products = bool(draw.random() < 0.5), draw.choice(["CRM", "ads", "Calls"], 2).tolist()
        employees = int(10 ** draw.uniform(0.5, 4))
        margin = -1.5 + (source == "Referral") + demo + 0.3 * np.log10(employees)
        won = bool(draw.random() < 1 / (1 + np.exp(-margin)))
        touched = f"{(at - timedelta(days=int(draw.integers(1, 27)))):%d/%m/%Y}"
        cells = [source, [employees] if row % 2 else employees, demo, products, touched, None]
        lead = {"at": at.isoformat().replace("+00:00", "Z"), "converted": won, "days": 4.5 if won else None}
        yield json.dumps({**lead, "score": row % 101, "likelihood": 0.4, "version": "6", "cells": cells})
    yield json.dumps({"end": rows})


def trained_stored(lines: Iterator[str], *arguments: object) -> Run:
    reader, writer = os.pipe()
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "PYTHONUTF8": "1"}
    command = [sys.executable, "-m", "leadscore_export.train", "--stored", str(reader), "--json-lines"]
    with subprocess.Popen(
        [*command, *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        pass_fds=[reader],
    ) as process:
        os.close(reader)
        with os.fdopen(writer, "w", encoding="utf-8") as stream:
            stream.writelines(f"{line}\n" for line in lines)
        assert process.stdout is not None
        return (
            Run(0, [json.loads(line) for line in process.stdout])
            if process.wait() == 0
            else Run(process.returncode, [json.loads(line) for line in process.stdout])
        )


def test_stored_leads_become_a_version(tmp_path: Path) -> None:
    out = tmp_path / "model"
    run = trained_stored(
        stored_lines(counts={"unnamed": 12, "unnamed_by_band": [50, 0, 0, 0, 0], "without_fields": 3}),
        *FAST,
        "--out",
        out,
    )
    training = run.training
    assert (training["name"], training["horizon_days"]) == ("Fit", 30)
    assert training["fields"] == ["Source", "Employees", "Demo", "Products", "Touched"]
    assert training["left_out"] == {"Empty": "only 0 leads have it"}
    assert training["rows"]["unnamed"] == 12
    manifest = json.loads((out / "bundle" / "manifest.json").read_text(encoding="utf-8"))
    # The newest trained lead: four fifths of 800 hours. Later ones judge the candidate.
    assert manifest["validation"]["data_until"] == "2026-01-27T15:00:00Z"
    source, employees = manifest["features"][:2]
    assert (source["label"], source["categories"], employees["aliases"]) == (
        "Lead source",
        source["categories"],
        ["headcount"],
    )
    assert sorted(source["categories"]) == ["Partner", "Referral", "Website"]
    assert manifest["missing_tokens"] == ["?"]
    selection = training["selection"]
    assert [band["leads"] for band in selection["bands"]] == [160, 160, 160, 160, 160]
    assert [band["named"] for band in selection["bands"]] == [0.7619, 1, 1, 1, 1]
    assert selection["bands"][0]["median_days"] == 4.5
    assert selection["auc"]["leads"] == 160
    assert selection["auc"]["earlier"] < 0.6 < selection["auc"]["new"]["value"]
    assert any("outcomes are known for 76% to 100%" in note for note in training["notes"])
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "Leads with high scores may have won because they were called first" in page
    assert "on the same 160 held-out leads" in page
    assert '<td>scored by a version without one of the fields</td><td class="number">3</td>' in page
    # Only another program can hand over stored leads.
    assert "To repeat it" not in page
    (checked,) = model_check([out / "bundle"])
    assert checked["passed"]


def test_a_skipped_field_and_a_stream_that_ends_early(tmp_path: Path) -> None:
    run = trained_stored(stored_lines(), *FAST, "--skip", "employees", "--out", tmp_path / "model")
    assert run.training["left_out"]["Employees"] == "--skip"
    lines = list(stored_lines())[:-1]
    broken = trained_stored(iter(lines), *FAST, "--out", tmp_path / "other")
    assert (broken.code, broken.error["code"]) == (1, "bad_stored_leads")
    assert "ended after 800" in broken.error["message"]
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        ([], "bad_stored_leads"),
        (["nothing"], "bad_stored_leads"),
        ([*list(stored_lines(300))[:-1], '{"end": 299}'], "bad_stored_leads"),
        ([next(stored_lines()), '{"end": 0}'], "too_few_leads"),
        (list(stored_lines(99)), "too_few_leads"),
    ],
)
def test_faulty_streams(lines: list[str], code: str) -> None:
    with pytest.raises(TrainError) as caught:
        read_stored(lines)
    assert caught.value.code == code


def test_values_of_ten_leads_become_categories() -> None:
    stored = read_stored(stored_lines())
    few = np.flatnonzero(np.arange(800) < 60)
    chosen = stored_features(stored, few, {"Demo": "--skip"})
    names = [feature.field for feature in chosen.features]
    assert names == ["Source", "Employees", "Products", "Touched"]
    assert chosen.left_out == {"Demo": "--skip", "Empty": "only 0 leads have it"}
    source, employees, products = chosen.features[:3]
    assert isinstance(source, Category)
    assert (source.category_aliases, source.missing_column) == ({"Web": "Website"}, True)
    assert isinstance(employees, Number)
    assert employees.impute is not None
    assert isinstance(products, Multi)
    assert sorted(products.categories) == ["Ads", "CRM", "Calls"]


def test_bands_of_earlier_scores() -> None:
    scores, won = np.array([0.0, 19, 20, 100]), np.array([1.0, 1, 0, 1])
    days = np.array([2.0, 4, np.nan, 1])
    bands = selection_figures(scores, won, days, None)
    assert [band["leads"] for band in bands] == [2, 1, 0, 0, 1]
    assert [band["median_days"] for band in bands] == [3, None, None, None, 1]
    assert selection_notes(bands) == []
    assert selection_notes(selection_figures(scores, won, days, [0, 0, 0, 0, 0])) == []


def test_a_band_of_few_leads_makes_no_note() -> None:
    scores = np.full(60, 90.0)
    won, days = np.zeros(60), np.full(60, np.nan)

    def notes(unnamed: int) -> list[str]:
        return selection_notes(selection_figures(scores, won, days, [unnamed, 0, 0, 0, 0]))

    assert (notes(1), notes(29)) == ([], [])
    assert notes(30)[0].startswith("outcomes are known for 0% to 100% of the leads")
