"""A field that was filled in after the outcome never trains without the word of a person."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from past_leads import FAST, WORDS, past_leads, trained, written

from leadscore_export import Category, Featurizer, Number
from leadscore_export.train.command.failures import TrainError
from leadscore_export.train.leaks import (
    TOO_GOOD_AUC,
    FieldRank,
    confirm_auc,
    confirm_suspects,
    rank_fields,
)
from leadscore_export.train.read_table import Column, Table
from leadscore_export.train.rows.feature_rows import feature_rows

LEADS = ("--converted", "Stage", *WORDS)
DRAW = np.random.default_rng(5)


def amount(row: int, won: bool) -> object:
    return 1000 + row if won else 0


def reason(row: int, won: bool) -> object:
    """Filled for a third of the lost leads alone."""
    return "" if won or row % 3 else ("Price" if row % 2 else "Timing")


def survey(row: int, won: bool) -> object:
    return "yes" if won == (DRAW.random() < 0.85) else "no"


def suspects(run: Any) -> dict[str, str]:
    (fields,) = run.of("fields")
    return {field["field"]: field["suspect"] for field in fields if field["suspect"] is not None}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    leads = past_leads(800, Amount=amount, Loss_Reason=reason, Survey=survey)
    return written(tmp_path_factory.mktemp("leaks") / "leads.csv", leads)


def test_leaks_are_named_and_refused_without_an_answer(file: Path, tmp_path: Path) -> None:
    run = trained(file, *LEADS, *FAST, "--out", tmp_path / "model")
    assert (run.code, run.error["code"]) == (1, "leak_unconfirmed")
    found = suspects(run)
    assert set(found) == {"Amount", "Survey", "Loss Reason"}
    assert found["Amount"] == "it explains 100% of the outcome alone"
    assert found["Loss Reason"] == 'its name has the word "reason"'
    context = run.error["context"]
    assert context["confirm"] == [part for field in context["fields"] for part in ("--keep", field["field"])]
    assert list(tmp_path.iterdir()) == []


def test_answers_decide_about_each_field(file: Path, tmp_path: Path) -> None:
    run = trained(file, *LEADS, *FAST, "--ask", "--out", tmp_path / "model", answers="n\nn\ny\n")
    asked = [question["about"] for question in run.of("ask")]
    assert sorted(asked) == ["Amount", "Loss Reason", "Survey"]
    training = run.training
    assert asked[2] in training["fields"]
    for name in asked[:2]:
        assert training["left_out"][name].startswith("it was not known at scoring")


def test_no_answer_leaves_fields_out(file: Path, tmp_path: Path) -> None:
    run = trained(file, *LEADS, *FAST, "--ask", "--out", tmp_path / "model")
    assert run.training["fields"] == ["Source", "Employees", "Visits", "Country"]


def test_kept_fields_train_but_too_good_a_model_asks_again(file: Path, tmp_path: Path) -> None:
    keep = [f"--keep={name}" for name in ("amount", "loss_reason", "survey")]
    run = trained(file, *LEADS, *FAST, *keep, "--out", tmp_path / "model")
    assert (run.error["code"], run.error["context"]["confirm"]) == ("leak_unconfirmed", ["--yes"])
    assert "AUC of 1.000 is unusually high" in run.error["message"]
    assert "Amount" in trained(file, *LEADS, *FAST, "--yes", "--out", tmp_path / "model").training["fields"]


def test_honest_leads_have_no_suspect(tmp_path: Path) -> None:
    run = trained(
        written(tmp_path / "leads.csv", past_leads(800)), *LEADS, *FAST, "--out", tmp_path / "model"
    )
    assert suspects(run) == {}
    ranks = {field["field"]: field for field in run.of("fields")[0]}
    assert set(ranks) == {"Source", "Employees", "Visits", "Country"}
    assert 0.4 < ranks["Country"]["auc"] < 0.55 < ranks["Source"]["auc"]
    assert ranks["Visits"]["filled_won"] == 1
    assert 0.8 < ranks["Employees"]["filled_won"] < 1


def test_dates_after_the_date_of_the_row(tmp_path: Path) -> None:
    def created(row: int, _won: bool) -> object:
        return f"2025-{row % 12 + 1:02}-11"

    def touched(row: int, _won: bool) -> object:
        return f"2025-{row % 12 + 1:02}-{12 if row % 40 == 0 else 10}"

    leads = past_leads(800, Created=created, Last_Touch=touched)
    dated = ("--at", "Created", "--until", "2026-06-01")
    run = trained(written(tmp_path / "leads.csv", leads), *LEADS, *FAST, *dated, "--out", tmp_path / "model")
    assert suspects(run) == {"Last Touch": "2% of its dates are after the date of the row"}


def test_times_of_the_day_of_the_row_are_not_after_it(tmp_path: Path) -> None:
    def touched(row: int, _won: bool) -> object:
        return f"2025-{row % 12 + 1:02}-11T{row % 24:02}:30:00Z"

    def created(time: str) -> Path:
        leads = past_leads(
            600, Created=lambda row, _won: f"2025-{row % 12 + 1:02}-11{time}", Last_Touch=touched
        )
        return written(tmp_path / "leads.csv", leads)

    dated = (*LEADS, *FAST, "--at", "Created", "--until", "2026-06-01", "--out", tmp_path / "model")
    run = trained(created(""), *dated)
    assert (run.code, suspects(run)) == (0, {})
    timed = trained(created("T12:00:00Z"), *dated, "--replace")
    assert suspects(timed) == {"Last Touch": "50% of its dates are after the date of the row"}


def test_features_of_one_field_rank_together() -> None:
    won = np.tile([0.0, 1.0], 200)
    texts = ["x" if row % 2 else "0" for row in range(400)]
    column = Column("a", np.arange(400, dtype=np.int32), texts)
    # The category tells won leads apart. The number reads nothing of them.
    featurizer = Featurizer([Category("a", ["x"]), Number("a", impute=0)])
    rows = feature_rows(Table({"a": column}, 400), featurizer, None)
    (found,) = rank_fields(
        Table({"a": column}, 400), featurizer, rows, won, np.arange(400), None, lambda text, part: None
    )
    assert (found.field, found.auc) == ("a", 1)


def rank(field: str, suspect: str | None) -> FieldRank:
    return FieldRank(field, 0.8, 0.2, 1.0, 1.0, suspect)


def test_only_open_questions_are_asked() -> None:
    ranks = [rank("a", "x"), rank("b", None), rank("c", "x")]
    asked: list[str] = []

    def ask(question: str, about: str) -> bool:
        asked.append(question)
        return about == "c"

    assert confirm_suspects(ranks, ["a"], ask=ask) == {}
    assert asked == ["Was c known when the lead was scored?"]
    assert confirm_suspects(ranks, [], ask=ask) == {"a": "it was not known at scoring (x)"}
    with pytest.raises(TrainError) as caught:
        confirm_suspects(ranks, [], ask=lambda question, about: None)
    assert caught.value.context["confirm"] == ["--keep", "a", "--keep", "c"]


def test_a_model_that_is_too_good_needs_a_yes() -> None:
    confirm_auc(TOO_GOOD_AUC - 0.001, [], ask=lambda question, about: None)
    confirm_auc(TOO_GOOD_AUC, [rank("a", None)], ask=lambda question, about: True)
    for answer in (None, False):
        with pytest.raises(TrainError, match="unusually high"):
            confirm_auc(TOO_GOOD_AUC, [rank("a", None)], ask=lambda question, about, answer=answer: answer)
