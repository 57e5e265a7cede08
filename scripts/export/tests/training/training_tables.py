"""Made-up training tables: untidy leads as in a CRM, and two columns of numbers."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from leadscore_export import (
    Boolean,
    Category,
    Date,
    ExportError,
    Featurizer,
    Multi,
    Number,
    export_bundle,
)

NOW = datetime(2026, 11, 20, tzinfo=timezone.utc)


SOURCES = ["Website", "Referral", "Partner", "Trade Show"]


LEVELS = ["Staff", "Manager", "Director", "VP"]


PRODUCTS = ["Analytics", "Routing", "Sync"]

DRAW = np.random.default_rng(5)
X = DRAW.normal(size=(300, 2)).astype(np.float32)
Y = (X[:, 0] + DRAW.normal(size=300) > 0).astype(int)
FEATURES = [Number("a", impute=0), Number("b", impute=0)]
FOREST = RandomForestClassifier(3, min_samples_leaf=9, random_state=0).fit(X, Y)
LINE = LogisticRegression().fit(X, Y)


@dataclass(frozen=True)
class Leads:
    """Records, whether each converted, and the rows that the features make of them."""

    records: list[dict[str, Any]]
    converted: npt.NDArray[np.int64]
    featurizer: Featurizer
    rows: npt.NDArray[np.float32]


@cache
def leads(*, takes_nan: bool, count: int = 600, seed: int = 7) -> Leads:
    """Leads for a model that takes NaN, or for one that does not."""
    draw = random.Random(seed)
    pairs = [_lead(draw) for _ in range(count)]
    featurizer = lead_featurizer(takes_nan=takes_nan)
    records = [record for record, _ in pairs]
    rows = featurizer.rows(records, NOW).astype(np.float32)
    return Leads(records, np.array([converted for _, converted in pairs]), featurizer, rows)


def lead_featurizer(*, takes_nan: bool) -> Featurizer:
    """One feature of each type, with the options of each encoding."""
    revenue: dict[str, Any] = {} if takes_nan else {"impute": 50_000, "missing_column": True}
    visits: dict[str, Any] = {} if takes_nan else {"impute": 2}
    return Featurizer(
        [
            Category(
                "Lead Source",
                SOURCES,
                aliases=["source"],
                category_aliases={"Web": "Website"},
                other_column=True,
                missing_column=True,
            ),
            Category("Seniority", LEVELS, encoding="ordinal", other_value=-1, impute=1),
            Number("Annual Revenue", aliases=["revenue"], **revenue),
            Number("Visits", **visits),
            Boolean("Asked For Demo", impute=0, missing_column=True),
            Date("Last Activity", date_order="mdy", impute=45),
            Multi("Products", PRODUCTS),
        ],
        missing_tokens=["unknown"],
    )


def _lead(draw: random.Random) -> tuple[dict[str, Any], int]:
    source, level = draw.choice([*SOURCES, "Web", "Podcast"]), draw.choice(LEVELS)
    revenue, visits = round(draw.lognormvariate(11, 1)), draw.randrange(12)
    demo, age = draw.random() < 0.3, draw.uniform(0, 90)
    products = draw.sample(PRODUCTS, draw.randrange(3))
    strength = (
        1.2 * (source == "Referral") + 0.4 * LEVELS.index(level) + 0.15 * visits + 1.5 * demo - age / 45
    )
    converted = int(strength + 0.5 * len(products) + draw.gauss(0, 1) > 2.2)
    at = NOW - timedelta(days=age)
    record = {
        "Lead Source": source,
        "Seniority": draw.choice([level, level.upper(), "Intern"]) if draw.random() < 0.2 else level,
        "Annual Revenue": draw.choice([revenue, f"${revenue:,}", f"{revenue / 1000:.1f}k"]),
        "Visits": visits,
        "Asked For Demo": draw.choice([demo, "Yes" if demo else "No"]),
        "Last Activity": draw.choice([at.isoformat(), f"{at.month}/{at.day}/{at.year}"]),
        "Products": ";".join(products),
        "Owner": "u_17",
    }
    for field in list(record):
        if draw.random() < 0.06:
            record[field] = draw.choice([None, "", "N/A", "unknown"])
    return record, converted


def refused(model: Any, advice: str, **changes: Any) -> None:
    """Asserts that an export of two columns raises ExportError and writes nothing."""
    given: dict[str, Any] = {"X": X, "y": Y, "oof_raw": np.full(300, 0.5), **changes}
    features = given.pop("features", FEATURES)
    with pytest.raises(ExportError, match=advice):
        export_bundle(model, features, "never-written", name="n", version="1", **given)
    assert not Path("never-written").exists()
