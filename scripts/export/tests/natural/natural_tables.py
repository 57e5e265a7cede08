"""Frames as data scientists train on them: numbers with gaps, categories, texts and truths."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
import pandas as pd
from real_leads import real_leads

SOURCES = ["Website", "Referral", "Partner", "Trade Show", "Event", "Podcast"]


@dataclass(frozen=True)
class Table:
    """A frame of texts and numbers, and 1 for each row that converted."""

    name: str
    frame: pd.DataFrame
    converted: npt.NDArray[np.int64]

    @property
    def halves(self) -> tuple[slice, slice]:
        """Rows to train on, and unseen ones."""
        count = len(self.frame) * 4 // 5
        return slice(0, count), slice(count, None)


@cache
def made_up(count: int = 1500, seed: int = 0) -> Table:
    """Leads with decimals, gaps, a rare source, a numeric category and a truth."""
    draw = np.random.default_rng(seed)
    revenue = np.round(draw.lognormal(10, 1, count), 2)
    rate = np.round(draw.random(count), 2)
    source = draw.choice(SOURCES, count, p=[0.4, 0.2, 0.2, 0.1, 0.09, 0.01]).astype(object)
    level = draw.choice(["Staff", "Manager", "VP"], count).astype(object)
    region = draw.integers(1, 6, count)
    demo = draw.random(count) < 0.3
    strength = 1.5 * (source == "Referral") + (level == "VP") + 2 * rate + 1.2 * demo + 0.3 * (region == 3)
    converted = (strength + draw.logistic(size=count) > 3.5).astype(np.int64)
    revenue[draw.random(count) < 0.1] = np.nan
    rate[draw.random(count) < 0.05] = np.nan
    source[draw.random(count) < 0.08] = np.nan
    frame = pd.DataFrame(
        {
            "Annual Revenue": revenue,
            "Click Rate": rate,
            "Lead Source": source,
            "Seniority": level,
            "Region": region,
            "Asked For Demo": demo,
        }
    )
    return Table("made up", frame, converted)


REAL: dict[str, tuple[str, str, object, list[str]]] = {
    "x-education-leads": (",", "Converted", 1, ["Prospect ID", "Lead Number", "Tags", "Lead Quality"]),
    "bank-full": (";", "y", "yes", ["duration"]),
    "salvirt-b2b": (";", "Status", "Won", []),
}


def real_table(name: str, count: int) -> Table:
    """A table of `REAL`, shuffled. Leaves out the test if it is not there."""
    separator, outcome, won, left_out = REAL[name]
    frame = pd.read_csv(real_leads(name), sep=separator).sample(frac=1, random_state=0)[:count]
    converted = (frame.pop(outcome) == won).to_numpy().astype(np.int64)
    frame = frame.drop(columns=left_out).replace("google", "Google").reset_index(drop=True)
    return Table(name, frame.loc[:, frame.nunique() > 1], converted)


def with_categories(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with its texts as category columns."""
    texts = [name for name in frame if frame[name].dtype.kind not in "iufb"]
    return frame.astype(dict.fromkeys(texts, "category"))
