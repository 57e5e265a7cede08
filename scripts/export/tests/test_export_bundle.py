"""Bundles of freshly trained models, which the service's own check passes, with exact contributions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import catboost
import lightgbm
import numpy as np
import pytest
import xgboost
from model_check import model_check
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from training_tables import FEATURES, LINE, NOW, Leads, X, Y, leads

from leadscore_export import (
    ExportError,
    ExportReport,
    OnnxFile,
    export_bundle,
    out_of_fold,
)
from leadscore_export.bundle import golden_records
from leadscore_export.scores.training_figures import area_under_curve, quantiles_of

TRAINED, GOLDEN = slice(0, 450), slice(450, 600)


EXACT = {"tree", "linear"}


Trainer = Callable[[], Any]


TRAINERS: dict[str, tuple[Trainer, bool, str]] = {
    "lightgbm": (lambda: lightgbm.LGBMClassifier(n_estimators=20, verbose=-1, n_jobs=1), True, "tree"),
    "xgboost": (lambda: xgboost.XGBClassifier(n_estimators=20, max_depth=3, n_jobs=1), True, "tree"),
    "catboost": (
        lambda: catboost.CatBoostClassifier(iterations=20, depth=4, verbose=0, allow_writing_files=False),
        True,
        "tree",
    ),
    "forest": (lambda: RandomForestClassifier(15, min_samples_leaf=4, random_state=0), True, "tree"),
    "histogram": (lambda: HistGradientBoostingClassifier(max_iter=15), True, "tree"),
    "logistic": (lambda: make_pipeline(StandardScaler(), LogisticRegression()), False, "linear"),
    "network": (
        lambda: make_pipeline(
            StandardScaler(), MLPClassifier((6,), max_iter=40, learning_rate_init=0.02, random_state=0)
        ),
        False,
        "baseline",
    ),
    "calibrated": (
        lambda: CalibratedClassifierCV(RandomForestClassifier(5, min_samples_leaf=4, random_state=0), cv=2),
        False,
        "baseline",
    ),
}


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one bundle per trainer, and one of an `OnnxFile`."""
    folder = tmp_path_factory.mktemp("bundles")
    for name, (trainer, takes_nan, _) in TRAINERS.items():
        data = leads(takes_nan=takes_nan)
        model = trainer().fit(data.rows[TRAINED], data.converted[TRAINED])
        export(model, folder / name, data, oof_raw=some_out_of_fold(data))
    network = folder / "network" / "model.onnx"
    export(
        OnnxFile(network),
        folder / "file",
        leads(takes_nan=False),
        oof_raw=some_out_of_fold(leads(takes_nan=False)),
    )
    return folder


def export(model: Any, out: Path, data: Leads, **more: Any) -> ExportReport:
    return export_bundle(
        model,
        data.featurizer,
        out,
        name=f"Leads by {out.name}",
        version="1",
        X=data.rows[TRAINED],
        y=data.converted[TRAINED],
        golden_records=data.records[GOLDEN],
        now=NOW,
        trained_at=NOW,
        recency="Last Activity",
        **more,
    )


def some_out_of_fold(data: Leads) -> Any:
    """Held-out probabilities of a quick model, which replace those of five copies of a slow one."""
    quick = lightgbm.LGBMClassifier(n_estimators=10, verbose=-1, n_jobs=1)
    return out_of_fold(quick, data.rows[TRAINED], data.converted[TRAINED], folds=3)


def manifest_of(bundles: Path, name: str) -> Any:
    return json.loads((bundles / name / "manifest.json").read_text(encoding="utf-8"))


