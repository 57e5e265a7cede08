"""The choice of a calibration, and what it does to probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from leadscore_export import ExportError
from leadscore_export.scores.calibration import chosen_calibration, fitted_calibration, platt_scaling
from leadscore_export.scores.serving_figures import calibrated, conversion_likelihood, logit, percentile_score


def drawn(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities that say too much, and what became of their rows."""
    draw = np.random.default_rng(3)
    truth = draw.beta(1.5, 5, count)
    converted = (draw.random(count) < truth).astype(float)
    return 1 / (1 + (1 / truth - 1) ** 2), converted


@pytest.mark.parametrize(
    ("smaller", "kind"), [(49, "identity"), (50, "platt"), (999, "platt"), (1000, "isotonic")]
)
def test_the_size_of_the_smaller_class_chooses(smaller: int, kind: str) -> None:
    converted = np.array([1.0] * smaller + [0.0] * 1500)
    assert chosen_calibration(converted)[0] == kind
    assert chosen_calibration(1 - converted)[0] == kind


def test_platt_is_the_logistic_regression_on_log_odds() -> None:
    raw, converted = drawn(5000)
    log_odds = np.array([[logit(value)] for value in raw])
    reference = LogisticRegression(C=1e9, tol=1e-10).fit(log_odds, converted)
    a, b = platt_scaling(raw, converted)
    # Platt's targets are a little away from 0 and 1.
    assert a == pytest.approx(reference.coef_[0, 0], abs=0.01)
    assert b == pytest.approx(reference.intercept_[0], abs=0.01)


def test_platt_of_classes_that_are_told_apart_is_finite() -> None:
    raw = np.concatenate([np.linspace(0.01, 0.3, 60), np.linspace(0.7, 0.99, 60)])
    a, b = platt_scaling(raw, np.repeat([0.0, 1.0], 60))
    assert 0 < a < 20 and abs(b) < 5


def test_scores_that_rank_the_wrong_way_round_are_refused() -> None:
    raw, converted = drawn(500)
    with pytest.raises(ExportError, match="wrong way round"):
        fitted_calibration("platt", 1 - raw, converted)


def test_isotonic_is_the_isotonic_regression_and_never_promises_0_or_1() -> None:
    raw, converted = drawn(4000)
    calibration = fitted_calibration("isotonic", raw, converted)
    assert all(np.diff(calibration["x"]) > 0) and all(np.diff(calibration["y"]) >= 0)
    assert calibration["y"][0] > 0 and calibration["y"][-1] < 1
    reference = IsotonicRegression(out_of_bounds="clip").fit(raw, converted).predict(raw)
    ours = np.array([calibrated(float(value), calibration) for value in raw])
    inner = (reference > 0) & (reference < 1)
    np.testing.assert_allclose(ours[inner], reference[inner], atol=1e-9)
    assert ours.mean() == pytest.approx(converted.mean(), abs=1e-3)


def test_scores_and_likelihoods_round_half_up() -> None:
    quantiles = [index / 100 for index in range(101)]
    assert [percentile_score(raw, quantiles) for raw in (-1, 0, 0.123, 1, 2)] == [0, 0, 12, 100, 100]
    assert percentile_score(0.5, [0.5] * 101) == 50
    assert conversion_likelihood(0.00005, {"kind": "identity"}) == 0.0001
