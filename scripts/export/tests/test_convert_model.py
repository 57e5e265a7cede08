"""Models that the exporter refuses to convert, and its advice."""

from __future__ import annotations

import os
import subprocess
import sys
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
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from training_tables import FEATURES, FOREST, X, Y, refused

from leadscore_export import (
    Category,
    ExportError,
    Featurizer,
    OnnxFile,
    export_bundle,
)
from leadscore_export.convert.convert_model import convert_model


def not_converted(model: Any, advice: str) -> None:
    with pytest.raises(ExportError, match=advice):
        convert_model(model, 2)


def test_refuses_a_hyperparameter_search() -> None:
    not_converted(GridSearchCV(LogisticRegression(), {"C": [1]}, cv=2).fit(X, Y), "give .best_estimator_")


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        RandomForestClassifier(),
        lightgbm.LGBMClassifier(),
        xgboost.XGBClassifier(),
        catboost.CatBoostClassifier(),
    ],
)
def test_refuses_an_untrained_model(model: Any) -> None:
    not_converted(model, "is not trained yet; call fit")


class OfOurOwn(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that no converter knows, so that skl2onnx fails with a long error."""

    classes_ = np.array([0, 1])

    def fit(self, rows: Any, converted: Any) -> OfOurOwn:
        return self

    def predict_proba(self, rows: Any) -> Any:
        return np.full((len(rows), 2), 0.5)


def test_shortens_errors_of_skl2onnx() -> None:
    with pytest.raises(ExportError, match="could not convert OfOurOwn") as caught:
        convert_model(OfOurOwn(), 2)
    assert len(str(caught.value)) < 500 and "\n" not in str(caught.value)


def test_refuses_a_model_with_an_operator_that_the_service_refuses() -> None:
    not_converted(
        KNeighborsClassifier(5).fit(X, Y),
        'needs the operator "Scan", which the service refuses; train another',
    )


def test_recommends_the_classifier_inside_calibrated_classifier_cv(tmp_path: Path) -> None:
    boosted = lightgbm.LGBMClassifier(n_estimators=3, verbose=-1, n_jobs=1)
    not_converted(
        CalibratedClassifierCV(boosted, cv=2).fit(X, Y), "export the classifier inside .*calibrates by itself"
    )
    model = CalibratedClassifierCV(LogisticRegression(), cv=2).fit(X, Y)
    report = export_bundle(model, FEATURES, tmp_path, name="n", version="1", X=X, y=Y)
    assert any("export the classifier inside" in note for note in report.notes)


def test_refuses_models_without_a_probability_of_two_classes() -> None:
    three = RandomForestClassifier(3).fit(X, np.arange(300) % 3)
    refused(three, "train it on 0 and 1")
    refused(RandomForestClassifier(3).fit(X, np.where(Y, "hot", "cold")), "train it on 0 and 1, .* positive=")
    refused(LinearRegression().fit(X, Y), "no probabilities")
    refused(LinearSVC().fit(X, Y), "no probabilities")
    refused(object(), r"convert it to ONNX and give OnnxFile\(path\)")


def test_refuses_trainer_settings_that_onnx_cannot_express() -> None:
    refused(
        lightgbm.train({"objective": "regression", "verbosity": -1}, lightgbm.Dataset(X, Y), 2),
        'gives no probability; train with "binary"',
    )
    zero = {"objective": "binary", "zero_as_missing": True, "verbosity": -1}
    refused(lightgbm.train(zero, lightgbm.Dataset(np.where(X < 0, 0, X), Y), 3), "train without it")
    refused(xgboost.XGBClassifier(booster="gblinear", n_estimators=2).fit(X, Y), 'train with "gbtree"')
    refused(xgboost.XGBClassifier(missing=-1, n_estimators=2).fit(X, Y), "train with NaN")
    sets = HistGradientBoostingClassifier(max_iter=2, categorical_features=[1]).fit(np.round(np.abs(X)), Y)
    refused(sets, "whose columns it reorders")
    texts = [[str(a > 0), float(b)] for a, b in X]
    by_text = catboost.CatBoostClassifier(
        iterations=2, verbose=0, cat_features=[0], allow_writing_files=False
    )
    refused(by_text.fit(texts, Y), "as numbers")
    refused(make_pipeline(StandardScaler(), FOREST).fit(X, Y), "trees need no scaler")


def test_refuses_inputs_too_large_for_float32() -> None:
    rows = np.column_stack([1e9 + X[:, 0].astype(np.float64), X[:, 1]])
    model = LogisticRegression().fit(rows - [1e9, 0], Y)
    model.intercept_ = model.intercept_ - model.coef_[0, 0] * 1e9
    refused(model, "Scale large inputs", X=rows)


def test_refuses_onnx_files_that_cannot_be_served(tmp_path: Path) -> None:
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
    refused(file(copy, [tensor("p"), tensor("q")]), r"choose one with OnnxFile\(path, output=")
    refused(file(copy[:1], [tensor("p")]), "end the graph in Softmax")
    refused(file(copy[:1], [tensor("p")], TensorProto.DOUBLE), "FloatTensorType")
    refused(file(copy[:1], [tensor("p")], version=99), "ONNX Runtime does not run the model")
    (tmp_path / "text.onnx").write_text("no model")
    refused(tmp_path / "text.onnx", "cannot be read as ONNX")
    with pytest.raises(ExportError, match="has no float32 output"):
        convert_model(OnnxFile(file(copy[:1], [tensor("p")]).path, output="z"), 2)


def test_names_the_columns_if_their_number_does_not_fit() -> None:
    featurizer = Featurizer([Category("c", ["x", "y"], other_column=True), *FEATURES])
    rows = np.zeros((300, 5))
    refused(FOREST, r"fill 5 \(c = x, c = y, c is another, a, b\)", X=rows, features=featurizer)


def test_import_writes_no_telemetry(tmp_path: Path) -> None:
    # Each of these turns telemetry off by itself.
    without = {"CI", "TF_BUILD", "GITHUB_ACTIONS", "ORT_DISABLE_TELEMETRY", "ORT_RUNNING_UNIT_TESTS"}
    environment = {name: value for name, value in os.environ.items() if name not in without}
    program = "from leadscore_export.convert.onnx_graph import run_onnx"
    root = Path(__file__).parent.parent
    subprocess.run(
        [sys.executable, "-c", program], cwd=root, env={**environment, "HOME": str(tmp_path)}, check=True
    )
    assert list(tmp_path.iterdir()) == []
