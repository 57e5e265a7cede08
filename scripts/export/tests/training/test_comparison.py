"""Comparisons with a holdout, of missing values and of given scores; and the reliability curves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from skl2onnx import convert_sklearn
from skl2onnx.common.data_types import FloatTensorType
from sklearn.ensemble import RandomForestClassifier
from training_kinds import FEATURES, KINDS, OTHERS, drawn, oversampled, smote, weighted_fit, weights_of

from leadscore_export import ExportError, ExportReport, Number, OnnxFile, export_bundle, out_of_fold
from leadscore_export.comparison.holdout import holdout_level
from leadscore_export.comparison.reliability import reliability_curve, reliability_lines

ROWS, CONVERTED = drawn(3000)
HELD = drawn(3000, seed=2)
LINE = KINDS["logistic regression"]


def exported(model: Any, out: Path, **more: Any) -> ExportReport:
    given = {"features": FEATURES, "X": ROWS, "y": CONVERTED, **more}
    return export_bundle(model, given.pop("features"), out, name="n", version="1", **given)


def has_note(report: ExportReport, text: str) -> bool:
    return any(text in note for note in report.notes)


def test_a_refusal_names_the_causes_and_the_arguments(tmp_path: Path) -> None:
    weighted = weighted_fit(LINE, ROWS, CONVERTED)
    with pytest.raises(ExportError, match=r"odds ratio [5-9]\.\d") as caught:
        exported(weighted, tmp_path / "b")
    for advice in (
        "sample_weight=...",
        "oof_raw=...",
        "holdout=(X, y)",
        "resampled",
        "base_margin",
        "another X",
    ):
        assert advice in str(caught.value)
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize("name", ["logistic regression", "LightGBM", "random forest"])
def test_refuses_given_scores_by_models_without_the_weights(name: str, tmp_path: Path) -> None:
    kind = KINDS[name]
    plain, weighted = kind.make().fit(ROWS, CONVERTED), weighted_fit(kind, ROWS, CONVERTED)
    plain_scores = out_of_fold(plain, ROWS, CONVERTED)
    weighted_scores = out_of_fold(plain, ROWS, CONVERTED, sample_weight=weights_of(CONVERTED))
    for model, scores in ((weighted, plain_scores), (plain, weighted_scores)):
        with pytest.raises(ExportError, match=r"those of oof_raw .*trained in another way"):
            exported(model, tmp_path, oof_raw=scores)
    exported(plain, tmp_path, oof_raw=plain_scores)
    exported(weighted, tmp_path, oof_raw=weighted_scores)


def test_a_holdout_refuses_and_accepts_without_the_other_limits(tmp_path: Path) -> None:
    weighted = weighted_fit(LINE, ROWS, CONVERTED)
    with pytest.raises(
        ExportError, match=r"likelihoods average \d\d.\d% on the holdout, but 7\.\d% .*sample_weight"
    ):
        exported(weighted, tmp_path, holdout=HELD)
    # A model that knows X by heart hides that it was resampled.
    by_heart = OTHERS["pure extra trees"].make().fit(*smote(ROWS, CONVERTED))
    assert has_note(exported(by_heart, tmp_path), "knows X by heart (AUC 1.000 there")
    honest = OTHERS["pure extra trees"].make().fit(ROWS, CONVERTED)
    assert not has_note(exported(honest, tmp_path, holdout=HELD), "by heart")
    # Scores of 0.1 for all rows but a few are no model's, yet the holdout shows that likelihoods hold.
    scores = np.clip(out_of_fold(LINE.make(), ROWS, CONVERTED) * 3.5, 0, 1)
    plain = LINE.make().fit(ROWS, CONVERTED)
    with pytest.raises(ExportError, match="trained in another way"):
        exported(plain, tmp_path, oof_raw=scores)
    rate = holdout_level(np.full(100, 0.1), np.repeat([0.0, 1.0], [90, 10]))
    assert not rate.is_refused and not rate.is_proof, "a hundred rows prove nothing"
    with pytest.raises(ExportError, match="trained in another way"):
        exported(plain, tmp_path, oof_raw=scores, holdout=(HELD[0][:60], HELD[1][:60]))


def test_a_holdout_of_another_rate_is_refused_with_the_cause(tmp_path: Path) -> None:
    rows, converted = oversampled(ROWS, CONVERTED)
    repeated = LINE.make().fit(rows, converted)
    with pytest.raises(ExportError, match=r"3\d\.\d% of X converted, so X was resampled"):
        exported(repeated, tmp_path, X=rows, y=converted, holdout=HELD)
    balanced = LINE.make(class_weight="balanced").fit(ROWS, CONVERTED)
    with pytest.raises(ExportError, match=r'not calibrated\. Give calibration="platt"'):
        exported(balanced, tmp_path, holdout=HELD, calibration="identity")
    exported(balanced, tmp_path, holdout=HELD, calibration="platt")


def missing_table(count: int, seed: int) -> tuple[Any, Any]:
    """Rows in which a missing number means that few convert."""
    draw = np.random.default_rng(seed)
    rows = draw.normal(size=(count, 3)).astype(np.float32)
    gone = draw.random(count) < 0.4
    converted = (rows[:, 1] + draw.logistic(size=count) - 3 * gone > 1.2).astype(np.int64)
    rows[gone, 0] = np.nan
    return rows, converted


def test_notes_missing_values_whose_branch_a_converter_lost(tmp_path: Path) -> None:
    rows, converted = missing_table(3000, 0)
    features = [Number("Revenue"), Number("b", impute=0), Number("c", impute=0)]
    forest = RandomForestClassifier(30, min_samples_leaf=20, random_state=0).fit(rows, converted)
    scores = out_of_fold(forest, rows, converted)
    proto = convert_sklearn(
        forest,
        initial_types=[("input", FloatTensorType([None, 3]))],
        options={id(forest): {"zipmap": False}},
        target_opset={"": 15, "ai.onnx.ml": 3},
    )
    # As converters wrote it that did not know where NaN goes.
    for node in proto.graph.node:
        for attribute in node.attribute:
            if attribute.name == "nodes_missing_value_tracks_true":
                flipped = [1 - value for value in attribute.ints]
                del attribute.ints[:]
                attribute.ints.extend(flipped)
    file = tmp_path / "forest.onnx"
    file.write_bytes(proto.SerializeToString())
    given = {"features": features, "X": rows, "y": converted, "oof_raw": scores}
    lost = exported(OnnxFile(file), tmp_path / "b", **given)
    assert has_note(lost, 'leads without "Revenue" score higher than out of fold (odds ratio')
    assert has_note(lost, "give the features impute=")
    right = exported(forest, tmp_path / "b", **given)
    assert not has_note(right, "leads without")


def test_the_report_shows_both_curves_and_that_of_the_holdout(tmp_path: Path) -> None:
    model = KINDS["LightGBM"].make().fit(ROWS, CONVERTED)
    report = exported(model, tmp_path / "bundle", holdout=HELD)
    assert [curve.name for curve in report.curves] == ["own rows", "out of fold", "holdout"]
    for curve in report.curves:
        assert [tenth.rows for tenth in curve.tenths] == [300] * 10
        likelihoods = [tenth.likelihood for tenth in curve.tenths]
        assert likelihoods == sorted(likelihoods)
    own, unseen, held = (
        sum(abs(tenth.likelihood - tenth.converted) for tenth in curve.tenths) / 10 for curve in report.curves
    )
    assert unseen < 0.03 and held < 0.04 and own > unseen
    lines = str(report).splitlines()
    start = lines.index("  likelihood and share converted, by tenth of the rows")
    assert lines[start + 1].split() == ["tenth", "own", "rows", "out", "of", "fold", "holdout"]
    assert lines[start + 11].split()[0] == "10" and lines[start + 11].count("%") == 6
    page = report.page()
    assert page.count("<polyline") == 4 and page.count("<circle") == 30 and "<script" not in page
    assert exported(model, tmp_path / "bundle").curves[-1].name == "out of fold"


def test_rows_of_one_likelihood_share_one_rate() -> None:
    converted = np.repeat([0.0, 1.0], 50)
    curve = reliability_curve("x", np.full(100, 0.5), converted)
    assert [tenth.converted for tenth in curve.tenths] == [0.5] * 10
    few = reliability_curve("few", np.array([0.1, 0.9]), np.array([0.0, 1.0]))
    assert [(tenth.rows, tenth.converted) for tenth in few.tenths] == [(1, 0.0), (1, 1.0)]
    assert len(reliability_lines([curve, few])) == 12 and reliability_lines([]) == []


def test_accepts_a_model_of_few_different_probabilities(tmp_path: Path) -> None:
    hardly = KINDS["logistic regression"].make(C=1e-5).fit(ROWS, CONVERTED)
    assert not has_note(exported(hardly, tmp_path), "odds ratio")
