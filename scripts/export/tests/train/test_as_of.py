"""Only leads whose outcome can be known train, each as it was at its date."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest

from leadscore_export.train.as_of import likely_since, month_rates
from leadscore_export.train.command.failures import TrainError
from leadscore_export.train.command.options import TrainOptions, parsed_options
from leadscore_export.train.rows import leads as leads_of_files
from leadscore_export.train.rows.leads import Leads, read_leads

DAY = 86_400_000
FIRST = date(2024, 1, 1)


def day(number: int) -> str:
    return (FIRST + timedelta(days=number)).isoformat()


def options(file: Path, *arguments: str) -> TrainOptions:
    return parsed_options([str(file), "--converted", "Won", *arguments])


def leads_of(tmp_path: Path, rows: list[tuple[object, ...]], *arguments: str) -> tuple[Leads, list[str]]:
    """Leads of rows of Won, Created, Closed, with 200 further ones of the first hundred days."""
    usual = [("yes" if index % 2 else "no", day(index % 100), day(index % 100 + 1)) for index in range(200)]
    text = "Won,Created,Closed\n" + "".join(f"{','.join(map(str, row))}\n" for row in [*usual, *rows])
    file = tmp_path / "leads.csv"
    file.write_text(text, encoding="utf-8")
    notes: list[str] = []
    return read_leads(options(file, *arguments), notes.append), notes


def outcome(leads: Leads, index: int) -> float:
    return float(leads.converted[index])


def test_a_conversion_after_the_horizon_does_not_count(tmp_path: Path) -> None:
    rows = [("yes", day(10), day(40)), ("yes", day(10), day(41)), ("yes", day(10), ""), ("no", day(200), "")]
    arguments = ("--at", "created", "--converted-at", "Closed", "--horizon", "30")
    leads, notes = leads_of(tmp_path, rows, *arguments)
    assert [outcome(leads, index) for index in (200, 201, 202)] == [1, 0, 1]
    assert "1 leads converted after 30 days and count as lost" in notes
    assert set(leads.left_out) == {"Won", "Created", "Closed"}


def test_leads_within_the_horizon_are_left_out_also_won_ones(tmp_path: Path) -> None:
    rows = [("yes", day(170), ""), ("no", day(171), ""), ("yes", day(200), "")]
    leads, notes = leads_of(tmp_path, rows, "--at", "Created", "--horizon", "30")
    assert (leads.counts["leads"], leads.counts["immature"]) == (201, 2)
    assert "2 leads are younger than the horizon of 30 days and are left out" in notes
    later, _ = leads_of(tmp_path, rows, "--at", "Created", "--horizon", "30", "--until", day(230))
    assert later.counts["immature"] == 0


def test_more_than_half_within_the_horizon(tmp_path: Path) -> None:
    with pytest.raises(
        TrainError, match=r"\d+ of 200 leads are younger than 90 days on 2024-04-09"
    ) as caught:
        leads_of(tmp_path, [], "--at", "Created")
    assert caught.value.code == "not_matured"


def test_leads_that_had_converted_are_left_out(tmp_path: Path) -> None:
    rows = [("yes", day(10), day(8)), ("yes", f"{day(10)}T18:00:00Z", day(10)), ("no", day(150), "")]
    leads, _ = leads_of(
        tmp_path, rows, "--at", "Created", "--converted-at", "Closed", "--horizon", "30", "--until", day(200)
    )
    assert (leads.counts["converted_before"], leads.counts["leads"]) == (1, 202)


def test_since(tmp_path: Path) -> None:
    leads, _ = leads_of(
        tmp_path, [], "--at", "Created", "--horizon", "5", "--since", day(20), "--until", day(200)
    )
    assert (leads.counts["before_since"], leads.counts["leads"]) == (40, 160)


def test_open_leads_whose_horizon_is_over_are_lost(tmp_path: Path) -> None:
    rows = [("open", day(50), ""), ("open", day(199), ""), ("no", day(200), "")]
    leads, _ = leads_of(tmp_path, rows, "--at", "Created", "--horizon", "30")
    assert leads.counts["leads"] == 201
    assert outcome(leads, 200) == 0


def test_unreadable_and_future_dates(tmp_path: Path) -> None:
    rows = [("no", "soon", ""), ("no", "2199-01-01", ""), ("no", "", "")]
    leads, notes = leads_of(tmp_path, rows, "--at", "Created", "--horizon", "5", "--until", day(200))
    assert leads.counts["undated"] == 3
    assert "3 leads have no readable date and are left out" in notes
    with pytest.raises(TrainError, match=r"11 of 211 cells.*'soon'") as caught:
        leads_of(tmp_path, [("no", "soon", "")] * 11, "--at", "Created")
    assert caught.value.code == "bad_dates"


def test_dates_that_can_be_read_in_two_ways(tmp_path: Path) -> None:
    file = tmp_path / "leads.csv"
    lines = [f"{'yes' if index % 2 else 'no'},0{index % 9 + 1}/05/2024" for index in range(120)]
    file.write_text("Won,Created\n" + "\n".join(lines), encoding="utf-8")
    arguments = ("--at", "Created", "--until", "2025-01-01", "--horizon", "1")
    with pytest.raises(TrainError, match="--date-order dmy or mdy"):
        read_leads(options(file, *arguments), print)
    for order, newest in (("dmy", "2024-05-09"), ("mdy", "2024-09-05")):
        leads = read_leads(options(file, *arguments, "--date-order", order), print)
        assert leads.at_ms is not None
        assert np.datetime64(int(leads.at_ms.max()), "ms").astype("datetime64[D]") == np.datetime64(newest)


def test_one_day_for_all_rows(tmp_path: Path) -> None:
    leads, _ = leads_of(tmp_path, [("open", "", "")], "--at", "2024-06-01")
    assert leads.at_ms is not None
    assert (set(leads.at_ms.tolist()), leads.split_ms, leads.counts["leads"]) == (
        {1_717_200_000_000.0},
        None,
        200,
    )
    with pytest.raises(TrainError, match="in the future"):
        leads_of(tmp_path, [], "--at", "2199-06-01")
    with pytest.raises(TrainError, match='no column "Createdd"'):
        leads_of(tmp_path, [], "--at", "Createdd")


@pytest.mark.parametrize("option", ["--converted-at=Closed", "--since=2024-01-01", "--until=2024-01-01"])
def test_options_that_need_dates(tmp_path: Path, option: str) -> None:
    with pytest.raises(TrainError, match="need --at"):
        leads_of(tmp_path, [], option)
    with pytest.raises(TrainError, match="is no date"):
        leads_of(tmp_path, [], "--since", "yesterday")


def test_at_most_so_many_leads_train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leads_of_files, "MOST_LEADS", 120)
    leads, notes = leads_of(tmp_path, [], "--at", "Created", "--horizon", "5", "--until", day(200))
    assert leads.at_ms is not None
    assert len(leads.converted) == 120
    assert np.datetime64(int(leads.at_ms.min()), "ms").astype("datetime64[D]") == np.datetime64(day(40))
    assert "the newest 120 leads train; more are too many for one training" in notes
    undated, notes = leads_of(tmp_path, [])
    assert len(undated.converted) == 120
    assert "a random 120 leads train; more are too many for one training" in notes


def test_the_newest_months_with_one_rate() -> None:
    at = np.repeat(np.arange(0, 360, 10) * DAY + 1_704_067_200_000.0, 100)
    won = (np.arange(len(at)) % 100 < np.where(at < at[len(at) // 2], 40, 10)).astype(float)
    months = month_rates(at, won)
    assert months[0] == {"month": "2024-01", "leads": 400, "converted": 160, "rate": 0.4}
    assert likely_since(months) == "2024-07-01"
    assert likely_since(month_rates(at, (np.arange(len(at)) % 10 == 0).astype(float))) is None
