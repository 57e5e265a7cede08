"""Copies of a model have its number of trees, so that likelihoods hold on unseen rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import catboost
import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from leadscore_export import ExportError, Number, export_bundle
from leadscore_export.scores.out_of_fold import kept_trees, out_of_fold, untrained_copy
from leadscore_export.scores.serving_figures import conversion_likelihood, percentile_score

DRAW = np.random.default_rng(1)


X = DRAW.normal(size=(9000, 4)).astype(np.float32)


Y = (X[:, 0] + DRAW.logistic(size=len(X)) > 2.5).astype(int)


TRAINED, WATCHED, UNSEEN = slice(0, 1500), slice(1500, 2500), slice(2500, None)


FEATURES = [Number(name, impute=0) for name in "abcd"]


QUIET: dict[str, Any] = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}


def stopped(name: str) -> Any:
    """A model configured for 400 trees, of which early stopping on an evaluation set kept a few."""
    watched = (X[WATCHED], Y[WATCHED])
    if name.startswith("lightgbm"):
        configured = {"num_boost_round": 400} if "other name" in name else {"n_estimators": 400}
        model = lightgbm.LGBMClassifier(**configured, early_stopping_round=5, verbose=-1, n_jobs=1)
        return model.fit(X[TRAINED], Y[TRAINED], eval_set=[watched])
    configured = {"num_trees": 400, "use_best_model": True} if "other name" in name else {"iterations": 400}
    model = catboost.CatBoostClassifier(**configured, early_stopping_rounds=20, learning_rate=0.3, **QUIET)
    return model.fit(X[TRAINED], Y[TRAINED], eval_set=watched)


@pytest.mark.parametrize("name", ["lightgbm", "lightgbm, other name", "catboost", "catboost, other name"])
def test_copies_have_the_number_of_trees_that_was_kept(name: str) -> None:
    model = stopped(name)
    trees = kept_trees(model)
    assert trees is not None and 0 < trees.kept < 60 and trees.configured == 400
    copy = untrained_copy(model).fit(X[TRAINED], Y[TRAINED])
    count = copy.booster_.num_trees() if name.startswith("lightgbm") else copy.tree_count_
    assert count == trees.kept
    assert kept_trees(copy) is None


def test_catboost_copies_have_the_settings_of_the_model() -> None:
    model = catboost.CatBoostClassifier(iterations=400, early_stopping_rounds=20, **QUIET)
    model.fit(X[TRAINED], Y[TRAINED], eval_set=(X[WATCHED], Y[WATCHED]))
    copy = untrained_copy(model).fit(X[TRAINED], Y[TRAINED])
    # The trees are equal because the copy keeps the settings that CatBoost had chosen for 400 trees.
    np.testing.assert_allclose(copy.predict_proba(X[UNSEEN]), model.predict_proba(X[UNSEEN]), atol=1e-6)


def test_pipeline_copies_have_the_trees_that_the_last_step_kept() -> None:
    pipeline = make_pipeline(
        StandardScaler(), lightgbm.LGBMClassifier(n_estimators=400, verbose=-1, n_jobs=1)
    )
    step = "lgbmclassifier__"
    stop = [lightgbm.early_stopping(5, verbose=False)]
    watched = [(X[WATCHED], Y[WATCHED])]
    pipeline.fit(X[TRAINED], Y[TRAINED], **{f"{step}eval_set": watched, f"{step}callbacks": stop})
    trees = kept_trees(pipeline)
    assert trees is not None
    copy = untrained_copy(pipeline).fit(X[TRAINED], Y[TRAINED])
    assert copy[-1].booster_.num_trees() == trees.kept


def test_copies_need_no_evaluation_set_if_all_trees_were_kept() -> None:
    watched = (X[WATCHED], Y[WATCHED])
    boosted = lightgbm.LGBMClassifier(n_estimators=2, early_stopping_round=50, verbose=-1, n_jobs=1)
    boosted.fit(X[TRAINED], Y[TRAINED], eval_set=[watched])
    other = catboost.CatBoostClassifier(iterations=2, use_best_model=True, **QUIET)
    other.fit(X[TRAINED], Y[TRAINED], eval_set=watched)
    for model in (boosted, other):
        assert kept_trees(model) is None
        untrained_copy(model).fit(X[TRAINED], Y[TRAINED])


def trained_on(name: str, count: int = 20) -> Any:
    """A model that adds trees to those of another one."""
    models: dict[str, tuple[Any, str]] = {
        "lightgbm": (lightgbm.LGBMClassifier(n_estimators=count, verbose=-1, n_jobs=1), "init_model"),
        "xgboost": (xgboost.XGBClassifier(n_estimators=count, n_jobs=1), "xgb_model"),
        "catboost": (catboost.CatBoostClassifier(iterations=count, learning_rate=0.3, **QUIET), "init_model"),
    }
    model, name_of_other = models[name]
    other = clone(model).fit(X[TRAINED], Y[TRAINED])
    return model.fit(X[TRAINED], Y[TRAINED], **{name_of_other: other})


@pytest.mark.parametrize("name", ["lightgbm", "xgboost", "catboost"])
def test_copies_have_all_trees_of_continued_training(name: str, tmp_path: Path) -> None:
    model = trained_on(name)
    trees = kept_trees(model)
    assert trees is not None and (trees.kept, trees.configured) == (40, 20)
    copy = untrained_copy(model).fit(X[TRAINED], Y[TRAINED])
    np.testing.assert_allclose(copy.predict_proba(X[UNSEEN]), model.predict_proba(X[UNSEEN]), atol=2e-3)
    report = export_bundle(model, FEATURES, tmp_path, name="n", version="1", X=X[TRAINED], y=Y[TRAINED])
    assert any("continued the training of another one, to 40 trees" in note for note in report.notes)


def test_copies_forests_and_models_without_splits_unchanged() -> None:
    one_value = np.zeros((1500, 4), dtype=np.float32)
    short = lightgbm.LGBMClassifier(n_estimators=20, verbose=-1, n_jobs=1).fit(one_value, Y[TRAINED])
    forest = xgboost.XGBRFClassifier(n_estimators=20, n_jobs=1).fit(X[TRAINED], Y[TRAINED])
    plain = xgboost.XGBClassifier(n_estimators=20, n_jobs=1)
    for model in (short, forest, plain, clone(plain).fit(X[TRAINED], Y[TRAINED])):
        assert kept_trees(model) is None
        assert untrained_copy(model).get_params()["n_estimators"] == 20


def test_copies_a_model_without_early_stopping_unchanged() -> None:
    model = lightgbm.LGBMClassifier(n_estimators=5, verbose=-1, n_jobs=1).fit(X[TRAINED], Y[TRAINED])
    assert kept_trees(model) is None and kept_trees(object()) is None
    assert untrained_copy(model).get_params() == model.get_params()


@pytest.mark.parametrize("name", ["lightgbm", "catboost"])
def test_likelihoods_hold_on_unseen_rows_after_early_stopping(name: str, tmp_path: Path) -> None:
    model = stopped(name)
    report = export_bundle(model, FEATURES, tmp_path, name="n", version="1", X=X[TRAINED], y=Y[TRAINED])
    trees = kept_trees(model)
    assert trees is not None
    assert any(f"early stopping kept {trees.kept} of 400 trees" in note for note in report.notes)
    manifest = json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8"))
    raw = model.predict_proba(X[UNSEEN])[:, 1].tolist()
    likelihoods = np.array([conversion_likelihood(value, manifest["calibration"]) for value in raw])
    scores = np.array([percentile_score(value, manifest["quantiles"]) for value in raw])
    # With copies of 400 trees, likelihoods are 40 to 70 % too high and the mean score exceeds 80.
    assert likelihoods.mean() == pytest.approx(Y[UNSEEN].mean(), rel=0.1)
    assert scores.mean() == pytest.approx(50, abs=5)
    top = scores >= 80
    assert likelihoods[top].mean() == pytest.approx(Y[UNSEEN][top].mean(), rel=0.2)


def test_asks_for_oof_raw_when_a_model_cannot_be_copied() -> None:
    booster = lightgbm.train({"objective": "binary", "verbosity": -1}, lightgbm.Dataset(X, Y), 3)
    with pytest.raises(ExportError, match="lightgbm Booster cannot be trained again here; give oof_raw"):
        out_of_fold(booster, X, Y)
    with pytest.raises(ExportError, match="give oof_raw"):
        out_of_fold(xgboost.XGBClassifier(early_stopping_rounds=2), X, Y)
