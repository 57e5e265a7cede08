"""Copies have the parameters of the model, and a failing library gives advice."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import catboost
import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.ensemble import VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from training_kinds import FEATURES, KINDS, QUIET_CATBOOST, drawn

from leadscore_export import ExportError, export_bundle, out_of_fold
from leadscore_export.errors import failures_advise
from leadscore_export.scores.fresh_copy import check_not_loaded, fresh_copy

ROWS, CONVERTED = drawn(600)


def saved(model: Any, file: Path) -> str:
    model.save_model(str(file))
    return str(file)


def test_copies_catboost_with_class_weights_as_a_list() -> None:
    settings = {"iterations": 20, "depth": 3, **QUIET_CATBOOST}
    listed = catboost.CatBoostClassifier(class_weights=[1, 4], **settings)
    named = catboost.CatBoostClassifier(class_weights={0: 1, 1: 4}, **settings)
    plain = catboost.CatBoostClassifier(**settings)
    scores = [out_of_fold(model.fit(ROWS, CONVERTED), ROWS, CONVERTED) for model in (listed, named, plain)]
    np.testing.assert_allclose(scores[0], scores[1])
    assert scores[0].mean() > 2 * scores[2].mean()


def test_copies_a_pipeline_and_an_ensemble_with_such_a_model() -> None:
    inside = catboost.CatBoostClassifier(iterations=9, class_weights=[1, 4], **QUIET_CATBOOST)
    pipeline = fresh_copy(make_pipeline(StandardScaler(), inside))
    assert [type(step).__name__ for _, step in pipeline.steps] == ["StandardScaler", "CatBoostClassifier"]
    assert pipeline[-1] is not inside and pipeline[-1].get_params() == inside.get_params()
    votes = fresh_copy(VotingClassifier([("a", inside), ("b", LogisticRegression(C=3))], voting="soft"))
    assert votes.estimators[1][1].C == 3 and votes.voting == "soft" and votes.estimators[0][1] is not inside


def test_asks_for_the_parameters_of_a_loaded_xgboost_model(tmp_path: Path) -> None:
    model = KINDS["XGBoost"].make(max_depth=2).fit(ROWS, CONVERTED)
    loaded = xgboost.XGBClassifier()
    loaded.load_model(saved(model, tmp_path / "m.json"))
    with pytest.raises(ExportError, match=r"was loaded from a file.*set_params\(.*give oof_raw"):
        out_of_fold(loaded, ROWS, CONVERTED)
    with pytest.raises(ExportError, match="was loaded from a file"):
        out_of_fold(make_pipeline(StandardScaler(), loaded), ROWS, CONVERTED)
    right = out_of_fold(model, ROWS, CONVERTED)
    # The file holds base_score, which each copy of the first model estimates from its own rows.
    loaded.set_params(n_estimators=40, max_depth=2, learning_rate=0.1)
    np.testing.assert_allclose(out_of_fold(loaded, ROWS, CONVERTED), right, atol=0.05)
    np.testing.assert_allclose(out_of_fold(pickle.loads(pickle.dumps(model)), ROWS, CONVERTED), right)


@pytest.mark.parametrize(
    "model",
    [
        xgboost.XGBClassifier(),
        xgboost.XGBClassifier(n_jobs=1, booster="gbtree"),
        xgboost.XGBRFClassifier(),
        xgboost.XGBClassifier(base_score=0.5, max_depth=3),
        LogisticRegression(),
    ],
)
def test_models_that_were_trained_here_were_not_loaded(model: Any) -> None:
    check_not_loaded(model)


def test_refuses_settings_of_a_loaded_model_that_are_not_those_of_its_training(tmp_path: Path) -> None:
    rows, converted = drawn(3000)
    model = KINDS["XGBoost"].make(max_depth=2).fit(rows, converted)
    loaded = xgboost.XGBClassifier()
    loaded.load_model(saved(model, tmp_path / "m.json"))
    loaded.set_params(n_estimators=300, max_depth=8)
    with pytest.raises(ExportError, match="trained in another way"):
        export_bundle(loaded, FEATURES, tmp_path / "b", name="n", version="1", X=rows, y=converted)


def test_loaded_lightgbm_needs_scores_and_loaded_catboost_keeps_its_parameters(tmp_path: Path) -> None:
    boosted = KINDS["LightGBM"].make().fit(ROWS, CONVERTED)
    booster = lightgbm.Booster(model_file=saved(boosted.booster_, tmp_path / "m.txt"))
    with pytest.raises(ExportError, match="lightgbm Booster cannot be trained again here; give oof_raw"):
        out_of_fold(booster, ROWS, CONVERTED)
    model = KINDS["CatBoost"].make(class_weights=[1, 4]).fit(ROWS, CONVERTED)
    loaded = catboost.CatBoostClassifier().load_model(saved(model, tmp_path / "m.cbm"))
    expected = out_of_fold(model, ROWS, CONVERTED)
    np.testing.assert_allclose(out_of_fold(loaded, ROWS, CONVERTED), expected, atol=1e-6)


def test_a_frozen_classifier_has_no_out_of_fold_scores() -> None:
    line = FrozenEstimator(LogisticRegression().fit(ROWS, CONVERTED))
    votes = VotingClassifier([("a", line), ("b", LogisticRegression())], voting="soft").fit(ROWS, CONVERTED)
    for model in (votes, line):
        with pytest.raises(ExportError, match=r"holds a FrozenEstimator.*give oof_raw"):
            out_of_fold(model, ROWS, CONVERTED)


class Failing(LogisticRegression):  # type: ignore[misc]
    """Fails where `fails` says, with an error of its own."""

    def __init__(self, fails: str = "", rows: int = 0) -> None:
        super().__init__()
        self.fails = fails
        self.rows = rows

    def predict_proba(self, rows: Any) -> Any:
        if self.fails == "predict" and len(rows) >= self.rows:
            raise RuntimeError("no\nmemory " + "x" * 500)
        return super().predict_proba(rows)


@pytest.mark.parametrize(
    ("model", "more", "advice"),
    [
        (Failing("predict"), {}, r"no memory x+ \.\.\. x+\); "),
        (Failing(), {"groups": [1, 2]}, "could not be split into folds .*give groups="),
        (Failing(), {"oof_raw": ["a"] * 600}, "oof_raw is no list of numbers .*one probability for each row"),
    ],
)
def test_failures_of_a_library_give_advice(
    model: Any, more: dict[str, Any], advice: str, tmp_path: Path
) -> None:
    model.fit(ROWS, CONVERTED)
    with pytest.raises(ExportError, match=advice) as caught:
        export_bundle(model, FEATURES, tmp_path / "b", name="n", version="1", X=ROWS, y=CONVERTED, **more)
    assert len(str(caught.value)) < 600 and caught.value.__cause__ is not None


def test_an_error_with_advice_passes_unchanged() -> None:
    with pytest.raises(ExportError, match=r"^give y$"), failures_advise("reading", "give X"):
        raise ExportError("give y")
    with pytest.raises(KeyboardInterrupt), failures_advise("reading", "give X"):
        raise KeyboardInterrupt
