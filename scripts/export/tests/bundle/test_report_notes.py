"""Notes on weights, rates, leaks and golden records, and their absence for honest models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from leadscore_export import Category, ExportError, ExportReport, Number, export_bundle, out_of_fold
from leadscore_export.featurizer.feature_types import Feature
from leadscore_export.scores.score_bands import MIN_BANDS, bands_of
from leadscore_export.scores.training_figures import best_column

FEATURES: list[Feature] = [Number("Balance", impute=0), Category("Stage", ["open", "closed"])]


def drawn(count: int, *, rate: float, seed: int = 0) -> tuple[Any, Any]:
    """Three columns of which the first matters, and the outcomes of the rows."""
    draw = np.random.default_rng(seed)
    rows = draw.normal(size=(count, 3)).astype(np.float32)
    strength = rows[:, 0] + draw.logistic(size=count)
    return rows, (strength > np.quantile(strength, 1 - rate)).astype(int)


def exported(model: Any, out: Path, rows: Any, converted: Any, **more: Any) -> ExportReport:
    return export_bundle(model, FEATURES, out, name="n", version="1", X=rows, y=converted, **more)


def has_note(report: ExportReport, text: str) -> bool:
    return any(text in note for note in report.notes)


def test_trains_copies_with_the_weights() -> None:
    rows, converted = drawn(600, rate=0.2)
    weights = np.where(converted == 1, 4.0, 1.0)
    line = make_pipeline(StandardScaler(), LogisticRegression())
    even, weighted = (out_of_fold(line, rows, converted, sample_weight=each) for each in (None, weights))
    assert even.mean() == pytest.approx(0.2, abs=0.02)
    assert weighted.mean() == pytest.approx(0.48, abs=0.04)
    trees = lightgbm.LGBMClassifier(n_estimators=5, verbose=-1, n_jobs=1)
    doubled = out_of_fold(trees, rows, converted, sample_weight=weights)
    assert doubled.mean() > out_of_fold(trees, rows, converted).mean() + 0.05


def test_refuses_weights_that_do_not_fit(tmp_path: Path) -> None:
    rows, converted = drawn(300, rate=0.3)
    line = LogisticRegression().fit(rows, converted)
    for weights, advice in (
        (np.ones(5), "one for each"),
        (-np.ones(300), "none below 0"),
        (["x"] * 300, "numbers"),
    ):
        with pytest.raises(ExportError, match=advice):
            exported(line, tmp_path, rows, converted, sample_weight=weights)


def test_notes_uncalibrated_likelihoods_of_a_weighted_model(tmp_path: Path) -> None:
    rows, converted = drawn(300, rate=0.1)
    weights = np.where(converted == 1, 9.0, 1.0)
    line = LogisticRegression().fit(rows, converted, sample_weight=weights)
    weighted = exported(line, tmp_path, rows, converted, sample_weight=weights)
    assert has_note(weighted, "likelihoods are not calibrated: out of fold they average")
    asked = exported(line, tmp_path, rows, converted, sample_weight=weights, calibration="platt")
    assert not has_note(asked, "not calibrated")


def test_notes_a_holdout_of_another_rate(tmp_path: Path) -> None:
    rows, converted = drawn(1000, rate=0.4)
    line = LogisticRegression().fit(rows, converted)
    # The likelihoods are within four standard errors of the rate, but the rates are not alike.
    rare = exported(line, tmp_path, rows, converted, holdout=drawn(100, rate=0.25, seed=1))
    assert has_note(rare, "40.0% of X converted, but 25.0% of the holdout. Likelihoods are calibrated on X")
    alike = exported(line, tmp_path, rows, converted, holdout=drawn(1000, rate=0.36, seed=1))
    assert not has_note(alike, "of the holdout")
    chance = exported(line, tmp_path, rows, converted, holdout=drawn(30, rate=0.3, seed=1))
    assert not has_note(chance, "of the holdout")


def test_notes_the_column_of_a_leak(tmp_path: Path) -> None:
    rows, converted = drawn(1000, rate=0.3)
    honest = exported(LogisticRegression().fit(rows, converted), tmp_path, rows, converted)
    assert not has_note(honest, "suggests a leak")
    rows[:, 2] = 2 - 4 * converted + rows[:, 2] / 4
    report = exported(LogisticRegression().fit(rows, converted), tmp_path, rows, converted)
    assert has_note(report, '"Stage = closed" (AUC 1.000): was it known when the leads were scored?')


def test_best_column_may_rank_by_missing_values() -> None:
    draw = np.random.default_rng(0)
    # Every third row converted: a sample of every third row would hold one class only.
    converted = np.tile([1.0, 0.0, 0.0], 4000)
    rows = draw.normal(size=(12000, 2))
    # Missing values and large values both convert.
    rows[:, 1] = np.where(converted == 1, np.where(draw.random(12000) < 0.5, np.nan, 9), rows[:, 1])
    assert best_column(rows, converted) == (1, 1.0)


@pytest.mark.parametrize(("depth", "given"), [(1, "2 different scores; 3 are needed"), (2, None)])
def test_notes_a_verdict_that_cannot_be_reached(depth: int, given: str | None, tmp_path: Path) -> None:
    rows, converted = drawn(2000, rate=0.3)
    stump = DecisionTreeClassifier(max_depth=depth).fit(rows, converted)
    report = exported(stump, tmp_path, rows, converted)
    notes = [note for note in report.notes if "verdict" in note]
    assert notes == [] if given is None else has_note(report, f"the model gives {given}")
    timing = exported(stump, tmp_path, rows, converted, family="timing")
    assert not has_note(timing, "verdict")


def test_notes_scores_in_two_bands(tmp_path: Path) -> None:
    rows, converted = drawn(2000, rate=0.5)
    # Nine tenths of the leads share one answer, and the others have two higher ones.
    rows[:, 0] = np.where(np.arange(2000) % 10 > 0, 0, 1 + np.arange(2000) % 20 // 10)
    converted = (rows[:, 0] + np.random.default_rng(1).logistic(size=2000) > 0).astype(int)
    tree = DecisionTreeClassifier(max_leaf_nodes=3).fit(rows[:, :1], converted)
    report = export_bundle(
        tree, [Number("a", impute=0)], tmp_path, name="n", version="1", X=rows[:, :1], y=converted
    )
    assert has_note(report, "scores in 2 of the 5 score bands only; 3 are needed")


def test_bands_are_those_of_the_service() -> None:
    root = Path(__file__).parents[4]
    verdict = (root / "shared" / "contract" / "verdict.ts").read_text(encoding="utf-8")
    assert "bandScores = ['0-19', '20-39', '40-59', '60-79', '80-100']" in verdict
    assert [bands_of([low, high]) for low, high in ((0, 19), (19, 20), (79, 80), (80, 100))] == [1, 2, 2, 1]
    gates = (root / "worker" / "grading" / "gates" / "gates.ts").read_text(encoding="utf-8")
    assert f"const minBands = {MIN_BANDS};" in gates


def test_notes_fields_that_differ_in_case_alone(tmp_path: Path) -> None:
    rows, converted = drawn(600, rate=0.3)
    line = LogisticRegression().fit(rows, converted)
    for names, is_noted in ((("Lead Source", "lead_source", "c"), True), (("a", "b", "c"), False)):
        features = [Number(name, impute=0) for name in names]
        report = export_bundle(line, features, tmp_path, name="n", version="1", X=rows, y=converted)
        assert has_note(report, '"Lead Source" and "lead_source" differ only in case') is is_noted


def test_names_the_number_of_converted_rows_that_is_needed(tmp_path: Path) -> None:
    rows, _ = drawn(3000, rate=0.5)
    strongest = np.argsort(-rows[:, 0])
    for count, advice in ((7, "only 7 of 3,000 rows converted"), (50, None)):
        converted = np.zeros(3000, dtype=int)
        converted[strongest[: 3 * count : 3]] = 1
        report = exported(LogisticRegression().fit(rows, converted), tmp_path, rows, converted)
        notes = [note for note in report.notes if "converted:" in note]
        assert [note.startswith(advice) and "from 50 such rows on" in note for note in notes] == (
            [True] if advice else []
        )
    converted = np.zeros(3000, dtype=int)
    converted[strongest[:4]] = 1
    with pytest.raises(ExportError, match=r"only 4 of 3,000 rows converted: .* need 5 such rows"):
        exported(LogisticRegression().fit(rows, converted), tmp_path, rows, converted)


def test_names_the_number_of_conversions_for_a_lift(tmp_path: Path) -> None:
    rows, converted = drawn(3000, rate=0.3)
    line = LogisticRegression().fit(rows, converted)
    weakest = np.zeros(3000, dtype=int)
    weakest[np.argsort(line.predict_proba(rows)[:, 1])[:7]] = 1
    with pytest.raises(ExportError, match=r"Only 7 of 3,000 rows converted, .* 50 conversions or more"):
        exported(line, tmp_path, rows, converted, holdout=(rows, weakest))
