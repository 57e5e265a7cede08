"""A data scientist's own tuned script, to compare the search of `leadscore_export.train` with.

It draws parameters of LightGBM from wide ranges, some of which the search never changes. Half of the draws
train on the rows of the training, half on the raw table with its texts as categories of pandas. All are
judged on the folds of the training. From scripts/export:

    PYTHONPATH=. python tests/train/tuned_script.py leads.csv.gz --converted=Status
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd

from leadscore_export.scores.training_figures import area_under_curve
from leadscore_export.train.command.options import TrainOptions, parsed_options
from leadscore_export.train.rows.leads import read_leads
from leadscore_export.train.rows.prepare import Prepared, prepare
from leadscore_export.train.search import search_folds, search_parameters

DRAWS, FINALISTS = 30, 10
MOST_TREES, PATIENCE = 1500, 60
# With feature_pre_filter, a data set would keep the first draw's rows a leaf.
OF_DATA = {"feature_pre_filter": False, "verbose": -1}


@dataclass(frozen=True)
class Result:
    """The AUC of the best parameters, the mean of the folds and on the held-out leads; processor seconds."""

    of_folds: float
    held_out: float
    seconds: float
    model: str


@dataclass(frozen=True)
class Compared:
    """The result of the search, and that of the script."""

    searched: Result
    tuned: Result


def compared(file: Path, *options: str, draws: int = DRAWS, finalists: int = FINALISTS) -> Compared:
    """Searches parameters in both ways for the leads of a file, with one thread."""
    parsed = parsed_options([str(file), *options])
    leads = read_leads(parsed, lambda text: None)
    prepared = prepare(
        leads, parsed, note=lambda text: None, say=lambda text, share: None, confirm=lambda ranks: {}
    )
    frame = raw_frame(parsed, list(leads.table.columns), prepared)
    return Compared(searched(prepared), tuned(prepared, frame, draws, finalists))


def searched(prepared: Prepared) -> Result:
    started = time.process_time()
    rows, converted = prepared.rows, prepared.converted
    found = search_parameters(
        rows, converted, prepared.groups, budget_seconds=1e6, say=lambda text, share: None
    ).best
    parameters = found.parameters.lightgbm(1)
    model = lightgbm.LGBMClassifier(n_estimators=found.trees, **parameters).fit(rows, converted)
    held_out = held_out_auc(prepared, model.predict_proba(prepared.held_rows)[:, 1])
    text = f"{found.trees} trees, {found.parameters.text}"
    return Result(found.auc, held_out, time.process_time() - started, text)


def tuned(prepared: Prepared, frame: pd.DataFrame, draws: int, finalists: int) -> Result:
    """Judges all draws on a fifth of the folds, and the best of them on all folds."""
    started = time.process_time()
    split = prepared.split
    tables = {"its rows": (prepared.rows, prepared.held_rows)}
    tables["raw table"] = (frame.iloc[split.trained], frame.iloc[split.held])
    data = {
        name: lightgbm.Dataset(trained, prepared.converted, params=OF_DATA, free_raw_data=False)
        for name, (trained, _) in tables.items()
    }
    folds = search_folds(prepared.converted, prepared.groups)
    drawn = [(list(tables)[index % 2], parameters) for index, parameters in enumerate(draw_parameters(draws))]
    first = [judged(parameters, data[name], folds[: len(folds) // 5])[0] for name, parameters in drawn]
    best = [drawn[index] for index in np.argsort(first)[::-1][:finalists]]
    results = [judged(parameters, data[name], folds) for name, parameters in best]
    (auc, trees), (name, parameters) = max(zip(results, best, strict=True), key=lambda each: each[0])
    model = lightgbm.train({**OF_DATA, **parameters}, data[name], num_boost_round=trees)
    held_out = held_out_auc(prepared, model.predict(tables[name][1]))
    return Result(auc, held_out, time.process_time() - started, f"{name}, {trees} trees, {parameters}")


def draw_parameters(count: int) -> list[dict[str, Any]]:
    draw = np.random.default_rng(0)

    def logarithmic(least: float, most: float) -> float:
        return float(np.exp(draw.uniform(np.log(least), np.log(most))))

    return [
        {
            "objective": "binary",
            "metric": "auc",
            "learning_rate": logarithmic(0.03, 0.15),
            "num_leaves": int(logarithmic(3, 64)),
            "min_data_in_leaf": int(logarithmic(3, 200)),
            "feature_fraction": float(draw.uniform(0.2, 1)),
            "bagging_fraction": float(draw.uniform(0.5, 1)),
            "bagging_freq": 1,
            "lambda_l2": logarithmic(0.01, 100),
            "extra_trees": bool(draw.random() < 0.2),
            "cat_smooth": logarithmic(1, 100),
            "num_threads": 1,
            "force_row_wise": True,
            "seed": 1,
        }
        for _ in range(count)
    ]


def judged(parameters: dict[str, Any], data: lightgbm.Dataset, folds: Sequence[Any]) -> tuple[float, int]:
    """The highest mean AUC of the folds, and the number of trees that has it."""
    found = lightgbm.cv(
        {**OF_DATA, **parameters},
        data,
        num_boost_round=MOST_TREES,
        folds=folds,
        callbacks=[lightgbm.early_stopping(PATIENCE, verbose=False)],
    )
    means = found["valid auc-mean"]
    return float(max(means)), int(np.argmax(means)) + 1


def raw_frame(options: TrainOptions, columns: Sequence[str], prepared: Prepared) -> pd.DataFrame:
    """The table as pandas reads it, without the columns that the training leaves out."""
    frame = pd.read_csv(options.file, sep=None, engine="python")
    frame = frame[[name for name in columns if name not in prepared.left_out]]
    assert len(frame) == len(prepared.split.trained) + len(prepared.split.held)
    texts = [name for name in frame if not pd.api.types.is_numeric_dtype(frame[name])]
    frame = frame.astype(dict.fromkeys(texts, "category"))
    return frame.set_axis([f"f{index}" for index in range(frame.shape[1])], axis=1)


def held_out_auc(prepared: Prepared, scores: Any) -> float:
    return area_under_curve(np.asarray(scores, dtype=float), prepared.held_converted)


if __name__ == "__main__":
    both = compared(Path(sys.argv[1]), *sys.argv[2:])
    print(f"search {both.searched}\nscript {both.tuned}")
