"""Outcomes have the words of `leadscore outcomes import`, and the rows of a lead become one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from leadscore_export.train.command.failures import TrainError
from leadscore_export.train.command.options import TrainOptions, parsed_options
from leadscore_export.train.outcomes import check_classes, one_row_a_lead, read_outcomes
from leadscore_export.train.read_table import Column

NAN = float("nan")


def column(*cells: str) -> Column:
    texts = list(dict.fromkeys(cells))
    return Column("Stage", np.array([texts.index(cell) for cell in cells], dtype=np.int32), texts)


def options(*arguments: str) -> TrainOptions:
    return parsed_options(["leads.csv", "--converted", "Stage", *arguments])


def converted(cells: list[str], *arguments: str, is_dated: bool = False) -> list[float | None]:
    found = read_outcomes(column(*cells), options(*arguments), is_dated=is_dated).converted
    return [None if np.isnan(value) else value for value in found.tolist()]


def test_usual_words() -> None:
    words = ["1", "1.0", " Yes ", "WON", "converted", "t", "0", "0.00", "no", "Lost", "off"]
    assert converted(words) == [1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0]


def test_open_leads_count_as_lost_only_with_dates() -> None:
    cells = ["won", "open", "lost", "lost", "lost"]
    assert converted(cells) == [1, None, 0, 0, 0]
    assert converted(cells, is_dated=True) == [1, 0, 0, 0, 0]
    assert read_outcomes(column(*cells), options(), is_dated=False).open == 1


def test_named_values() -> None:
    cells = ["Closed Won", "closed won ", "Closed Lost", "Won, late", "Nurture"]
    named = ("--won-values", '"Won, late",Closed Won', "--lost-values", "Closed Lost,Nurture")
    assert converted(cells, *named) == [1, 1, 0, 1, 0]
    assert converted(["Closed Won", "Nurture", "", "x", "y", "z"], *named[:2], "--others-lost") == [
        1, 0, None, 0, 0, 0
    ]  # fmt: skip


def test_a_won_value_that_no_row_has_is_reported() -> None:
    found = read_outcomes(column("Won", "lost"), options("--won-values", "Won,Gewonnen"), is_dated=False)
    assert found.notes == ("no row has the won value 'Gewonnen'",)


def test_too_many_unknown_outcomes() -> None:
    cells = ["won", "lost"] * 6 + ["Nurture"] * 3 + ["Recycled"]
    with pytest.raises(TrainError, match=r"4 of 16 rows.*'Nurture', 'Recycled'.*--won-values") as caught:
        converted(cells)
    assert (caught.value.code, caught.value.context["values"]) == (
        "unknown_outcomes",
        ["Nurture", "Recycled"],
    )
    assert converted(cells[:-1] + ["won", "lost"] * 3)[12:15] == [None] * 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--others-lost",), "--others-lost needs --won-values"),
        (("--won-values", "a", "--lost-values", "A"), "'A' means won and lost"),
        (("--won-values", " , "), "an empty list"),
        (("--horizon", "0"), "no whole number of days"),
        (("--budget", "-1"), "no number of seconds"),
        (("--at-most",), "unrecognized arguments"),
    ],
)
def test_wrong_options(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(TrainError, match=message) as caught:
        converted(["won", "lost"], *arguments)
    assert (caught.value.code, caught.value.exit_code) == ("usage", 2)


def test_one_row_a_lead() -> None:
    lead = column("a", "b", "a", "", "", "b", "c")
    won = np.array([1, 0, 0, 0, NAN, NAN, NAN])
    joined = one_row_a_lead(lead, won, None)
    assert joined.rows.tolist() == [2, 3, 4, 5, 6]
    np.testing.assert_array_equal(joined.converted, [1, 0, NAN, 0, NAN])
    at = np.array([5, 1, 2, 0, 0, 3, NAN]) * 1e12
    dated = one_row_a_lead(lead, won, at, at + 1)
    assert dated.rows.tolist() == [1, 2, 3, 4, 6]
    np.testing.assert_array_equal(dated.converted, [0, 1, 0, NAN, NAN])
    np.testing.assert_array_equal(dated.converted_at_ms, [NAN, 5e12 + 1, NAN, NAN, NAN])


@pytest.mark.parametrize(
    ("won", "lost", "code"),
    [(0, 500, "one_class"), (500, 0, "one_class"), (19, 500, "too_few_leads"), (49, 50, "too_few_leads")],
)
def test_too_few_leads(won: int, lost: int, code: str) -> None:
    with pytest.raises(TrainError) as caught:
        check_classes(np.array([1.0] * won + [0.0] * lost))
    assert caught.value.code == code
    check_classes(np.array([1.0] * 20 + [0.0] * 80))


def test_the_folder_of_the_result_has_the_name_of_the_file() -> None:
    assert options().out == Path("leads-model")
