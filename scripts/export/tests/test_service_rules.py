"""Models and records that the service treats in its own way: the exporter does the same, or reports it."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
from training_tables import FEATURES, FOREST, LINE, X, Y

from leadscore_export import ExportError, ExportReport, Featurizer, Number, export_bundle
from leadscore_export.convert import exact_limits
from leadscore_export.convert.exact_limits import occlusion_reason
from leadscore_export.convert.tree_model import Leaf, Node, Split, TreeModel
from leadscore_export.featurizer.read_number import read_number_text
from leadscore_export.featurizer.record_values import folded_text
from leadscore_export.scores.serving_figures import percentile_score

RECORDS = [{"a": float(a), "b": float(b)} for a, b in X]


def exported(model: Any, out: Path, records: Any = RECORDS) -> ExportReport:
    return export_bundle(model, FEATURES, out, name="n", version="1", X=X, y=Y, golden_records=records)


def split(column: int, when_true: Node, when_false: Node) -> Split:
    return Split(column, "<=", 0.0, (), False, when_true, when_false, 1.0)


def test_counts_the_numbers_of_the_tables_as_the_service_does(monkeypatch: pytest.MonkeyPatch) -> None:
    leaf = Leaf(1.0, 1.0)
    # The leaves of the inner split have 3 rows, because its column occurs above.
    inner = split(0, leaf, leaf)
    # The edge of the root has 2 rows, and so has its leaf. A row has 4 numbers.
    model = TreeModel([split(0, inner, leaf)], base=0.0, width=1)
    monkeypatch.setattr(exact_limits, "MAX_NUMBERS", 28)
    assert occlusion_reason(model) is None
    monkeypatch.setattr(exact_limits, "MAX_NUMBERS", 27)
    assert occlusion_reason(model) == "the tables of the 2 splits have 28 numbers, more than 27"
    monkeypatch.setattr(exact_limits, "MAX_SPLITS", 1)
    assert occlusion_reason(model) == "the trees have 2 splits, more than 1"


def test_exports_trees_beyond_the_limits_for_occlusion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert exported(FOREST, tmp_path).contributions == "exact (trees)"
    monkeypatch.setattr(exact_limits, "MAX_SPLITS", 3)
    report = exported(FOREST, tmp_path)
    assert report.contributions.startswith("by occlusion, against the baseline row: the trees have ")
    assert json.loads((tmp_path / "manifest.json").read_text())["explain"]["kind"] == "baseline"
    assert not (tmp_path / "covers.f32").exists()
    assert "contributions" not in (tmp_path / "golden.jsonl").read_text()


@pytest.mark.parametrize(("off", "is_refused"), [(1, False), (30, True)])
def test_leaves_out_golden_records_that_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, off: int, is_refused: bool
) -> None:
    draw = np.random.default_rng(1)
    unseen = draw.normal(size=(200, 2)).astype(np.float32)
    rare = {row.tobytes() for row in unseen[:off]}
    exporter = sys.modules["leadscore_export.export_bundle"]  # the package has a function of this name
    convert = exporter.convert_model

    def a_little_off(model: Any, width: int) -> Any:
        converted = convert(model, width)
        predict = converted.predict
        assert predict is not None
        return replace(
            converted,
            predict=lambda rows: predict(rows) + [2e-4 * (row.tobytes() in rare) for row in rows],
        )

    monkeypatch.setattr(exporter, "convert_model", a_little_off)
    records = [{"a": float(a), "b": float(b)} for a, b in unseen]
    if is_refused:
        with pytest.raises(ExportError, match="on 30 of 200 records, ONNX differs"):
            exported(LINE, tmp_path, records)
        return
    report = exported(LINE, tmp_path, records)
    assert any("1 golden record is left out" in note for note in report.notes)
    kept = [json.loads(line)["record"] for line in (tmp_path / "golden.jsonl").read_text().splitlines()]
    assert kept and records[0] not in kept


def test_names_columns_so_that_trainers_accept_them(tmp_path: Path) -> None:
    fields = ['a[b]{"c":1,}', "a_b___c__1__", "d"]
    featurizer = Featurizer([Number(field, impute=0) for field in fields])
    names = featurizer.plain_column_names
    assert names == ["a_b___c__1__", "a_b___c__1___2", "d"]
    table = pd.DataFrame(np.column_stack([X, X[:, 0]]), columns=featurizer.column_names)
    quick = lightgbm.LGBMClassifier(n_estimators=3, verbose=-1, n_jobs=1)
    with pytest.raises(lightgbm.basic.LightGBMError, match="JSON"):
        quick.fit(table, Y)
    table.columns = names
    quick.fit(table, Y)
    report = export_bundle(quick, featurizer, tmp_path, name="n", version="1", X=table, y=Y)
    assert report.contributions == "exact (trees)"
    assert json.loads((tmp_path / "manifest.json").read_text())["features"][0]["field"] == 'a[b]{"c":1,}'


def test_scores_do_not_move_with_the_last_bits() -> None:
    quantiles = sorted(0.2 + (index % 2) * 1e-8 if index <= 60 else 0.2 + index / 200 for index in range(101))
    assert {percentile_score(0.2 + shift, quantiles) for shift in (-5e-7, 0, 1e-8, 5e-7)} == {30}


@pytest.mark.parametrize(
    ("text", "number"),
    [("M$12", None), ("k$5", None), ("12 T€", None), ("12 34", None), ("12 M€", 12e6), ("US$ 5", 5)],
)
def test_reads_no_magnitude_as_a_country(text: str, number: float | None) -> None:
    assert read_number_text(folded_text(text), percent_is_fraction=False) == number


def test_folds_the_capital_sharp_s() -> None:
    assert folded_text("STRAẞE") == folded_text("Straße") == "strasse"
