"""Trains each kind of model on synthetic leads, and writes its bundle with new leads whose true rate is known.

    python train_every_kind.py FOLDER

FOLDER gets `bundles/KIND` for each kind, and `leads.json`: {"records": [...], "rates": [...]}, a new lead and the
probability with which it converts.
"""

from __future__ import annotations

import json
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import catboost
import lightgbm
import numpy as np
import xgboost
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from leadscore_export import Boolean, Category, Date, Featurizer, Number, export_bundle

PAST, NEW = 3000, 300
SOURCES = ["Website", "Referral", "Trade Show"]
FEATURES = Featurizer(
    [
        Category("Lead Source", SOURCES, other_column=True, missing_column=True),
        Number("Employees", impute=50, missing_column=True),
        Number("Visits", impute=2),
        Boolean("Asked For Demo", impute=0),
        Date("Last Activity", impute=45),
    ]
)


def leads(count: int, seed: int, now: datetime) -> tuple[list[dict[str, Any]], np.ndarray]:
    """Untidy records, and the probability with which each converts."""
    draw = np.random.default_rng(seed)
    source = draw.choice([*SOURCES, "Podcast"], count)
    employees = np.round(draw.lognormal(4, 1.2, count))
    visits = draw.integers(0, 12, count)
    demo = draw.random(count) < 0.25
    age = draw.uniform(0, 90, count)
    strength = (
        -3.6 + 1.2 * (source == "Referral") + 0.35 * np.log(employees / 50) + 0.16 * visits + 1.3 * demo - age / 60
    )
    records = [
        {
            "Lead Source": str(source[row]).upper() if row % 5 == 0 else str(source[row]),
            "employees": f"{employees[row]:,.0f}" if row % 2 else employees[row],
            "Visits": f"{visits[row]}.0" if row % 3 == 0 else int(visits[row]),
            "Asked For Demo": ("1.0" if demo[row] else "0.0") if row % 4 == 0 else bool(demo[row]),
            "Last Activity": (now - timedelta(days=float(age[row]))).isoformat(),
        }
        for row in range(count)
    ]
    for record in records:
        for field in record:
            if draw.random() < 0.05:
                record[field] = draw.choice(["", "N/A", "nan"]).item()
    return records, 1 / (1 + np.exp(-strength))


def models() -> dict[str, Any]:
    """An untrained model of each kind."""
    light = {"n_estimators": 60, "num_leaves": 8, "verbose": -1, "n_jobs": 1}
    boosted = {"n_estimators": 60, "max_depth": 3, "learning_rate": 0.1, "n_jobs": 1}
    return {
        "logistic regression": make_pipeline(StandardScaler(), LogisticRegression()),
        "random forest": RandomForestClassifier(60, min_samples_leaf=10, random_state=0),
        "histogram boosting": HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=8),
        "LightGBM": lightgbm.LGBMClassifier(**light),
        "LightGBM with class weights": lightgbm.LGBMClassifier(class_weight="balanced", **light),
        "XGBoost": xgboost.XGBClassifier(**boosted),
        "XGBoost dart": xgboost.XGBClassifier(booster="dart", rate_drop=0.1, **boosted),
        "CatBoost": catboost.CatBoostClassifier(
            iterations=80, depth=4, thread_count=1, verbose=0, allow_writing_files=False
        ),
        "network": make_pipeline(
            StandardScaler(), MLPClassifier((6,), max_iter=60, learning_rate_init=0.01, random_state=0)
        ),
        "calibrated wrapper": CalibratedClassifierCV(LogisticRegression(max_iter=1000), cv=3),
    }


def main(folder: Path) -> None:
    now = datetime.now(timezone.utc)
    records, rates = leads(PAST, 1, now)
    converted = (np.random.default_rng(2).random(PAST) < rates).astype(int)
    rows = FEATURES.rows(records, now).astype(np.float32)
    for kind, model in models().items():
        report = export_bundle(
            model.fit(rows, converted),
            FEATURES,
            folder / "bundles" / kind,
            name=kind,
            version="1",
            X=rows,
            y=converted,
            golden_records=records[:100],
            now=now,
        )
        print(kind, report)
    new, true_rates = leads(NEW, 3, now)
    text = json.dumps({"records": new, "rates": true_rates.tolist()})
    (folder / "leads.json").write_text(text, encoding="utf-8")


main(Path(sys.argv[1]))
