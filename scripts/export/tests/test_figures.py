"""Calibration, and the figures of out-of-fold scores."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from training_tables import FOREST, refused

from leadscore_export import Boolean, Category, Date, ExportError, Featurizer, Number
from leadscore_export.bundle.bundle_files import typical_row
from leadscore_export.comparison.reliability import likelihoods_of
from leadscore_export.scores.calibration import chosen_calibration, fitted_calibration, platt_scaling
from leadscore_export.scores.serving_figures import (
    calibrated,
    conversion_likelihood,
    logit,
    percentile_score,
    percentile_scores,
)
from leadscore_export.scores.training_figures import area_under_curve, quantiles_of, recency_of, top_lift


def drawn(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Overconfident probabilities, and the outcomes of their rows."""
    draw = np.random.default_rng(3)
    truth = draw.beta(1.5, 5, count)
    converted = (draw.random(count) < truth).astype(float)
    return 1 / (1 + (1 / truth - 1) ** 2), converted


@pytest.mark.parametrize(
    ("smaller", "kind"), [(49, "identity"), (50, "platt"), (999, "platt"), (1000, "isotonic")]
)
def test_the_size_of_the_smaller_class_chooses_the_calibration(smaller: int, kind: str) -> None:
    converted = np.array([1.0] * smaller + [0.0] * 1500)
    assert chosen_calibration(converted)[0] == kind
    assert chosen_calibration(1 - converted)[0] == kind


def test_platt_equals_a_logistic_regression_on_log_odds() -> None:
    raw, converted = drawn(5000)
    log_odds = np.array([[logit(value)] for value in raw])
    reference = LogisticRegression(C=1e9, tol=1e-10).fit(log_odds, converted)
    a, b = platt_scaling(raw, converted)
    # Platt's targets are close to 0 and 1, not equal to them.
    assert a == pytest.approx(reference.coef_[0, 0], abs=0.01)
    assert b == pytest.approx(reference.intercept_[0], abs=0.01)


def test_platt_of_separable_classes_is_finite() -> None:
    raw = np.concatenate([np.linspace(0.01, 0.3, 60), np.linspace(0.7, 0.99, 60)])
    a, b = platt_scaling(raw, np.repeat([0.0, 1.0], 60))
    assert 0 < a < 20 and abs(b) < 5


def test_refuses_scores_in_reverse_order() -> None:
    raw, converted = drawn(500)
    with pytest.raises(ExportError, match="rank in reverse order"):
        fitted_calibration("platt", 1 - raw, converted)


def test_isotonic_equals_isotonic_regression_but_never_promises_0_or_1() -> None:
    raw, converted = drawn(4000)
    calibration = fitted_calibration("isotonic", raw, converted)
    assert all(np.diff(calibration["x"]) > 0) and all(np.diff(calibration["y"]) >= 0)
    assert calibration["y"][0] > 0 and calibration["y"][-1] < 1
    reference = IsotonicRegression(out_of_bounds="clip").fit(raw, converted).predict(raw)
    ours = np.array([calibrated(float(value), calibration) for value in raw])
    inner = (reference > 0) & (reference < 1)
    np.testing.assert_allclose(ours[inner], reference[inner], atol=1e-9)
    assert ours.mean() == pytest.approx(converted.mean(), abs=1e-3)
    assert likelihoods_of(raw, calibration).tolist() == ours.tolist()


def test_scores_and_likelihoods_round_half_up() -> None:
    quantiles = [index / 100 for index in range(101)]
    assert [percentile_score(raw, quantiles) for raw in (-1, 0, 0.123, 1, 2)] == [0, 0, 12, 100, 100]
    assert percentile_score(0.5, [0.5] * 101) == 50
    assert percentile_scores(np.array([2, 0.555, 0.123, -1]), quantiles).tolist() == [100, 56, 12, 0]
    assert conversion_likelihood(0.00005, {"kind": "identity"}) == 0.0001


def test_recency_is_the_99th_percentile_of_ages() -> None:
    features = Featurizer([Number("n"), Date("d", impute=5000, missing_column=True)]).features
    ages = np.append(np.arange(1000) / 10, [5000.0] * 100)
    rows = np.column_stack([np.zeros(1100), ages, ages == 5000])
    assert recency_of("d", features, rows) == {"field": "d", "max_age_days": 99}
    with pytest.raises(ExportError, match=r'no Date feature reads "n" \(there are: d\)'):
        recency_of("n", features, rows)


def test_typical_row_holds_medians_and_most_frequent_values() -> None:
    featurizer = Featurizer(
        [
            Number("n"),
            Category("c", ["x", "y"], missing_column=True),
            Boolean("b"),
            Category("o", ["p", "q"], encoding="ordinal"),
        ]
    )
    records = [
        {"n": 1, "c": "y", "b": True, "o": "q"},
        {"n": 2, "c": "y", "b": True, "o": "q"},
        {"n": 50, "c": None, "b": False, "o": "p"},
        {"n": None, "c": "x", "b": None, "o": None},
    ]
    assert typical_row(featurizer.features, featurizer.rows(records)) == [2, 0, 1, 0, 1, 1]


def test_figures_equal_those_computed_by_hand() -> None:
    raw, converted = np.array([0.1, 0.2, 0.2, 0.7, 0.9]), np.array([0.0, 0, 1, 0, 1])
    assert area_under_curve(raw, converted) == pytest.approx((1 + 0.5 + 0 + 3) / 6)
    assert top_lift(raw, converted) == pytest.approx(1 / 0.4)
    assert quantiles_of(raw)[0] == 0.1 and quantiles_of(raw)[100] == 0.9


def test_lift_of_equal_scores_ignores_the_order_of_rows() -> None:
    # The top fifth, 4 of 20 rows, is the first row and three of nine equal ones, of which two converted.
    raw = np.array([0.9, *[0.5] * 9, *[0.1] * 10])
    converted = np.array([1.0, 1, 1, *[0] * 7, 1, *[0] * 9])
    for order in (np.arange(20), np.argsort(-converted), np.argsort(converted)):
        assert top_lift(raw[order], converted[order]) == pytest.approx((1 + 3 * 2 / 9) / 4 / (4 / 20))


def test_refuses_recency_of_a_field_that_is_no_date() -> None:
    refused(FOREST, r'recency=\{"field"', recency="a")
