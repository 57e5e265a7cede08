"""What an export refuses, and that it says what to do instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import catboost
import lightgbm
import numpy as np
import onnx
import pytest
import xgboost
from lead_table import NOW, leads
from onnx import TensorProto, helper
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from leadscore_export import Category, ExportError, Featurizer, Number, OnnxFile, export_bundle
from leadscore_export.convert.convert_model import convert_model
from leadscore_export.scores.out_of_fold import out_of_fold

DRAW = np.random.default_rng(5)
X = DRAW.normal(size=(300, 2)).astype(np.float32)
Y = (X[:, 0] + DRAW.normal(size=300) > 0).astype(int)
FEATURES = [Number("a", impute=0), Number("b", impute=0)]
FOREST = RandomForestClassifier(3, min_samples_leaf=9, random_state=0).fit(X, Y)


def refused(model: Any, advice: str, **changes: Any) -> None:
    given: dict[str, Any] = {"X": X, "y": Y, "oof_raw": np.full(300, 0.5), **changes}
    features = given.pop("features", FEATURES)
    with pytest.raises(ExportError, match=advice):
        export_bundle(model, features, "never-written", name="n", version="1", **given)
    assert not Path("never-written").exists()


def test_rows_that_do_not_fit() -> None:
    refused(FOREST, r"Featurizer\(features\).rows", X=X[:, :1])
    refused(FOREST, "y has the shape", y=Y[:5])
    refused(FOREST, "1 for a lead that converted", y=Y * 2)
    refused(FOREST, "one class only", y=Y * 0)
    refused(FOREST, "infinite", X=np.where(X > 2, np.inf, X))
    refused(FOREST, "features fill 3", X=np.zeros((300, 3)), features=[*FEATURES, Number("c")])


def test_out_of_fold_scores_that_do_not_fit() -> None:
    refused(FOREST, "one probability for each", oof_raw=[0.5])
    refused(FOREST, "0 to 1, before any calibration", oof_raw=np.full(300, 3.0))
    refused(FOREST, "tells no lead from another", oof_raw=np.full(300, 0.5), calibration="isotonic")


def test_a_model_that_cannot_be_trained_again() -> None:
    booster = lightgbm.train({"objective": "binary", "verbosity": -1}, lightgbm.Dataset(X, Y), 3)
    with pytest.raises(ExportError, match="lightgbm Booster cannot be trained again from here; give oof_raw"):
        out_of_fold(booster, X, Y)
    with pytest.raises(ExportError, match="give oof_raw"):
        out_of_fold(xgboost.XGBClassifier(early_stopping_rounds=2), X, Y)


def test_values_that_may_be_missing_and_never_were() -> None:
    refused(
        FOREST,
        r'"a" is NaN at scoring .* give it impute=-?[\d.]+ \(its median',
        features=[Number("a"), FEATURES[1]],
    )
    level = Category("a", ["x", "y"], encoding="ordinal", impute=0)
    refused(FOREST, "give it other_value=-1 and impute=", features=[level, FEATURES[1]])


def test_models_that_are_no_probability_of_two_classes() -> None:
    three = RandomForestClassifier(3).fit(X, np.arange(300) % 3)
    refused(three, "train it on 0 and 1")
    refused(RandomForestClassifier(3).fit(X, np.where(Y, "won", "lost")), "train it on 0 and 1")
    refused(LinearRegression().fit(X, Y), "no probabilities")
    refused(LinearSVC().fit(X, Y), "no probabilities")
    refused(object(), r"convert it to ONNX and give OnnxFile\(path\)")


def test_settings_of_trainers_that_onnx_cannot_express() -> None:
    refused(
        lightgbm.train({"objective": "regression", "verbosity": -1}, lightgbm.Dataset(X, Y), 2),
        'comes from "binary"',
    )
    zero = {"objective": "binary", "zero_as_missing": True, "verbosity": -1}
    refused(lightgbm.train(zero, lightgbm.Dataset(np.where(X < 0, 0, X), Y), 3), "train without it")
    refused(xgboost.XGBClassifier(booster="gblinear", n_estimators=2).fit(X, Y), 'train with "gbtree"')
    refused(xgboost.XGBClassifier(missing=-1, n_estimators=2).fit(X, Y), "train with NaN")
    sets = HistGradientBoostingClassifier(max_iter=2, categorical_features=[1]).fit(np.round(np.abs(X)), Y)
    refused(sets, "in another order")
    texts = [[str(a > 0), float(b)] for a, b in X]
    by_text = catboost.CatBoostClassifier(
        iterations=2, verbose=0, cat_features=[0], allow_writing_files=False
    )
    refused(by_text.fit(texts, Y), "plain numbers")
    refused(make_pipeline(StandardScaler(), FOREST).fit(X, Y), "trees need no scaler")


def test_inputs_too_large_for_float32() -> None:
    rows = np.column_stack([1e9 + X[:, 0].astype(np.float64), X[:, 1]])
    model = LogisticRegression().fit(rows - [1e9, 0], Y)
    model.intercept_ = model.intercept_ - model.coef_[0, 0] * 1e9
    refused(model, "Scale large inputs", X=rows)


def test_recency_of_a_field_that_is_no_date() -> None:
    refused(FOREST, r'recency=\{"field"', recency="a")


def test_golden_records_that_the_service_would_refuse(tmp_path: Path) -> None:
    data = leads(takes_nan=False)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(data.rows, data.converted)
    with pytest.raises(ExportError, match=r"golden_records: record 2: .*leave it out"):
        export_bundle(
            model, data.featurizer, tmp_path / "b",
            name="n", version="1", X=data.rows, y=data.converted, oof_raw=np.linspace(0.1, 0.9, len(data.rows)),
            golden_records=[data.records[0], {"Visits": [1, 2]}], now=NOW, calibration="identity",
        )  # fmt: skip


def test_onnx_files_that_cannot_serve(tmp_path: Path) -> None:
    def file(
        nodes: list[Any], outputs: list[Any], kind: int = TensorProto.FLOAT, version: int = 8
    ) -> OnnxFile:
        inputs = [helper.make_tensor_value_info("x", kind, [None, 2])]
        graph = helper.make_graph(nodes, "g", inputs, outputs)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=version)
        onnx.save(model, tmp_path / "m.onnx")
        return OnnxFile(tmp_path / "m.onnx")

    def tensor(name: str) -> Any:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, 2])

    copy = [helper.make_node("Identity", ["x"], ["p"]), helper.make_node("Identity", ["x"], ["q"])]
    refused(file(copy, [tensor("p"), tensor("q")]), "output=")
    refused(file(copy[:1], [tensor("p")]), 'kind="logit"')
    refused(file(copy[:1], [tensor("p")], TensorProto.DOUBLE), "FloatTensorType")
    refused(file(copy[:1], [tensor("p")], version=99), "ONNX Runtime does not run it")
    (tmp_path / "text.onnx").write_text("no model")
    refused(tmp_path / "text.onnx", "cannot be read as ONNX")
    with pytest.raises(ExportError, match="has no float32 output"):
        convert_model(OnnxFile(file(copy[:1], [tensor("p")]).path, output="z"), 2)


def test_the_names_of_columns_help_to_find_a_mismatch() -> None:
    featurizer = Featurizer([Category("c", ["x", "y"], other_column=True), *FEATURES])
    rows = np.zeros((300, 5))
    refused(FOREST, "c = x, c = y, c is another, a, b", X=rows, features=featurizer)
