"""What is learnt of a model from its training rows beside the model."""

from __future__ import annotations

import numpy as np
import pytest

from leadscore_export import Boolean, Category, Date, ExportError, Featurizer, Number
from leadscore_export.bundle.bundle_files import typical_row
from leadscore_export.scores.training_figures import area_under_curve, quantiles_of, recency_of, top_lift


def test_recency_is_the_age_that_one_in_a_hundred_exceeds() -> None:
    features = Featurizer([Number("n"), Date("d", impute=5000, missing_column=True)]).features
    ages = np.append(np.arange(1000) / 10, [5000.0] * 100)
    rows = np.column_stack([np.zeros(1100), ages, ages == 5000])
    assert recency_of("d", features, rows) == {"field": "d", "max_age_days": 99}
    with pytest.raises(ExportError, match=r'no Date feature reads "n" \(there are: d\)'):
        recency_of("n", features, rows)


def test_a_typical_row_takes_the_median_of_numbers_and_the_commonest_of_the_rest() -> None:
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


def test_figures_by_hand() -> None:
    raw, converted = np.array([0.1, 0.2, 0.2, 0.7, 0.9]), np.array([0.0, 0, 1, 0, 1])
    assert area_under_curve(raw, converted) == pytest.approx((1 + 0.5 + 0 + 3) / 6)
    assert top_lift(raw, converted) == pytest.approx(1 / 0.4)
    assert quantiles_of(raw)[0] == 0.1 and quantiles_of(raw)[100] == 0.9


def test_the_lift_of_equal_scores_does_not_depend_on_the_order_of_rows() -> None:
    # The top fifth, 4 of 20 rows, is the first row and three of nine equal ones, of which two converted.
    raw = np.array([0.9, *[0.5] * 9, *[0.1] * 10])
    converted = np.array([1.0, 1, 1, *[0] * 7, 1, *[0] * 9])
    for order in (np.arange(20), np.argsort(-converted), np.argsort(converted)):
        assert top_lift(raw[order], converted[order]) == pytest.approx((1 + 3 * 2 / 9) / 4 / (4 / 20))
