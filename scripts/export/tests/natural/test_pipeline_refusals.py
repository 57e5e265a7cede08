"""Steps of pipelines that are refused by name, with what to do."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
import xgboost
from natural_pipelines import (
    ASKED,
    CODES,
    FRAME,
    LINE,
    NUMBERS,
    TEXT,
    TREES,
    Steps,
    Y,
    fill,
    folded,
    pipeline,
    scored,
)
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import KNNImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)

from leadscore_export import ExportError, Featurizer
from leadscore_export.convert.convert_model import convert_model
from leadscore_export.convert.pipelines.fold_pipeline import fold_pipeline


def double(values: Any) -> Any:
    return values * 2


KNOWN = OneHotEncoder(handle_unknown="ignore")


@pytest.mark.parametrize(
    ("steps", "advice"),
    [
        (
            [("near", KNNImputer(), NUMBERS)],
            r'step "prepare > near" \(KNNImputer\) cannot become .*SimpleImputer',
        ),
        (
            [("bins", make_pipeline(fill("mean"), KBinsDiscretizer(3)), NUMBERS)],
            r'> bins > kbins.*" \(KBins',
        ),
        (
            [("both", FeatureUnion([("a", fill("mean"))]), NUMBERS)],
            r"both\" \(FeatureUnion\) cannot become",
        ),
        ([("words", CountVectorizer(), "Seniority")], r"words\" \(CountVectorizer\) cannot become"),
        (
            [("twice", FunctionTransformer(double), ["Region"])],
            r"calls a function of yours.*before training",
        ),
        (
            [("n", fill("mean", missing_values=1), ["Region"])],
            "fills 1, but the service sends NaN.*numpy.nan",
        ),
        ([("n", MinMaxScaler(clip=True), ["Region"])], "clip=True.*train with clip=False"),
        (
            [("n", make_pipeline(StandardScaler(), fill("mean")), NUMBERS)],
            "after a scaler; put the imputer",
        ),
        ([("c", OrdinalEncoder(), ["Seniority"])], "fails on a new category of .*unknown_value=-1"),
        (
            [("c", OrdinalEncoder(min_frequency=9, **CODES), TEXT)],
            "merges infrequent.*with a OneHotEncoder",
        ),
        ([("c", OneHotEncoder(drop="first", min_frequency=9), TEXT)], "train with one of both"),
        (
            [("c", make_pipeline(OrdinalEncoder(**CODES), KNOWN), TEXT)],
            "after a scaler or another encoder",
        ),
        (
            [("n", make_pipeline(StandardScaler(), KNOWN), ["Region"])],
            "after a scaler or another encoder",
        ),
    ],
)
def test_refuses_a_step_by_its_name(steps: Steps, advice: str) -> None:
    with pytest.raises(ExportError, match=advice):
        folded(pipeline(steps, TREES))


def test_refuses_texts_that_the_service_reads_alike_or_as_missing() -> None:
    alike = FRAME.assign(Seniority=FRAME["Seniority"].where(FRAME["Region"] > 1, "staff"))
    with pytest.raises(
        ExportError, match=r'"prepare > c" \(OneHotEncoder\): Seniority: .*merge them in the frame'
    ):
        folded(pipeline([("c", KNOWN, ["Seniority"])], LINE), alike)
    rare = FRAME["Seniority"].where(FRAME.index > 0, " VP")
    model = pipeline(
        [("c", OneHotEncoder(categories=[["Staff", "VP"]], handle_unknown="ignore"), ["Seniority"])], LINE
    )
    found = (
        r'step "prepare > c" \(OneHotEncoder\) gives 0 for row 0 of X, but .*"Seniority" gives 1 for .* VP'
    )
    with pytest.raises(ExportError, match=found):
        folded(model, FRAME.assign(Seniority=rare))
    none = FRAME.assign(Seniority=np.where(FRAME.index % 2, None, np.nan))
    none.loc[:99, "Seniority"] = "VP"
    with pytest.raises(ExportError, match=r'None and NaN as categories of "Seniority".*fillna'):
        folded(pipeline([("c", KNOWN, ["Seniority"])], LINE), none)


def test_refuses_what_reaches_the_classifier_otherwise() -> None:
    sparse = Pipeline(
        [("prepare", ColumnTransformer([("c", KNOWN, TEXT)], sparse_threshold=1)), ("classify", None)]
    )
    sparse.steps[-1] = ("classify", xgboost.XGBClassifier(n_estimators=2, n_jobs=1))
    with pytest.raises(
        ExportError, match=r"sparse table, in which XGBoost takes each 0.*sparse_output=False"
    ):
        folded(sparse)
    sparse.steps[-1] = ("classify", TREES)
    own = sparse.fit(FRAME, Y).predict_proba(ASKED)[:, 1]
    np.testing.assert_allclose(scored(folded(sparse), ASKED), own, rtol=0, atol=2e-6)

    model = pipeline([("n", fill("mean"), NUMBERS)], LINE).fit(FRAME, Y)
    with pytest.raises(
        ExportError, match=r"was trained on the columns Annual Revenue, .*but X has Seniority"
    ):
        fold_pipeline(
            model, Featurizer.from_frame(FRAME), FRAME[FRAME.columns[::-1]][["Seniority", "Region"]]
        )
    with pytest.raises(
        ExportError, match=r'no feature reads the column "Click Rate" of X; give Featurizer.from_'
    ):
        fold_pipeline(model, Featurizer.from_frame(FRAME.drop(columns="Click Rate")), FRAME)
    calibrated = CalibratedClassifierCV(model, cv=2).fit(FRAME, Y)
    with pytest.raises(
        ExportError, match=r"CalibratedClassifierCV holds a Pipeline. Train that Pipeline alone"
    ):
        fold_pipeline(calibrated, Featurizer.from_frame(FRAME), FRAME)
    untrained = pipeline([("n", fill("mean"), NUMBERS)], LogisticRegression())
    with pytest.raises(ExportError, match=r"not trained yet; call fit\(X, y\)"):
        fold_pipeline(untrained, Featurizer.from_frame(FRAME), FRAME)


def test_tells_how_to_export_before_it_asks_for_skl2onnx(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    rows = FRAME[["Region", "Asked For Demo"]].to_numpy(dtype=np.float32)
    model = Pipeline([("rotate", PCA(1, random_state=0)), ("classify", LINE)]).fit(rows, Y)
    with pytest.raises(ExportError) as caught:
        convert_model(model, 2)
    text = str(caught.value)
    assert text.startswith('the step "rotate" (PCA) has no converter here')
    assert text.index("Do such a step in the table") < text.index("pip install skl2onnx")
    scaled = Pipeline([("scale", StandardScaler()), ("classify", TREES)]).fit(rows, Y)
    with pytest.raises(ExportError, match="trees need no scaler"):
        convert_model(scaled, 2)
