"""Explains with the Python packages, for the benchmark: `npm run bench -- --only explain-beside-python`.

    python explain_beside.py FOLDER

Trains gradient boosting of 100 and of 500 trees of depth 6 with LightGBM and with XGBoost on generated CRM records.
Writes into FOLDER 1000 rows (`rows.f32`), and for each model its bundle and the values of `shap` by column (`shap.f64`).

Each line of standard input, `{"model", "method", "records", "calls"}`, is answered with `{"cpu_ms"}`: the CPU time of one
call. Everything runs in one thread.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import lightgbm
import numpy as np
import numpy.typing as npt
import shap
import xgboost

from leadscore_export import Category, Featurizer, Number, export_bundle

Rows = npt.NDArray[np.float32]
Explain = Callable[[Rows], npt.NDArray[np.float64]]

TRAINED_ON = 20_000
EXPLAINED = 1_000
NUMBERS = 8
CATEGORIES = 8
VALUES = 9
SIZES = (100, 500)


def features() -> Featurizer:
    """Eight numbers, and eight categories of nine values each: 80 columns of 16 fields."""
    values = [f"value {index}" for index in range(VALUES)]
    return Featurizer(
        [Number(f"Number {index}") for index in range(NUMBERS)]
        + [Category(f"Category {index}", values) for index in range(CATEGORIES)]
    )


def generated(count: int, seed: int) -> tuple[Rows, npt.NDArray[np.float64]]:
    """Feature rows with one number in twelve missing, and the conversion of each lead."""
    random = np.random.default_rng(seed)
    numbers = random.random((count, NUMBERS))
    chosen = random.integers(0, VALUES, (count, CATEGORIES))
    leaning = 3 * numbers[:, 0] * numbers[:, 1] - 2 * (numbers[:, 2] > 0.6) + np.sin(chosen[:, 0]) + chosen[:, 1] / 4 - 2
    converted = random.random(count) < 1 / (1 + np.exp(-leaning))
    numbers[random.random(numbers.shape) < 1 / 12] = np.nan
    one_hot = np.eye(VALUES)[chosen].reshape(count, CATEGORIES * VALUES)
    return np.hstack([numbers, one_hot]).astype(np.float32), converted.astype(float)


def methods_of(model: Any) -> dict[str, Explain]:
    """The trainer's own contributions; `shap` by default, which calls these; and `shap` with its own C code."""
    usual = shap.TreeExplainer(model)
    own = shap.TreeExplainer(model)
    # shap explains models of an unknown type with its own C extension.
    own.model.model_type = "internal"
    return {
        "pred_contrib": _pred_contrib(model),
        "shap": lambda rows: np.asarray(usual.shap_values(rows), dtype=float),
        "shap_own": lambda rows: np.asarray(own.shap_values(rows, check_additivity=False), dtype=float),
    }


def _pred_contrib(model: Any) -> Explain:
    if isinstance(model, lightgbm.LGBMClassifier):
        booster = model.booster_
        return lambda rows: np.asarray(booster.predict(rows, pred_contrib=True, num_threads=1))[:, :-1]
    trained = model.get_booster()
    return lambda rows: np.asarray(trained.predict(xgboost.DMatrix(rows, nthread=1), pred_contribs=True))[:, :-1]


def trained_models(rows: Rows, converted: npt.NDArray[np.float64]) -> dict[str, Any]:
    """Trains the models, by name."""
    models: dict[str, Any] = {}
    for trees in SIZES:
        models[f"lightgbm-{trees}"] = lightgbm.LGBMClassifier(
            n_estimators=trees, max_depth=6, num_leaves=64, min_child_samples=20, n_jobs=1, random_state=1, verbose=-1
        )
        models[f"xgboost-{trees}"] = xgboost.XGBClassifier(n_estimators=trees, max_depth=6, n_jobs=1, random_state=1)
    for model in models.values():
        model.fit(rows, converted)
    return models


def main() -> None:
    """Prepares the models, prints their names, and measures until standard input ends."""
    folder = Path(sys.argv[1])
    trained_on, converted = generated(TRAINED_ON, 1)
    explained, _ = generated(EXPLAINED, 2)
    explained.tofile(folder / "rows.f32")
    methods: dict[str, dict[str, Explain]] = {}
    for name, model in trained_models(trained_on, converted).items():
        # The scores are not measured. The model's own ones are refused, so they are shifted a little.
        shifted = 0.01 + 0.98 * model.predict_proba(trained_on)[:, 1]
        export_bundle(
            model,
            features(),
            folder / name,
            name=name,
            version="1",
            X=trained_on,
            y=converted,
            oof_raw=shifted,
            calibration="identity",
        )
        methods[name] = methods_of(model)
        methods[name]["shap"](explained).tofile(folder / name / "shap.f64")
    versions = {"lightgbm": lightgbm.__version__, "xgboost": xgboost.__version__, "shap": shap.__version__}
    print(json.dumps({"models": list(methods), "versions": versions}), flush=True)
    for line in sys.stdin:
        wanted = json.loads(line)
        explain = methods[wanted["model"]][wanted["method"]]
        rows = explained[: wanted["records"]]
        explain(rows)
        started = time.process_time()
        for _ in range(wanted["calls"]):
            explain(rows)
        print(json.dumps({"cpu_ms": 1000 * (time.process_time() - started) / wanted["calls"]}), flush=True)


if __name__ == "__main__":
    main()
