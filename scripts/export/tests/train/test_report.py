"""The report of a training: one file without scripts or requests, and right figures."""

from __future__ import annotations

import re
from datetime import date, timedelta

import numpy as np
import pytest
from past_leads import FAST, WORDS, past_leads, trained, written

from leadscore_export.train.report.charts import bar_chart, line_chart
from leadscore_export.train.report.figures import score_bands, wilson
from leadscore_export.train.report.page import table

HOSTILE = '<script>alert("1")</script>'


@pytest.fixture(scope="module")
def run_and_page(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, object], str]:
    folder = tmp_path_factory.mktemp("report")

    def created(row: int, _won: bool) -> object:
        return (date(2025, 1, 1) + timedelta(days=row // 3)).isoformat()

    leads = past_leads(800, Created=created, **{f"{HOSTILE}_field": lambda row, won: f"{HOSTILE} {row % 3}"})
    file = written(folder / "leads.csv", leads)
    dated = ("--at", "Created", "--until", "2026-06-01", "--id", "Lead Id", "--name", f"Score {HOSTILE}")
    run = trained(file, "--converted", "Stage", *WORDS, *FAST, *dated, "--out", folder / "model")
    return run.training, (folder / "model" / "report.html").read_text(encoding="utf-8")


def test_the_page_needs_nothing_else(run_and_page: tuple[dict[str, object], str]) -> None:
    _, page = run_and_page
    assert len(page.encode()) < 300_000
    assert "default-src 'none'; style-src 'unsafe-inline'" in page
    assert not re.search(r"<(script|link|img|iframe|object|a)\b|\bon\w+=|https?://|url\(", page)
    assert "&lt;script&gt;" in page
    assert page.count("<section>") == page.count("</section>") == 6
    assert 'name="viewport"' in page


def test_the_page_names_no_lead(run_and_page: tuple[dict[str, object], str]) -> None:
    _, page = run_and_page
    assert "00Q" not in page
    assert "comment " not in page


def test_the_page_has_the_figures(run_and_page: tuple[dict[str, object], str]) -> None:
    training, page = run_and_page
    assert isinstance(training["auc"], dict)
    assert f"<b>{training['auc']['held_out']['value']:.3f}</b>" in page
    assert "it identifies leads (--id)" in page
    for title in ("Gain", "Conversion by score", "Calibration", "Conversion by month"):
        assert f'aria-label="{title}"' in page
    assert "--converted Stage" in page
    assert "--json-lines" not in page
    assert len(re.findall(r"<td[^>]*>✓ ", page)) == 1
    examples = page[page.index("<h3>Examples</h3>") :]
    assert len(re.findall(r"<tr>", examples[: examples.index("</table>")])) == 11


def test_wilson() -> None:
    low, high = wilson(8, 10)
    assert (round(low, 3), round(high, 3)) == (0.49, 0.943)
    assert wilson(0, 0) == (0, 1)
    assert wilson(0, 50)[0] == 0
    assert wilson(50, 50)[1] == 1


def test_score_bands() -> None:
    bands = score_bands(np.array([0, 19, 20, 79, 80, 100]), np.array([1.0, 0, 1, 0, 1, 1]))
    assert [(band.name, band.leads, band.converted) for band in bands] == [
        ("0 to 19", 2, 1),
        ("20 to 39", 1, 1),
        ("40 to 59", 0, 0),
        ("60 to 79", 1, 0),
        ("80 to 100", 2, 2),
    ]


def test_long_tables_and_cells_are_cut() -> None:
    html = table(["Column", "Rows "], [("x" * 500, index) for index in range(5000)])
    assert len(html) < 60_000
    assert "and 4,800 more" in html


def test_charts_stay_in_their_frame() -> None:
    chart = line_chart("a & b", [(0, 0), (2, 5)], x_title="x", y_title="<y>", largest=(1, 1))
    assert "a &amp; b" in chart
    assert "&lt;y&gt;" in chart
    bars = bar_chart(
        "bars", [("0 to 19", 0.0, 0.0, 1.0), ("20 to 39", 0.5, 0.2, 0.9)], x_title="", y_title=""
    )
    assert re.findall(r">([\d.]+%)<", bars) == ["0%", "23%", "46%", "69%", "92%"]
    low = line_chart("low", [(0.01, 0.021)], x_title="", y_title="", largest=(0.02, 0.021))
    assert re.findall(r">([\d.]+%)<", low)[:5] == ["0.0%", "0.6%", "1.2%", "1.8%", "2.4%"]
    numbers = [float(number) for number in re.findall(r'[xy][12]?="([-\d.]+)"', chart + bars)]
    assert min(numbers) >= 0
    assert max(numbers) <= 640
