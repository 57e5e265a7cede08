"""A CSV becomes a bundle that the service accepts, or an error with a code, and nothing else is left."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from model_check import model_check
from past_leads import FAST, WORDS, past_leads, trained, written

LEADS = ("--converted", "stage", *WORDS)


def test_a_csv_becomes_a_bundle(tmp_path: Path) -> None:
    file = written(tmp_path / "leads.csv", past_leads())
    out = tmp_path / "deep" / "model"
    run = trained(file, *LEADS, *FAST, "--id", "Lead Id", "--out", out)
    training = run.training
    assert training == json.loads((out / "training.json").read_text(encoding="utf-8"))
    assert training["fields"] == ["Source", "Employees", "Visits", "Country"]
    assert training["left_out"] == {
        "Lead Id": "it identifies leads (--id)",
        "Currency": "it always has the same value ('EUR')",
        "Comment": "none of its values is in 10 rows",
        "Stage": "it is the outcome",
    }
    assert training["rows"]["trained"] + training["rows"]["held_out"] == 600
    assert 0.6 < training["auc"]["held_out"]["value"] < 0.85
    assert [path.name for path in tmp_path.iterdir()] == ["leads.csv", "deep"]
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["model"]
    shares = [progress["share"] for progress in run.of("progress")]
    assert shares == sorted(shares)
    steps = list(dict.fromkeys(progress["step"] for progress in run.of("progress")))
    assert steps == ["read", "prepare", "leaks", "search", "fit", "export", "write"]
    texts = [progress["text"] for progress in run.of("progress")]
    assert f"writing the bundle to {out / 'bundle'}" in texts
    assert set(run.of("note")) == set(training["notes"])
    (checked,) = model_check([out / "bundle"])
    assert checked["passed"]
    assert checked["golden"]["records"] >= 100
    golden = (out / "bundle" / "golden.jsonl").read_text(encoding="utf-8")
    assert "00Q" not in golden


def test_the_same_leads_make_the_same_model(tmp_path: Path) -> None:
    file = written(tmp_path / "leads.csv", past_leads(300))
    models = []
    for name in ("one", "two"):
        trained(file, *LEADS, *FAST, "--out", tmp_path / name).training  # noqa: B018
        manifest = json.loads((tmp_path / name / "bundle" / "manifest.json").read_text(encoding="utf-8"))
        models.append((manifest["version"], manifest["onnx"]["sha256"], manifest["quantiles"]))
    assert models[0] == models[1]


def test_an_earlier_result_is_replaced_only_on_request(tmp_path: Path) -> None:
    file = written(tmp_path / "leads.csv", past_leads(300))
    out = tmp_path / "model"
    out.mkdir()
    (out / "training.json").write_text("old", encoding="utf-8")
    assert trained(file, *LEADS, *FAST, "--out", out).error["code"] == "exists"
    assert (out / "training.json").read_text(encoding="utf-8") == "old"
    assert trained(file, *LEADS, *FAST, "--out", out, "--replace").code == 0
    assert (out / "bundle" / "manifest.json").exists()
    (out / "thesis.txt").write_text("mine", encoding="utf-8")
    assert trained(file, *LEADS, *FAST, "--out", out, "--replace").error["code"] == "exists"
    assert (out / "thesis.txt").exists()


@pytest.mark.parametrize("step", ["read", "search", "export"])
def test_an_interruption_leaves_nothing(tmp_path: Path, step: str) -> None:
    file = written(tmp_path / "leads.csv", past_leads(300))
    run = trained(file, *LEADS, "--out", tmp_path / "out" / "model", interrupt_at=step)
    assert (run.code, run.error["code"]) == (130, "interrupted")
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "code", "exit_code"),
    [
        (("--converted", "Stagee"), "no_column", 1),
        (("--converted", "Stage"), "unknown_outcomes", 1),
        ((*LEADS, "--skip", "Source", "--keep", "source"), "usage", 2),
        ((*LEADS, "--skip", "Sorce"), "no_column", 1),
        (LEADS[2:], "usage", 2),
        (("--converted", "Stage", "--won-values", "Closed Won,Closed Lost"), "one_class", 1),
        (
            (*LEADS, *(f"--skip={name}" for name in ("Source", "Employees", "Visits", "Country"))),
            "no_features",
            1,
        ),
    ],
)
def test_errors_have_codes(tmp_path: Path, arguments: tuple[str, ...], code: str, exit_code: int) -> None:
    file = written(tmp_path / "leads.csv", past_leads(200))
    run = trained(file, *arguments, "--out", tmp_path / "model")
    assert (run.error["code"], run.code) == (code, exit_code), run.error
    assert run.error["message"]
    assert [path.name for path in tmp_path.iterdir()] == ["leads.csv"]


def test_a_file_that_is_missing(tmp_path: Path) -> None:
    run = trained(tmp_path / "none.csv", *LEADS, "--out", tmp_path / "model")
    assert run.error["code"] == "no_file"
    assert "no such file" in run.error["message"].lower()


def test_a_rate_that_has_changed_names_the_months(tmp_path: Path) -> None:
    leads = past_leads(900)
    for row, lead in enumerate(leads):
        lead["Created"] = f"2025-{row // 90 + 1:02}-{row % 28 + 1:02}"
        if row >= 540:  # from July on, few leads are won
            lead["Stage"] = "Closed Won" if row % 12 == 0 else "Closed Lost"
    file = written(tmp_path / "leads.csv", leads)
    dated = ("--at", "Created", "--until", "2026-06-01")
    run = trained(file, *LEADS, *FAST, *dated, "--out", tmp_path / "model")
    assert run.error["code"] == "holdout_refused", run.error
    context = run.error["context"]
    assert [month["month"] for month in context["months"]] == [f"2025-{month:02}" for month in range(1, 11)]
    assert context["since"] == "2025-07-01"
    assert "give --since 2025-07-01" in run.error["message"]
    assert [path.name for path in tmp_path.iterdir()] == ["leads.csv"]
