"""Models of frames and pipelines: each bundle scores raw records exactly as the model scores the frame.

The second table of docs/models.md is the result. If the test fails, it prints the right table.
"""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from model_check import model_check
from natural_tables import REAL, Table, made_up, real_table
from natural_ways import NATURAL_WAYS, Natural
from training_kinds import KINDS

from leadscore_export import ExportError, Featurizer, OnnxFile, export_bundle, out_of_fold
from leadscore_export.convert.convert_model import convert_model
from leadscore_export.scores.serving_figures import conversion_likelihood, is_steady

DOCUMENT = Path(__file__).parents[4] / "docs" / "models.md"
BEGIN, END = "<!-- made by test_natural_models.py -->\n", "<!-- end -->"
TOLERANCE = 1e-6  # of raw


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def exported(natural: Natural, table: Table, folder: Path, **more: Any) -> None:
    """Exports a model, and compares the bundle's scores of unseen records with the model's own."""
    rows, unseen = table.halves
    frame = natural.frame
    export_bundle(
        natural.model,
        Featurizer.from_frame(frame[rows]),
        folder,
        name="n",
        version="1",
        X=frame[rows],
        y=natural.labels[rows],
        golden_records=frame[unseen][:150],
        **natural.more,
        **more,
    )
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    positive = list(natural.model.classes_).index(_won(natural, table))
    compare(manifest, folder, frame[unseen], natural.model.predict_proba(frame[unseen])[:, positive])


def compare(manifest: Any, folder: Path, records: Any, own: npt.NDArray[Any]) -> None:
    """Asserts that a bundle answers records as the trainer does."""
    raw = served(manifest, folder, records)
    np.testing.assert_allclose(raw, own, rtol=0, atol=TOLERANCE)
    calibration = manifest["calibration"]
    steady = [is_steady(value, manifest["quantiles"], calibration) for value in raw.tolist()]
    assert np.mean(steady) > 0.5
    for ours, theirs in zip(raw[steady].tolist(), own[steady].tolist(), strict=True):
        assert conversion_likelihood(ours, calibration) == conversion_likelihood(theirs, calibration)


def served(manifest: Any, folder: Path, records: Any) -> npt.NDArray[Any]:
    """The raw probabilities that the service gives records."""
    reference = manifest["onnx"]
    file = OnnxFile(
        folder / "model.onnx",
        output=reference["output"],
        positive_class=reference["positive_class"],
        kind=reference["kind"],
    )
    rows = Featurizer.from_manifest(manifest).rows(records)
    return convert_model(file, manifest["width"]).raw(rows.astype(np.float32))


def _won(natural: Natural, table: Table) -> Any:
    return natural.labels[int(np.argmax(table.converted))]


def outcome_of(way: str, kind: str, folder: Path) -> str:
    """ "exported", "refused" with advice, or "-" if the kind cannot be trained so."""
    natural = NATURAL_WAYS[way](kind, made_up())
    if natural is None:
        return "-"
    try:
        rows, _ = made_up().halves
        frame, labels = natural.frame[rows], natural.labels[rows]
        # Two copies instead of five: there are many models.
        raw = out_of_fold(natural.model, frame, labels, folds=2, **natural.more)
        exported(natural, made_up(), folder, oof_raw=raw)
    except ExportError as refusal:
        assert "give it plain numbers" in str(refusal), (way, kind, refusal)
        return "refused"
    return "exported"


def test_the_table_of_the_docs_is_right_and_model_check_passes_each_bundle(tmp_path: Path) -> None:
    outcomes = {
        way: {kind: outcome_of(way, kind, tmp_path / f"{number}-{index}") for index, kind in enumerate(KINDS)}
        for number, way in enumerate(NATURAL_WAYS)
    }
    table = f"| trained on | {' | '.join(KINDS)} |\n|{'---|' * (len(KINDS) + 1)}\n" + "".join(
        f"| {way} | {' | '.join(found[kind] for kind in KINDS)} |\n" for way, found in outcomes.items()
    )
    written = DOCUMENT.read_text(encoding="utf-8")
    found = re.search(f"{re.escape(BEGIN)}(.*?){re.escape(END)}", written, re.DOTALL)
    assert found is not None and found[1] == table, f"write this into {DOCUMENT.name}:\n{BEGIN}{table}{END}"
    check_with_the_service(sorted(tmp_path.iterdir()))


def check_with_the_service(bundles: list[Path]) -> None:
    for bundle in model_check(bundles):
        assert (bundle["passed"], bundle.get("problem")) == (True, None)
        assert bundle["golden"]["records"] > 50 and bundle["golden"]["differences"] == []


@pytest.mark.parametrize("name", ["made up", *REAL])
@pytest.mark.parametrize("kind", ["LightGBM", "XGBoost", "HistGradientBoosting", "logistic regression"])
def test_bundles_score_exactly(kind: str, name: str, tmp_path: Path) -> None:
    way = "a Pipeline: imputers, one-hot encoders, scalers"
    if kind in ("LightGBM", "XGBoost"):
        way = "a frame with category columns and gaps"
    table = made_up() if name == "made up" else real_table(name, 2500)
    natural = NATURAL_WAYS[way](kind, table)
    assert natural is not None
    exported(natural, table, tmp_path / "bundle")
