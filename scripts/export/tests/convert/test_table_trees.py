"""Thresholds of scaled and decimal columns: float32 takes the branch that the trainer's float64 takes."""

from __future__ import annotations

import numpy as np
import pytest

from leadscore_export import ExportError
from leadscore_export.convert.pipelines.table_trees import served_trees
from leadscore_export.convert.pipelines.trained_table import TableColumn, TrainedTable, decimal_columns
from leadscore_export.convert.tree_model import Leaf, Split, TreeModel, nodes_of

YES, NO = Leaf(1.0, 3.0), Leaf(-2.0, 4.0)


def split(threshold: float, test: str = "<=", members: tuple[int, ...] = ()) -> Split:
    return Split(0, test, threshold, members, False, YES, NO, 7.0)  # type: ignore[arg-type]


def moved(node: Split, table: TrainedTable, *, is_wide: bool = True, is_probability: bool = False) -> Split:
    trees = TreeModel([node], 0.5, 1, is_probability, is_wide)
    found = served_trees(trees, table).trees[0]
    assert isinstance(found, Split)
    return found


@pytest.mark.parametrize("threshold", [0.1, 0.3, 0.7, 2.0, 2.5, 1e-3, -0.1, 123.45, np.nextafter(0.2, 1)])
@pytest.mark.parametrize("is_decimal", [True, False])
def test_a_decimal_passes_as_in_float64(threshold: float, is_decimal: bool) -> None:
    table = TrainedTable(1, decimals=frozenset([0] if is_decimal else []))
    found = moved(split(threshold), table).threshold
    digits = np.round(np.arange(-300, 300) / 1000 + threshold, 3)
    asked = digits if is_decimal else digits.astype(np.float32).astype(np.float64)
    np.testing.assert_array_equal(asked.astype(np.float32) <= np.float32(found), asked <= threshold)


@pytest.mark.parametrize("test", ["<=", "<"])
@pytest.mark.parametrize("is_wide", [True, False])
def test_a_scaler_becomes_part_of_the_threshold(test: str, is_wide: bool) -> None:
    column = TableColumn(0, operations=(("subtract", 3.7), ("divide", 1.3), ("multiply", 0.4), ("add", 0.2)))
    numbers = np.arange(-20, 60, dtype=np.float64)
    scaled = ((numbers - 3.7) / 1.3) * 0.4 + 0.2
    for index in (5, 30, 61):
        # The threshold equals a number of training, where one digit decides.
        threshold = float(scaled[index] if is_wide else np.float32(scaled[index]))
        found = moved(split(threshold, test), TrainedTable(1, (column,)), is_wide=is_wide)
        compared = scaled if is_wide else scaled.astype(np.float32).astype(np.float64)
        passes = compared <= threshold if test == "<=" else compared < threshold
        assert found.test == "<="
        np.testing.assert_array_equal(numbers.astype(np.float32) <= np.float32(found.threshold), passes)


def test_thresholds_beyond_all_numbers_stay_beyond() -> None:
    column = TableColumn(0, operations=(("divide", 2.0),))
    table = TrainedTable(1, (column,))
    assert moved(split(np.inf), table).threshold == np.finfo(np.float32).max
    assert moved(split(-1e300), table).threshold == -np.inf


def test_a_split_of_a_one_hot_column_tests_for_membership() -> None:
    table = TrainedTable(3, (TableColumn(2, members=(1, 4)),))
    found = moved(split(0.5), table)
    assert (found.column, found.test, found.members) == (2, "in", (1, 4))
    assert (found.when_true, found.when_false, found.cover) == (NO, YES, 7.0)
    scaled = TrainedTable(3, (TableColumn(2, members=(1,), operations=(("subtract", 0.2), ("divide", 0.4))),))
    assert moved(split(0.0), scaled).when_true == NO
    same = served_trees(TreeModel([split(1.5)], 0, 1, is_wide=True), table).trees
    assert same == [YES], "0 and 1 take the same branch"
    with pytest.raises(ExportError, match="leave categories out of the scaler"):
        moved(split(0, "in", (1,)), TrainedTable(1, (TableColumn(0, operations=(("divide", 2.0),)),)))


def test_the_first_class_is_the_opposite() -> None:
    table = TrainedTable(1, positive=0)
    leaves = [node.value for node in nodes_of(moved(split(1), table)) if isinstance(node, Leaf)]
    assert leaves == [-1.0, 2.0]
    assert served_trees(TreeModel([split(1)], 0.5, 1), table).base == -0.5
    found = moved(split(1), table, is_probability=True)
    assert [node.value for node in nodes_of(found) if isinstance(node, Leaf)] == [0.0, 3.0]


def test_finds_columns_that_float32_cannot_hold() -> None:
    rows = np.array([[0.5, 0.1, np.nan, 16777217], [1, 2, np.nan, 0]])
    assert decimal_columns(rows) == {1, 3}
