"""Trees of every trainer: ONNX agrees with the trainer, and contributions with the trainer's own."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from typing import Any

import catboost
import lightgbm
import numpy as np
import numpy.typing as npt
import pytest
import shap
import xgboost
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

from leadscore_export.bundle.check_scores import check_agreement
from leadscore_export.convert.convert_model import convert_model
from leadscore_export.convert.tree_contributions import rows_within, tree_contributions
from leadscore_export.convert.tree_model import float32_below

Rows = npt.NDArray[np.float32]


WIDTH = 6


QUIET: dict[str, Any] = {"verbose": 0, "allow_writing_files": False}


SET_COLUMN = 5


def table(*, has_nan: bool) -> tuple[Rows, npt.NDArray[np.int64]]:
    """Columns of several sizes, one of them whole numbers below 9."""
    draw = np.random.default_rng(0)
    rows = draw.normal(size=(600, WIDTH)).astype(np.float32)
    rows[:, 2] *= 1000
    rows[:, SET_COLUMN] = draw.integers(0, 9, len(rows))
    noise = draw.normal(size=len(rows)) / 2
    converted = (rows[:, 0] + (rows[:, SET_COLUMN] % 3 == 1) + rows[:, 2] / 500 + noise > 0.5).astype(
        np.int64
    )
    if has_nan:
        rows[draw.random(rows.shape) < 0.1] = np.nan
    return rows, converted


TRAINERS: dict[str, Callable[[], Any]] = {
    "lightgbm": lambda: lightgbm.LGBMClassifier(n_estimators=20, verbose=-1, n_jobs=1, sigmoid=1.7),
    "lightgbm forest": lambda: lightgbm.LGBMClassifier(
        n_estimators=10, boosting_type="rf", bagging_freq=1, bagging_fraction=0.5, verbose=-1, n_jobs=1
    ),
    "xgboost": lambda: xgboost.XGBClassifier(n_estimators=20, max_depth=4, n_jobs=1),
    "catboost": lambda: catboost.CatBoostClassifier(iterations=20, depth=4, thread_count=1, **QUIET),
    "catboost, NaN above": lambda: catboost.CatBoostClassifier(
        iterations=20, depth=4, nan_mode="Max", **QUIET
    ),
    "catboost by leaf": lambda: catboost.CatBoostClassifier(iterations=20, grow_policy="Lossguide", **QUIET),
    "random forest": lambda: RandomForestClassifier(20, min_samples_leaf=3, random_state=0),
    "extra trees": lambda: ExtraTreesClassifier(20, min_samples_leaf=3, random_state=0),
    "decision tree": lambda: DecisionTreeClassifier(max_depth=5, random_state=0),
    "histogram boosting": lambda: HistGradientBoostingClassifier(max_iter=20),
}


@pytest.mark.parametrize("name", TRAINERS)
def test_onnx_agrees_with_the_trainer_and_contributions_add_up(name: str) -> None:
    rows, converted = table(has_nan=True)
    agree(TRAINERS[name]().fit(rows, converted), rows)


@pytest.mark.parametrize("trees", [10, 30, 300])
def test_shares_of_a_certain_forest_add_up_to_1(trees: int) -> None:
    rows, converted = table(has_nan=False)
    forest = ExtraTreesClassifier(trees, random_state=0).fit(rows, converted)
    # In float32, ten times 0.1 is 1.0000001.
    raw = check_agreement(convert_model(forest, WIDTH), rows.astype(np.float64))
    assert raw.min() == 0 and 1 - 1e-5 < raw.max() <= 1


@pytest.mark.parametrize("loss", ["log_loss", "exponential"])
@pytest.mark.parametrize("init", [None, "zero"])
def test_onnx_agrees_with_gradient_boosting_of_scikit_learn(loss: str, init: str | None) -> None:
    rows, converted = table(has_nan=False)
    agree(
        GradientBoostingClassifier(n_estimators=20, loss=loss, init=init).fit(rows, converted),
        rows,
        takes_nan=False,
    )


def test_converts_category_sets_of_lightgbm() -> None:
    rows, converted = table(has_nan=True)
    trainer = lightgbm.LGBMClassifier(
        n_estimators=20, min_data_per_group=5, cat_smooth=1, verbose=-1, n_jobs=1
    )
    model = trainer.fit(rows, converted, categorical_feature=[SET_COLUMN])
    contributions = agree(model, with_unknown_categories(rows))
    own = model.booster_.predict(with_unknown_categories(rows).astype(np.float64), pred_contrib=True)
    np.testing.assert_allclose(contributions, own[:, :-1], atol=1e-9)


def test_converts_category_sets_of_xgboost() -> None:
    rows, converted = table(has_nan=True)
    types = ["q"] * SET_COLUMN + ["c"]
    trainer = xgboost.XGBClassifier(
        n_estimators=20,
        max_depth=4,
        feature_types=types,
        enable_categorical=True,
        max_cat_to_onehot=2,
        n_jobs=1,
    )
    model = trainer.fit(rows, converted)
    contributions = agree(model, rows)
    matrix = xgboost.DMatrix(rows, feature_types=types, enable_categorical=True)
    own = model.get_booster().predict(matrix, pred_contribs=True)
    np.testing.assert_allclose(contributions, own[:, :-1], atol=1e-4)


def test_contributions_equal_those_of_the_trainers() -> None:
    rows, converted = table(has_nan=True)
    boosted = lightgbm.LGBMClassifier(n_estimators=20, verbose=-1, n_jobs=1).fit(rows, converted)
    own = boosted.booster_.predict(rows.astype(np.float64), pred_contrib=True)
    compare(boosted, rows, own, tolerance=1e-9)

    boosted = xgboost.XGBClassifier(n_estimators=20, max_depth=4, n_jobs=1).fit(rows, converted)
    own = boosted.get_booster().predict(xgboost.DMatrix(rows), pred_contribs=True)
    compare(boosted, rows, own, tolerance=1e-4)

    boosted = catboost.CatBoostClassifier(iterations=20, depth=4, **QUIET).fit(rows, converted)
    own = boosted.get_feature_importance(catboost.Pool(rows), type="ShapValues")
    compare(boosted, rows, own, tolerance=1e-9)


def test_forest_contributions_equal_those_of_shap() -> None:
    rows, converted = table(has_nan=True)
    forest = RandomForestClassifier(10, min_samples_leaf=3, random_state=0).fit(rows, converted)
    explainer = shap.TreeExplainer(forest)
    own = explainer.shap_values(rows.astype(np.float64))[..., 1]
    base = explainer.expected_value[1]
    logit = np.vectorize(lambda p: math.log(max(p, 1e-7) / max(1 - p, 1e-7)))
    moved = own.sum(axis=1)
    scaled = own * ((logit(base + moved) - logit(base)) / moved)[:, None]
    trees = convert_model(forest, WIDTH).trees
    assert trees is not None
    np.testing.assert_allclose(tree_contributions(trees, rows)[0], scaled, atol=1e-6)


def test_limits_the_explained_rows_by_time() -> None:
    rows, converted = table(has_nan=False)
    small = convert_model(
        RandomForestClassifier(5, max_depth=3, random_state=0).fit(rows, converted), WIDTH
    ).trees
    large = convert_model(RandomForestClassifier(40, random_state=0).fit(rows, converted), WIDTH).trees
    assert small is not None and large is not None
    assert rows_within(small, 20) > 10_000
    assert rows_within(large, 20) / 3 < rows_within(large, 10) < rows_within(small, 10) / 20
    assert rows_within(large, 1e-3) == 0
    started = time.perf_counter()
    tree_contributions(large, rows[: rows_within(large, 1.0)])
    # The limit allows for a slow and busy machine.
    assert time.perf_counter() - started < 10


def test_converts_only_the_best_trees_after_early_stopping() -> None:
    rows, converted = table(has_nan=True)
    model = xgboost.XGBClassifier(n_estimators=300, max_depth=6, early_stopping_rounds=3, n_jobs=1)
    model.fit(rows[:400], converted[:400], eval_set=[(rows[400:], converted[400:])], verbose=False)
    trees = convert_model(model, WIDTH).trees
    assert trees is not None
    assert len(trees.trees) == model.best_iteration + 1 < 300
    agree(model, rows)


def test_rounds_thresholds_down_to_float32() -> None:
    above = float(np.nextafter(np.float32(0.1), np.float32(1)))
    assert float32_below(float(np.float32(0.1)) + 1e-12) == float(np.float32(0.1))
    assert float32_below(above - 1e-12) == float(np.float32(0.1))
    assert float32_below(1e300) == float(np.finfo(np.float32).max)


def agree(model: Any, rows: Rows, *, takes_nan: bool = True) -> npt.NDArray[np.float64]:
    """The contributions to each row, after a comparison of ONNX, the trainer and the contributions' sum."""
    converted = convert_model(model, WIDTH)
    assert converted.trees is not None and converted.predict is not None
    if takes_nan:
        extremes = np.array([[np.nan] * WIDTH, [3e38, -3e38, 3e38, -3e38, 0, 0]], dtype=np.float32)
        rows = np.vstack([rows, extremes])
    raw = converted.raw(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_allclose(raw, converted.predict(rows), atol=2e-6)
    contributions, base = tree_contributions(converted.trees, rows)
    np.testing.assert_allclose(1 / (1 + np.exp(-(base + contributions.sum(axis=1)))), raw, atol=2e-6)
    return contributions[: len(rows) - 2 * takes_nan]


def compare(model: Any, rows: Rows, own: npt.NDArray[np.float64], *, tolerance: float) -> None:
    trees = convert_model(model, WIDTH).trees
    assert trees is not None
    contributions, base = tree_contributions(trees, rows)
    np.testing.assert_allclose(contributions, own[:, :-1], atol=tolerance)
    np.testing.assert_allclose(base, own[0, -1], atol=tolerance)


def with_unknown_categories(rows: Rows) -> Rows:
    unknown: Rows = rows.copy()
    unknown[:20, SET_COLUMN] = -1
    unknown[20:40, SET_COLUMN] = 40
    return unknown


def test_contributions_add_up_where_those_of_the_library_do_not() -> None:
    rows, converted = table(has_nan=True)
    forest = TRAINERS["lightgbm forest"]().fit(rows, converted)
    own = forest.booster_.predict(rows.astype(np.float64), pred_contrib=True)
    # They add up to the sum of the ten trees, but the probability is that of the mean.
    compare(forest, rows, own / 10, tolerance=1e-9)

    for policy, gap in (("Lossguide", 1.0), ("Depthwise", 0.1)):
        model = catboost.CatBoostClassifier(iterations=20, grow_policy=policy, **QUIET).fit(rows, converted)
        own = model.get_feature_importance(catboost.Pool(rows), type="ShapValues")
        margin = model.predict(rows, prediction_type="RawFormulaVal")
        assert np.abs(own.sum(axis=1) - margin).max() > gap
        trees = convert_model(model, WIDTH).trees
        assert trees is not None
        contributions, base = tree_contributions(trees, rows)
        np.testing.assert_allclose(base + contributions.sum(axis=1), margin, atol=1e-9)
