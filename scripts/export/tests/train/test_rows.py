"""Rows of a table are those of the Featurizer, and rows that belong together stay together."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from leadscore_export import Boolean, Category, Date, Featurizer, Multi, Number
from leadscore_export.train.read_table import Column, Table
from leadscore_export.train.rows.feature_rows import feature_rows
from leadscore_export.train.rows.golden import golden_records
from leadscore_export.train.rows.split import fewer_groups, folds, row_groups, split_rows

MESSY = {
    "n": ["1,234.5", " 7 ", "45%", "none", "x", "", "1e400", "-3"],
    "share": ["45%", "0.4", "", "?", "unknown", "1", "2", "a"],
    "yes": ["Yes", "0", "1.0", "", "maybe", "off", "T", "true"],
    "kind": ["A", " a", "B", "", "?", "C", "n/a", "3.0"],
    "order": ["low", "HIGH", "", "other", "low", "low", "high", "unknown"],
    "many": ["x;y", "y", "", "z;x", ";", "unknown", "x; y", "w"],
    "day": ["2026-11-20", "20/11/2026", "11/20/2026", "", "45000", "x", "2026-11-20T10:30:00+02:00", "?"],
    "filled": ["2026-01-01", "", "2025-01-01", "x", "", "", "2024-02-29", ""],
}
FEATURES = [
    Number("n"),
    Number("share", unit="fraction", impute=0.25, missing_column=True),
    Boolean("yes", impute=1.0),
    Category("kind", ["a", "b", "3"], other_column=True, missing_column=True),
    Category("order", ["low", "high"], encoding="ordinal", other_value=-1, impute=1),
    Multi("many", ["x", "y"]),
    Date("day", date_order="dmy"),
    Date("filled", impute=45.0, missing_column=True),
]


def column(name: str, cells: list[str]) -> Column:
    texts = list(dict.fromkeys(cells))
    return Column(name, np.array([texts.index(cell) for cell in cells], dtype=np.int32), texts)


def table_of(cells: dict[str, list[str]]) -> Table:
    return Table(
        {name: column(name, values) for name, values in cells.items()}, len(next(iter(cells.values())))
    )


def test_rows_are_those_of_the_featurizer() -> None:
    draw = np.random.default_rng(3)
    cells = {name: draw.choice(values, 300).tolist() for name, values in MESSY.items()}
    at = draw.uniform(1.7e12, 1.8e12, 300).round()
    featurizer = Featurizer(FEATURES, missing_tokens=["?", "unknown"])
    records = [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]
    expected = featurizer.rows(records, at.tolist()).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(feature_rows(table_of(cells), featurizer, at), expected)


def test_equal_rows_and_rows_of_a_group_are_together() -> None:
    nan = np.nan
    rows = np.array([[0.0, nan], [1, 2], [-0.0, -nan], [1, 3], [4, 4], [5, 5]], dtype=np.float32)
    equal = row_groups(rows, None)
    assert equal[0] == equal[2]
    assert len(set(equal.tolist())) == 5
    joined = row_groups(rows, column("account", ["a", "b", "", "a", "", "b"]))
    assert joined[0] == joined[2] == joined[3]
    assert joined[1] == joined[5]
    assert len(set(joined.tolist())) == 3


def test_no_group_is_in_two_folds_or_on_two_sides() -> None:
    draw = np.random.default_rng(1)
    groups = draw.integers(0, 5000, 12_000)
    won = (draw.random(12_000) < 0.2).astype(float)
    for trained, unseen in folds(won, fewer_groups(groups), seed=0):
        assert not set(groups[trained]) & set(groups[unseen])
        assert abs(won[unseen].mean() - 0.2) < 0.03
    for at in (None, np.sort(draw.uniform(0, 1e9, 12_000))):
        split = split_rows(won, groups, at)
        assert not set(groups[split.trained]) & set(groups[split.held])
        assert len(split.trained) + len(split.held) + split.apart == 12_000
        if at is not None:
            assert at[split.held].min() > at[split.trained].max()


def test_the_newest_fifth_is_held_out() -> None:
    for count in (1000, 20_000):
        split = split_rows(np.tile([0.0, 1.0], count // 2), np.arange(count), np.arange(float(count)))
        assert (split.held.tolist(), split.apart) == (list(range(count * 4 // 5, count)), 0)


@pytest.mark.parametrize(
    ("rows_of_dates", "held"),
    [
        ([100] * 24, 500),
        ([100, 300], None),
        ([300, 100], 100),
        ([400], None),
        ([760, 40], None),
        ([3, 97, 25], 25),
    ],
)
def test_rows_of_one_date_are_on_one_side(rows_of_dates: list[int], held: int | None) -> None:
    at = np.repeat(np.arange(float(len(rows_of_dates))), rows_of_dates)
    count = len(at)
    split = split_rows(np.tile([0.0, 1.0], count)[:count], np.arange(count), at)
    if held is None:
        # A random fifth: dates would hold out too few or too many.
        assert abs(len(split.held) - count / 5) <= 1
        assert at[split.held].min() == at.min()
    else:
        assert len(split.held) == held
        assert at[split.held].min() > at[split.trained].max()


@pytest.mark.parametrize("seed", range(3))
def test_no_golden_record_is_a_person(seed: int) -> None:
    draw = np.random.default_rng(seed)
    names = [f"Person {index}" for index in range(500)]
    cells = {
        "kind": [name if index % 3 else "a" for index, name in enumerate(names)],
        "many": [f"{name};x" for name in names],
        "n": [str(index) for index in range(500)],
        "yes": draw.choice(["yes", "no", "Jane Doe"], 500).tolist(),
        "other": names,
    }
    featurizer = Featurizer([Category("kind", ["a"]), Multi("many", ["x"]), Number("n"), Boolean("yes")])
    records = golden_records(table_of(cells), np.arange(100, 500), featurizer)
    assert len(records) == 400
    assert not any("Person" in str(record) or "Jane" in str(record) for record in records)
    assert all(set(record) == {"kind", "many", "n", "yes"} for record in records)
    same = sum((int(record["n"]) % 3 == 0) == (record["kind"] == "a") for record in records)
    assert same < 300