def golden_of(bundles: Path, name: str) -> list[Any]:
    text = (bundles / name / "golden.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_model_check_passes_every_bundle(bundles: Path) -> None:
    report = model_check(sorted(bundles.iterdir()))
    assert [(bundle["bundle"], bundle["passed"], bundle.get("problem")) for bundle in report] == [
        (name, True, None) for name in sorted([*TRAINERS, "file"])
    ]
    for bundle in report:
        golden = bundle["golden"]
        assert golden["records"] > 80
        assert golden["differences"] == []
        is_exact = bundle["bundle"] != "file" and TRAINERS[bundle["bundle"]][2] in EXACT
        assert (golden["largest_contribution_difference"] is not None) is is_exact, bundle


@pytest.mark.parametrize("name", TRAINERS)
def test_covers_and_contributions_match_the_kind_of_model(bundles: Path, name: str) -> None:
    kind = TRAINERS[name][2]
    assert manifest_of(bundles, name)["explain"]["kind"] == kind
    assert (bundles / name / "covers.f32").exists() is (kind == "tree")
    assert all(("contributions" in line) is (kind in EXACT) for line in golden_of(bundles, name))


def test_golden_answers_are_consistent(bundles: Path) -> None:
    for name in TRAINERS:
        for line in golden_of(bundles, name):
            assert line["raw"] == pytest.approx(1 / (1 + np.exp(-line["margin"])), abs=2e-6)
            if "contributions" in line:
                total = line["base"] + sum(line["contributions"].values())
                assert total == pytest.approx(line["margin"], abs=2e-4), name


def test_manifest_holds_the_figures_of_training(bundles: Path) -> None:
    manifest = manifest_of(bundles, "lightgbm")
    assert manifest["missing_tokens"] == ["unknown"]
    assert manifest["trained_at"] == "2026-11-20T00:00:00Z"
    assert manifest["recency"]["field"] == "Last Activity"
    assert 87 <= manifest["recency"]["max_age_days"] <= 90
    assert manifest["quantiles"] == sorted(manifest["quantiles"]) and len(manifest["quantiles"]) == 101
    assert manifest["calibration"]["kind"] == "platt"
    validation, converted = manifest["validation"], leads(takes_nan=True).converted[TRAINED]
    assert validation["horizon_days"] == 90
    assert validation["base_rate"] == pytest.approx(converted.mean(), abs=1e-6)
    assert 1.2 < validation["holdout_top_lift"] < 1 / converted.mean()


def test_computes_out_of_fold_scores_and_uses_the_holdout(tmp_path: Path) -> None:
    data = leads(takes_nan=True)
    model = lightgbm.LGBMClassifier(n_estimators=10, verbose=-1, n_jobs=1)
    model.fit(data.rows[TRAINED], data.converted[TRAINED])
    held_out = (data.rows[GOLDEN], data.converted[GOLDEN])
    export(model, tmp_path / "bundle", data, holdout=held_out, calibration="identity")
    manifest = manifest_of(tmp_path, "bundle")
    assert manifest["calibration"] == {"kind": "identity"}
    assert manifest["validation"]["base_rate"] == pytest.approx(held_out[1].mean(), abs=1e-6)
    converted = data.converted[TRAINED].astype(float)
    unseen = out_of_fold(model, data.rows[TRAINED], converted)
    assert manifest["quantiles"] == quantiles_of(unseen)
    seen = model.predict_proba(data.rows[TRAINED])[:, 1]
    assert area_under_curve(unseen, converted) < area_under_curve(seen, converted)


def test_second_export_removes_stale_files(tmp_path: Path) -> None:
    data = leads(takes_nan=False)
    forest = RandomForestClassifier(3, min_samples_leaf=9, random_state=0)
    line = make_pipeline(StandardScaler(), LogisticRegression())
    for model in (forest, line):
        model.fit(data.rows[TRAINED], data.converted[TRAINED])
        export(model, tmp_path, data, oof_raw=some_out_of_fold(data))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["golden.jsonl", "manifest.json", "model.onnx"]


def test_explains_only_the_first_records_if_contributions_are_slow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = leads(takes_nan=True)
    forest = RandomForestClassifier(15, min_samples_leaf=4, random_state=0)
    forest.fit(data.rows[TRAINED], data.converted[TRAINED])
    for count, explained in ((20, 20), (5, 0)):
        monkeypatch.setattr(golden_records, "rows_within", lambda trees, seconds, count=count: count)
        report = export(forest, tmp_path / "bundle", data, oof_raw=some_out_of_fold(data))
        lines = golden_of(tmp_path, "bundle")
        assert ["contributions" in line for line in lines] == [
            index < explained for index in range(len(lines))
        ]
        first = f"the first {explained} of {len(lines)}" if explained else "none of the"
        assert any(note.startswith(f"{first} golden records have contributions") for note in report.notes)


def test_manifest_holds_means_or_the_typical_row(bundles: Path) -> None:
    data = leads(takes_nan=False)
    means = manifest_of(bundles, "logistic")["explain"]["means"]
    np.testing.assert_allclose(means, data.rows[TRAINED].astype(float).mean(axis=0))
    values = manifest_of(bundles, "network")["explain"]["values"]
    usual = dict(zip(data.featurizer.column_names, values, strict=True))
    revenue = data.rows[TRAINED][:, data.featurizer.column_names.index("Annual Revenue")]
    assert usual["Annual Revenue"] == np.median(revenue)
    sources = [usual[name] for name in usual if name.startswith("Lead Source")]
    assert sorted(sources) == [0] * 5 + [1], "one source, the most frequent"


def test_accepts_a_record_as_baseline(tmp_path: Path) -> None:
    data = leads(takes_nan=False)
    network = make_pipeline(StandardScaler(), MLPClassifier((3,), max_iter=20, random_state=0))
    network.fit(data.rows[TRAINED], data.converted[TRAINED])
    record = {"Lead Source": "Partner", "Visits": 7}
    raw = out_of_fold(network, data.rows[TRAINED], data.converted[TRAINED], folds=2)
    export(network, tmp_path / "bundle", data, oof_raw=raw, baseline=record)
    values = manifest_of(tmp_path, "bundle")["explain"]["values"]
    assert values == data.featurizer.rows([record], NOW)[0].tolist()


def test_refuses_golden_records_that_the_service_would_refuse(tmp_path: Path) -> None:
    data = leads(takes_nan=False)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(data.rows, data.converted)
    with pytest.raises(ExportError, match=r"golden_records: record 2: .*leave it out"):
        export_bundle(
            model, data.featurizer, tmp_path / "b",
            name="n", version="1", X=data.rows, y=data.converted,
            oof_raw=np.linspace(0.1, 0.9, len(data.rows)),
            golden_records=[data.records[0], {"Visits": [1, 2]}], now=NOW, calibration="identity",
        )  # fmt: skip


def test_notes_golden_records_that_are_missing_or_not_kept(tmp_path: Path) -> None:
    def golden_note(records: Any) -> list[str]:
        given = {"X": X, "y": Y, "golden_records": records, "oof_raw": raw, "calibration": "identity"}
        report = export_bundle(LINE, FEATURES, tmp_path, name="n", version="1", **given)
        return [note for note in report.notes if "golden" in note]

    raw = out_of_fold(LINE, X, Y)
    assert golden_note(None)[0].startswith("no golden records are given")
    assert golden_note([])[0].startswith("no golden records (the list is empty)")
    records = [{"a": float(a), "b": float(b)} for a, b in X[:100]]
    assert golden_note(records) == []
    # A hundred probabilities differ in the last digits only: no score is steady.
    raw = np.clip(0.5 + (raw - 0.5) * 1e-5, 0, 1)
    at_half = [{"a": -float(LINE.intercept_[0] / LINE.coef_[0, 0]), "b": 0}]
    assert golden_note(at_half)[0].startswith("1 golden records given, 0 kept: ")
