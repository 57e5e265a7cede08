"""A model is compared with ONNX, X, y and the out-of-fold scores."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import numpy.typing as npt
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from training_tables import FOREST, LINE, X, refused

from leadscore_export import (
    ExportError,
    ExportReport,
    Number,
    export_bundle,
    out_of_fold,
)
from leadscore_export.bundle.check_scores import check_agreement, check_ranking
from leadscore_export.convert.convert_model import convert_model
from leadscore_export.convert.converted_model import ConvertedModel
from leadscore_export.scores.serving_figures import as_served, percentile_score
from leadscore_export.scores.training_figures import quantiles_of

Rows = npt.NDArray[np.float32]


FEATURES = [Number(name, impute=0) for name in "abcde"]


HONEST: dict[str, Callable[[], Any]] = {
    "lightgbm": lambda: lightgbm.LGBMClassifier(
        n_estimators=5, num_leaves=4, reg_lambda=50, verbose=-1, n_jobs=1
    ),
    "forest": lambda: RandomForestClassifier(10, max_depth=2, min_samples_leaf=10, random_state=0),
    "stump": lambda: DecisionTreeClassifier(max_depth=1),
    "line": lambda: LogisticRegression(),
    "hardly a line": lambda: LogisticRegression(C=1e-5),
    "bayes": lambda: GaussianNB(),
    "network": lambda: make_pipeline(StandardScaler(), MLPClassifier((5,), max_iter=10, random_state=0)),
}


def drawn(count: int, *, seed: int = 0, signal: float = 1.0, rate: float = 0.3) -> tuple[Rows, Any]:
    """Rows of which the first two columns matter, and their outcomes."""
    draw = np.random.default_rng(seed)
    rows = draw.normal(size=(count, 5)).astype(np.float32)
    strength = signal * (rows[:, 0] + rows[:, 1] / 2) + draw.logistic(size=count)
    return rows, (strength > np.quantile(strength, 1 - rate)).astype(int)


def exported(model: Any, out: Path, rows: Rows, converted: Any, **more: Any) -> ExportReport:
    return export_bundle(model, FEATURES, out, name="n", version="1", X=rows, y=converted, **more)


@pytest.mark.parametrize("name", HONEST)
@pytest.mark.parametrize("count", [100, 400, 2000])
def test_accepts_honest_models(name: str, count: int) -> None:
    for seed in range(3):
        for signal in (0.0, 0.5, 2.0):
            rows, converted = drawn(count, seed=seed, signal=signal, rate=0.2)
            model = HONEST[name]().fit(rows, converted)
            served = model.predict_proba(rows)[:, 1]
            raw = out_of_fold(HONEST[name](), rows, converted, seed=seed)
            check_ranking(served, raw, converted.astype(float), are_given=False)


@pytest.mark.parametrize("count", [150, 2000])
@pytest.mark.parametrize("name", ["lightgbm", "line", "forest"])
def test_refuses_columns_in_another_order(name: str, count: int, tmp_path: Path) -> None:
    rows, converted = drawn(count, signal=2)
    model = HONEST[name]().fit(rows[:, [2, 3, 0, 1, 4]], converted)
    with pytest.raises(ExportError, match=r"worse \(AUC .* than copies .*order of columns"):
        exported(model, tmp_path / "b", rows, converted)
    assert not (tmp_path / "b").exists()


def test_refuses_another_target(tmp_path: Path) -> None:
    rows, converted = drawn(600)
    model = LogisticRegression().fit(rows, rows[:, 4] > 1)
    model.classes_ = np.array([0, 1])
    with pytest.raises(ExportError, match="y is another target"):
        exported(model, tmp_path, rows, converted)
    good = out_of_fold(LogisticRegression(), rows, converted)
    with pytest.raises(ExportError, match="oof_raw is another model's"):
        exported(model, tmp_path, rows, converted, oof_raw=good)


def test_refuses_the_models_own_scores_as_oof_raw(tmp_path: Path) -> None:
    rows, converted = drawn(400)
    forest = RandomForestClassifier(10, min_samples_leaf=3, random_state=0).fit(rows, converted)
    with pytest.raises(ExportError, match="oof_raw equals the model's own probabilities of X"):
        exported(forest, tmp_path, rows, converted, oof_raw=forest.predict_proba(rows)[:, 1])
    exported(forest, tmp_path, rows, converted, oof_raw=out_of_fold(forest, rows, converted))


@pytest.mark.parametrize("trees", [5, 10])
def test_leads_with_equal_votes_share_one_mid_rank(trees: int, tmp_path: Path) -> None:
    rows, converted = drawn(400)
    model = RandomForestClassifier(trees, random_state=0).fit(rows, converted)
    unseen = out_of_fold(model, rows, converted)
    exported(model, tmp_path, rows, converted, oof_raw=unseen)
    quantiles = json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8"))["quantiles"]
    others, _ = drawn(400, seed=1)
    served = convert_model(model, rows.shape[1]).raw(others).tolist()
    votes = model.predict_proba(others)[:, 1].tolist()
    assert [percentile_score(raw, quantiles) for raw in served] == [
        percentile_score(raw, quantiles_of(unseen)) for raw in votes
    ]


def test_as_served_keeps_scores_that_are_not_served() -> None:
    served = np.array([0.0, 0.25, np.float32(0.2), 0.9, 0.25], dtype=np.float64)
    raw = np.array([0.0, 1e-9, 0.2, 0.2001, 0.25, 0.95, 1.0])
    assert as_served(raw, served).tolist() == [0.0, 1e-9, float(np.float32(0.2)), 0.2001, 0.25, 0.95, 1.0]
    assert as_served(raw, np.array([0.95])).tolist() == raw.tolist()


def test_refuses_a_model_with_one_probability_for_all_rows(tmp_path: Path) -> None:
    rows, converted = drawn(400)
    without_split = DecisionTreeClassifier(min_samples_leaf=300).fit(rows, converted)
    with pytest.raises(ExportError, match=r"all rows of X the same probability \(0.3000\)"):
        exported(without_split, tmp_path, rows, converted)


def test_refuses_a_lift_of_0_and_notes_one_up_to_1(tmp_path: Path) -> None:
    rows, converted = drawn(400)
    line = LogisticRegression().fit(rows, converted)
    order = np.argsort(line.predict_proba(rows)[:, 1])
    worst_first = np.zeros(400, dtype=int)
    worst_first[order[:100]] = 1
    with pytest.raises(ExportError, match=r"ranks highest \(lift 0\)"):
        exported(line, tmp_path, rows, converted, holdout=(rows, worst_first))
    worst_first[order[-10:]] = 1
    report = exported(line, tmp_path, rows, converted, holdout=(rows, worst_first))
    assert any("converts no better than the rest" in note for note in report.notes)
    honest = exported(line, tmp_path, rows, converted, holdout=drawn(400, seed=1))
    assert not any("no better" in note for note in honest.notes)


def test_refuses_oof_raw_that_is_no_probability_per_row() -> None:
    refused(FOREST, "one probability for each", oof_raw=[0.5])
    refused(FOREST, "0 to 1, before any calibration", oof_raw=np.full(300, 3.0))
    refused(FOREST, "cannot rank leads", oof_raw=np.full(300, 0.5), calibration="isotonic")


@pytest.mark.parametrize(
    ("offset", "advice"), [(0.005, "more digits than float32 has. Scale"), (0.05, "conversion is wrong")]
)
def test_distinguishes_rounding_from_a_wrong_conversion(offset: float, advice: str) -> None:
    converted = convert_model(LINE, 2)
    wrong = ConvertedModel(converted.file, 2, predict=lambda rows: LINE.predict_proba(rows)[:, 1] + offset)
    with pytest.raises(ExportError, match=advice) as caught:
        check_agreement(wrong, X.astype(np.float64))
    assert ("Scale" in str(caught.value)) is (offset < 0.01)
