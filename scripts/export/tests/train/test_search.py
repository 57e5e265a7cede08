"""The search keeps small models, ends with its budget, and finds the same parameters again."""

from __future__ import annotations

import numpy as np
import pytest

from leadscore_export.train.search import Candidate, Parameters, best_of, search_parameters


def candidate(auc: float, leaves: int, trees: int) -> Candidate:
    return Candidate(Parameters(leaves=leaves), auc, 0.01, trees)


def test_the_smallest_of_nearly_equal_candidates_wins() -> None:
    best, smaller, small = candidate(0.8, 32, 300), candidate(0.7996, 16, 200), candidate(0.7994, 4, 50)
    assert best_of([best, smaller, small]) is smaller
    assert best_of([best, small]) is best
    # A chain of small losses never ends far below the highest.
    chain = [candidate(0.8 - index * 0.0004, 32, 300 - index) for index in range(20)]
    assert best_of(chain).auc >= 0.7995


@pytest.fixture(scope="module")
def leads() -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(0)
    rows = draw.normal(size=(400, 6)).astype(np.float32)
    margin = rows[:, 0] + 0.7 * rows[:, 1] * rows[:, 2]
    return rows, (draw.random(400) < 1 / (1 + np.exp(-margin))).astype(float)


def test_the_budget_ends_the_search_between_candidates(leads: tuple[np.ndarray, np.ndarray]) -> None:
    rows, won = leads
    said: list[tuple[str, float]] = []

    def run(budget: float) -> object:
        return search_parameters(
            rows, won, np.arange(400), budget_seconds=budget, say=lambda *line: said.append(line)
        )

    short = run(1e-6)
    assert len(short.tried) == 1
    assert len(short.left_out) == 8
    assert "rows a leaf" in short.left_out[0].text
    assert len(said) == 1
    long, again = run(1e6), run(1e6)
    assert len(long.tried) == 9
    assert long.left_out == ()
    assert long == again
    shares = [share for _, share in said[1:10]]
    assert shares == sorted(shares)
    assert max(each.auc for each in long.tried) - long.best.auc <= 0.0005
    assert 20 <= long.best.trees <= 1000


def test_rows_of_a_group_are_in_one_fold(leads: tuple[np.ndarray, np.ndarray]) -> None:
    """Five copies of each lead, which a model could know by heart."""
    draw = np.random.default_rng(1)
    rows = np.repeat(draw.normal(size=(120, 4)).astype(np.float32), 5, axis=0)
    won = np.repeat((draw.random(120) < 0.5).astype(float), 5)

    def auc(groups: np.ndarray) -> float:
        return search_parameters(
            rows, won, groups, budget_seconds=1e-6, say=lambda text, share: None
        ).best.auc

    assert auc(np.arange(600)) > 0.9
    assert auc(np.repeat(np.arange(120), 5)) < 0.65
