"""Boosted models serve the trees with which their library predicts, with the same weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import catboost
import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier

from leadscore_export import ExportReport, Number, export_bundle
from leadscore_export.convert.convert_model import convert_model
from leadscore_export.convert.tree_contributions import tree_contributions

DRAW = np.random.default_rng(4)
ROWS = DRAW.normal(size=(900, 4)).astype(np.float32)
CONVERTED = (ROWS[:, 0] + DRAW.logistic(size=900) > 1).astype(int)
TRAINED, WATCHED = slice(0, 450), slice(450, 900)
FEATURES = [Number(name, impute=0) for name in "abcd"]
QUIET: dict[str, Any] = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
DART: dict[str, Any] = {"booster": "dart", "rate_drop": 0.4, "skip_drop": 0.1, "seed": 3}


def exported(model: Any, out: Path) -> ExportReport:
    raw = np.clip(0.3 + ROWS[:, 0] / 20 + ROWS[:, 1] / 100, 0, 1)
    return export_bundle(model, FEATURES, out, name="n", version="1", X=ROWS, y=CONVERTED, oof_raw=raw)


def served(model: Any) -> Any:
    return convert_model(model, 4).raw(ROWS)


def stopped_booster(**parameters: Any) -> xgboost.Booster:
    """A Booster that grew some rounds beyond its best one."""
    trained, watched = (
        xgboost.DMatrix(ROWS[part], CONVERTED[part], nthread=1) for part in (TRAINED, WATCHED)
    )
    return xgboost.train(
        {"objective": "binary:logistic", "eta": 0.5, "nthread": 1, **parameters},
        trained,
        200,
        evals=[(watched, "watched")],
        early_stopping_rounds=9,
        verbose_eval=False,
    )


def stopped_catboost(*, is_cut: bool) -> catboost.CatBoostClassifier:
    model = catboost.CatBoostClassifier(
        iterations=300, learning_rate=0.5, early_stopping_rounds=9, use_best_model=is_cut, **QUIET
    )
    return model.fit(ROWS[TRAINED], CONVERTED[TRAINED], eval_set=(ROWS[WATCHED], CONVERTED[WATCHED]))


@pytest.mark.parametrize("parameters", [{}, {"num_parallel_tree": 3, "subsample": 0.5}, DART])
def test_a_booster_of_xgboost_serves_all_rounds_with_a_note(
    parameters: dict[str, Any], tmp_path: Path
) -> None:
    booster = stopped_booster(**parameters)
    best, rounds = booster.best_iteration + 1, booster.num_boosted_rounds()
    assert best < rounds
    np.testing.assert_allclose(served(booster), booster.predict(xgboost.DMatrix(ROWS)), atol=2e-6)
    note = f"early stopping was best after {best} of {rounds} rounds. The bundle serves all {rounds}, as"
    assert any(each.startswith(note) for each in exported(booster, tmp_path).notes)

    best_only = booster[: booster.best_iteration + 1]
    np.testing.assert_allclose(
        served(best_only),
        booster.predict(xgboost.DMatrix(ROWS), iteration_range=(0, best)),
        atol=2e-6,
    )
    assert not any("rounds" in each for each in exported(best_only, tmp_path).notes)


@pytest.mark.parametrize("parameters", [{}, DART])
def test_a_classifier_of_xgboost_serves_the_best_rounds(parameters: dict[str, Any], tmp_path: Path) -> None:
    model = xgboost.XGBClassifier(
        n_estimators=200, learning_rate=0.5, early_stopping_rounds=9, n_jobs=1, **parameters
    )
    model.fit(
        ROWS[TRAINED], CONVERTED[TRAINED], eval_set=[(ROWS[WATCHED], CONVERTED[WATCHED])], verbose=False
    )
    best, rounds = model.best_iteration + 1, model.get_booster().num_boosted_rounds()
    assert best < rounds
    np.testing.assert_allclose(served(model), model.predict_proba(ROWS)[:, 1], atol=2e-6)
    note = f"early stopping was best after {best} of {rounds} rounds. The bundle serves these {best}, as"
    assert any(each.startswith(note) for each in exported(model, tmp_path).notes)


def test_a_classifier_that_continues_a_stopped_booster_serves_the_best_rounds_of_that(
    tmp_path: Path,
) -> None:
    stopped = stopped_booster()
    model = xgboost.XGBClassifier(n_estimators=20, n_jobs=1).fit(ROWS, CONVERTED, xgb_model=stopped)
    rounds = stopped.num_boosted_rounds() + 20
    np.testing.assert_allclose(served(model), model.predict_proba(ROWS)[:, 1], atol=2e-6)
    note = f"was best after {stopped.best_iteration + 1} of {rounds} rounds. The bundle serves these"
    assert any(note in each for each in exported(model, tmp_path).notes)


def test_catboost_serves_what_it_predicts_with(tmp_path: Path) -> None:
    for is_cut in (True, False):
        model = stopped_catboost(is_cut=is_cut)
        np.testing.assert_allclose(served(model), model.predict_proba(ROWS)[:, 1], atol=2e-6)
        best, trees = model.best_iteration_ + 1, model.tree_count_
        assert (best == trees) is is_cut
        note = f"the evaluation set was best after {best} of {trees} trees. The bundle serves all {trees}"
        assert any(each.startswith(note) for each in exported(model, tmp_path).notes) is not is_cut


def test_other_libraries_serve_what_they_predict_with() -> None:
    watched = lightgbm.Dataset(ROWS[WATCHED], CONVERTED[WATCHED])
    booster = lightgbm.train(
        {"objective": "binary", "learning_rate": 0.5, "verbosity": -1, "num_threads": 1},
        lightgbm.Dataset(ROWS[TRAINED], CONVERTED[TRAINED]),
        200,
        valid_sets=[watched],
        callbacks=[lightgbm.early_stopping(9, verbose=False)],
        keep_training_booster=True,
    )
    assert booster.best_iteration < booster.current_iteration()
    np.testing.assert_allclose(served(booster), booster.predict(ROWS), atol=2e-6)
    for model in (
        HistGradientBoostingClassifier(max_iter=200, early_stopping=True, n_iter_no_change=9),
        GradientBoostingClassifier(n_estimators=200, learning_rate=0.5, n_iter_no_change=9),
    ):
        model.fit(ROWS, CONVERTED)
        assert getattr(model, "n_iter_", getattr(model, "n_estimators_", 200)) < 200
        np.testing.assert_allclose(served(model), model.predict_proba(ROWS)[:, 1], atol=2e-6)


@pytest.mark.parametrize("setting", [{"num_iteration_predict": 3}, {"pred_early_stop": True}])
def test_settings_of_lightgbm_that_change_its_predict(setting: dict[str, Any]) -> None:
    model = lightgbm.LGBMClassifier(n_estimators=60, verbose=-1, n_jobs=1, **setting).fit(ROWS, CONVERTED)
    converted = convert_model(model, 4)
    assert converted.predict is not None
    np.testing.assert_allclose(converted.predict(ROWS), model.predict_proba(ROWS)[:, 1], atol=1e-12)


@pytest.mark.parametrize("drop", [{}, {"normalize_type": "forest", "one_drop": 1}])
def test_dart_of_xgboost_is_served_with_its_weights(drop: dict[str, Any], tmp_path: Path) -> None:
    model = xgboost.XGBClassifier(n_estimators=40, max_depth=4, n_jobs=1, **{**DART, **drop})
    model.fit(ROWS, CONVERTED)
    matrix = xgboost.DMatrix(ROWS)
    converted = convert_model(model, 4)
    np.testing.assert_allclose(converted.raw(ROWS), model.predict_proba(ROWS)[:, 1], atol=2e-6)
    assert converted.trees is not None
    contributions, base = tree_contributions(converted.trees, ROWS)
    own = model.get_booster().predict(matrix, pred_contribs=True)
    margin = model.get_booster().predict(matrix, output_margin=True)
    np.testing.assert_allclose(base + contributions.sum(axis=1), margin, atol=1e-5)
    np.testing.assert_allclose(contributions, own[:, :-1], atol=1e-4)
    assert exported(model, tmp_path).contributions == "exact (trees)"
