"""Refusals of a conversion name the remedy, and a failure of a library becomes an ExportError with advice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import catboost
import lightgbm
import numpy as np
import onnx
import pytest
import xgboost
from onnx import TensorProto, helper
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from training_tables import FEATURES, LINE, X, Y, refused

from leadscore_export import Category, Featurizer, Number, OnnxFile, export_bundle
from leadscore_export.convert.convert_model import convert_model

BOOSTED: dict[str, Any] = {
    "lightgbm": lightgbm.LGBMClassifier(n_estimators=3, verbose=-1, n_jobs=1),
    "xgboost": xgboost.XGBClassifier(n_estimators=3, n_jobs=1),
    "catboost": catboost.CatBoostClassifier(iterations=3, verbose=0, allow_writing_files=False),
    "histogram": HistGradientBoostingClassifier(max_iter=3),
}


@pytest.mark.parametrize("name", BOOSTED)
def test_trees_need_no_scaler(name: str, tmp_path: Path) -> None:
    scaled = make_pipeline(StandardScaler(), BOOSTED[name]).fit(X, Y)
    refused(scaled, "trees need no scaler: train the last step of the pipeline alone.* give that step alone")
    alone = make_pipeline("passthrough", BOOSTED[name]).fit(X, Y)
    np.testing.assert_allclose(convert_model(alone, 2).raw(X), alone.predict_proba(X)[:, 1], atol=2e-6)
    report = export_bundle(alone, FEATURES, tmp_path, name="n", version="1", X=X, y=Y)
    assert report.contributions == "exact (trees)"


def onnx_file(
    folder: Path,
    operator: str = "Sigmoid",
    kind: int = TensorProto.FLOAT,
    output_kind: int = TensorProto.FLOAT,
    **more: Any,
) -> OnnxFile:
    node = helper.make_node(operator, ["x"], ["p"])
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", kind, more.pop("shape", [None, 2]))],
        [helper.make_tensor_value_info("p", output_kind, [None, 2])],
    )
    opsets = [helper.make_opsetid("", 15)]
    model = helper.make_model(graph, opset_imports=opsets, **{"ir_version": 8, **more})
    onnx.save(model, folder / "m.onnx")
    return OnnxFile(folder / "m.onnx")


def test_refusals_of_onnx_files_name_the_remedy(tmp_path: Path) -> None:
    for changes, advice in (
        ({"kind": TensorProto.DOUBLE}, r"with float tensors: a FloatTensorType .*model.float\(\)"),
        ({"output_kind": TensorProto.DOUBLE}, "no float32 output; convert it with float tensors"),
        ({"ir_version": 99}, r"does not run the model \(.*IR version.* model.ir_version = 10"),
        (
            {"shape": [1, 2]},
            r"does not run 64 rows in one call \(.*; convert the model with an open first dimension",
        ),
    ):
        refused(onnx_file(tmp_path, **changes), advice)
    for operator in ("DynamicQuantizeLinear", "QLinearMatMul", "MatMulInteger", "DequantizeLinear"):
        refused(
            onnx_file(tmp_path, operator),
            rf'quantised \(operator "{operator}"\), which the service refuses; do not quantise it',
        )


@pytest.mark.parametrize("name", ["lightgbm", "xgboost"])
def test_the_impute_of_a_category_must_be_whole(name: str) -> None:
    rows = np.round(np.abs(X) * 3)
    rows[:30, 1] = 1.5
    level = Category("b", list("uvwxyz"), encoding="ordinal", other_value=-1, impute=1.5)
    if name == "lightgbm":
        options = {"min_data_per_group": 5, "cat_smooth": 1}
        model = lightgbm.LGBMClassifier(n_estimators=5, verbose=-1, n_jobs=1, **options)
        model.fit(rows, Y, categorical_feature=[1])
    else:
        model = xgboost.XGBClassifier(
            n_estimators=5, feature_types=["q", "c"], enable_categorical=True, n_jobs=1
        )
        model.fit(np.floor(rows), Y)
    refused(
        model,
        '"b" holds 1.5 in X, but the trees .*: the impute of a category must be whole',
        X=rows,
        features=Featurizer([Number("a", impute=0), level]),
    )


class Broken(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that fails outside training."""

    classes_ = np.array([0, 1])

    def fit(self, rows: Any, converted: Any) -> Broken:
        return self

    def predict_proba(self, rows: Any) -> Any:
        raise RuntimeError("no rows\nof this kind")


def test_every_failure_of_a_library_becomes_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    boosted = BOOSTED["lightgbm"].fit(X, Y)
    monkeypatch.setattr(
        lightgbm.Booster, "dump_model", lambda self: {"objective": "binary", "tree_info": [{}]}
    )
    refused(boosted, r"LGBMClassifier could not be converted \('tree_structure'\); convert it to ONNX")
    monkeypatch.undo()
    monkeypatch.setattr(LogisticRegression, "predict_proba", Broken.predict_proba)
    refused(LINE, r"own predict fails on the rows \(no rows of this kind\); give X as Featurizer.rows")
    monkeypatch.undo()
    refused(LINE, "could not be split into folds .*; give groups=", oof_raw=None, groups=np.zeros(5))
    refused(LINE, "could not be split into folds .*; give groups=", oof_raw=None, groups=np.arange(300) % 3)
    refused(LINE, "oof_raw is no list of numbers .*; give one probability", oof_raw=["high"] * 300)
    refused(Broken(), r"could not convert Broken \(.* give OnnxFile")
