"""Words and numbers that probably mean missing, in the proposal of features."""

from __future__ import annotations

from typing import Any

import pytest

from leadscore_export import infer_features
from leadscore_export.featurizer.placeholders import sentinel_numbers
from leadscore_export.featurizer.read_cell import missing_texts

CITIES = ["Select"] * 30 + ["select "] * 5 + ["Rome"] * 40 + ["unknown"] * 25
VISITS = [-1] * 40 + list(range(1, 61))
RECORDS: list[dict[str, Any]] = [
    {"City": city, "Visits": visits, "Source": "Web" if visits % 2 else "SELECT"}
    for city, visits in zip(CITIES, VISITS, strict=True)
]


def test_proposes_words_and_numbers_with_their_counts() -> None:
    proposal = infer_features(RECORDS)
    assert proposal.missing_tokens == {"Select": {"City": 35, "Source": 30}, "unknown": {"City": 25}}
    assert list(proposal.missing_tokens) == ["Select", "unknown"], "the commonest first"
    assert proposal.sentinels == {"Visits": {-1.0: 40}}


def test_proposes_no_word_that_means_missing_already_and_no_skipped_field() -> None:
    proposal = infer_features(RECORDS, missing_tokens=["SELECT", "Unknown"], skip="Visits")
    assert (proposal.missing_tokens, proposal.sentinels) == ({}, {})


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([-1.0] * 10 + [3, 4], {-1.0: 10}),
        ([-1.0] * 9 + [3, 4], {}),
        ([-1] * 20 + [-2, 3], {}),
        (["9999"] * 12 + ["12", "40"], {9999.0: 12}),
        ([999] * 12 + [998, 40], {}),
        ([99] * 12 + [40, 60], {}),
        ([9] * 20 + [1, 2], {}),
        ([-999] * 11 + [0.5], {-999.0: 11}),
        ([-1] * 20, {}),
        (["-1"] * 20 + ["a text"] * 30, {}),
        ([None, True, *[-1] * 15, 7], {-1.0: 15}),
    ],
)
def test_a_sentinel_stands_apart_from_all_other_numbers(cells: list[Any], expected: dict[float, int]) -> None:
    assert sentinel_numbers(cells, missing_texts()) == expected
