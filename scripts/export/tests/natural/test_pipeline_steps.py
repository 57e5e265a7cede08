"""Steps of pipelines that become features: the bundle answers as the pipeline does."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from natural_pipelines import (
    ASKED,
    CODES,
    FRAME,
    KNOWN_DENSE,
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
from natural_tables import made_up
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from leadscore_export import ExportError, Featurizer, export_bundle
from leadscore_export.convert.pipelines.fold_pipeline import fold_pipeline
from leadscore_export.featurizer.feature_types import Category

FOLDED: dict[str, Callable[[], tuple[Steps, dict[str, Any]]]] = {
    "mean and most frequent": lambda: (
        [
            ("numbers", make_pipeline(fill("mean"), MaxAbsScaler()), ["Annual Revenue", "Click Rate"]),
            ("source", make_pipeline(fill("most_frequent"), OneHotEncoder()), ["Lead Source"]),
        ],
        {},
    ),
    "dropped categories, and a numeric one": lambda: (
        [
            ("some", OneHotEncoder(drop="first", handle_unknown="ignore"), ["Region", "Seniority"]),
            ("truth", OneHotEncoder(drop="if_binary"), ["Asked For Demo"]),
        ],
        {"remainder": "drop"},
    ),
    "infrequent categories, missing as its own": lambda: (
        [("source", OneHotEncoder(min_frequency=60, handle_unknown="infrequent_if_exist"), ["Lead Source"])],
        {},
    ),
    "infrequent categories, unknown as none": lambda: (
        [("source", OneHotEncoder(max_categories=3, handle_unknown="ignore"), ["Lead Source"])],
        {},
    ),
    "given categories that training lacks": lambda: (
        [
            (
                "level",
                OneHotEncoder(categories=[["VP", "Owner", "Staff"]], handle_unknown="ignore"),
                ["Seniority"],
            )
        ],
        {},
    ),
    "ordinals, imputed after and before": lambda: (
        [
            ("after", make_pipeline(OrdinalEncoder(**CODES), fill("median")), ["Lead Source"]),
            (
                "before",
                make_pipeline(fill("constant", fill_value="Manager"), OrdinalEncoder(**CODES)),
                ["Seniority"],
            ),
        ],
        {},
    ),
    "a fill that no category has": lambda: (
        [
            (
                "level",
                make_pipeline(fill("constant", fill_value="?"), OneHotEncoder(handle_unknown="ignore")),
                [3],
            )
        ],
        {},
    ),
    "indicators of gaps": lambda: (
        [("numbers", fill("median", add_indicator=True), ["Annual Revenue", "Click Rate", "Region"])],
        {},
    ),
    "columns by index, slice, mask and callable": lambda: (
        [
            ("index", StandardScaler(), [-2]),
            ("slice", make_pipeline(fill("mean"), StandardScaler()), slice("Annual Revenue", "Click Rate")),
            ("mask", OneHotEncoder(handle_unknown="ignore"), [False, False, False, True, False, False]),
            ("callable", OrdinalEncoder(encoded_missing_value=-2, **CODES), make_column_selector("Lead")),
            ("nothing", StandardScaler(), []),
        ],
        {"remainder": "passthrough"},
    ),
    "one column in two steps": lambda: (
        [
            ("scaled", make_pipeline(fill("mean"), StandardScaler()), ["Click Rate"]),
            ("plain", make_pipeline(fill("median"), MinMaxScaler()), ["Click Rate"]),
            ("both", OneHotEncoder(handle_unknown="ignore"), ["Region"]),
            ("again", "passthrough", ["Region"]),
        ],
        {},
    ),
    "one column passed on twice": lambda: (
        [("once", "passthrough", ["Region"]), ("again", "passthrough", ["Region"])],
        {},
    ),
}


@pytest.mark.parametrize("name", FOLDED)
@pytest.mark.parametrize(
    "classifier", [TREES, LINE, GaussianNB(var_smoothing=1e-3)], ids=["trees", "line", "any"]
)
def test_folds_steps_exactly(name: str, classifier: Any) -> None:
    steps, more = FOLDED[name]()
    model = pipeline(steps, classifier, **more)
    found = folded(model)
    asked = ASKED
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            own = model.predict_proba(asked)[:, 1]
        except ValueError:  # an encoder that fails on the unseen categories
            asked = FRAME[:100]
            own = model.predict_proba(asked)[:, 1]
    np.testing.assert_allclose(scored(found, asked), own, rtol=0, atol=2e-6)


def test_whole_table_steps_follow_a_column_transformer() -> None:
    numbers = make_pipeline(fill("mean"), StandardScaler())
    prepare = ColumnTransformer([("n", numbers, ["Annual Revenue", "Click Rate"])], remainder="drop")
    for steps in (
        [("scale", RobustScaler()), ("classify", LINE)],
        [("best", SelectKBest(k=1)), ("classify", TREES)],
        [("rotate", PCA(2, random_state=0)), ("classify", LINE)],
    ):
        model = Pipeline([("prepare", prepare), *steps])
        own = model.fit(FRAME, Y).predict_proba(ASKED)[:, 1]
        np.testing.assert_allclose(scored(folded(model), ASKED), own, rtol=0, atol=2e-6)


def test_steps_may_give_frames_and_choose_by_their_names() -> None:
    first = ColumnTransformer(
        [("n", make_pipeline(fill("median"), StandardScaler()), NUMBERS), ("c", KNOWN_DENSE, TEXT)],
        remainder="passthrough",
        sparse_threshold=0,
    ).set_output(transform="pandas")
    second = ColumnTransformer(
        [("n", MaxAbsScaler(), ["n__Click Rate"]), ("l", KNOWN_DENSE, ["remainder__Seniority"])],
        sparse_threshold=0,
    )
    for classifier in (TREES, LINE):
        model = Pipeline([("first", first), ("second", second), ("classify", classifier)])
        found = folded(model)
        own = model.predict_proba(ASKED)[:, 1]
        np.testing.assert_allclose(scored(found, ASKED), own, rtol=0, atol=2e-6)
        assert [feature["field"] for feature in found.featurizer.features] == ["Click Rate", "Seniority"]


def test_an_indicator_of_gaps_may_be_passed_on_twice() -> None:
    first = ColumnTransformer([("n", fill("median", add_indicator=True), ["Annual Revenue"])])
    second = ColumnTransformer([("a", "passthrough", [0, 1]), ("b", "passthrough", [1])])
    for classifier in (TREES, LINE):
        model = Pipeline([("first", first), ("second", second), ("classify", classifier)])
        found = folded(model)
        np.testing.assert_allclose(scored(found, ASKED), model.predict_proba(ASKED)[:, 1], rtol=0, atol=2e-6)
        assert [feature["field"] for feature in found.featurizer.features] == ["Annual Revenue"]


def test_pipelines_without_a_column_transformer_are_folded() -> None:
    numbers = FRAME[["Annual Revenue", "Click Rate", "Region"]]
    model = make_pipeline(fill("median"), StandardScaler(), TREES)
    found = folded(model, numbers)
    own = model.predict_proba(ASKED[list(numbers)])[:, 1]
    np.testing.assert_allclose(scored(found, ASKED[list(numbers)]), own, rtol=0, atol=2e-6)
    assert [feature["impute"] for feature in found.featurizer.features] == pytest.approx(
        numbers.median().tolist()
    )


def test_features_keep_names_and_aliases() -> None:
    source = Category(
        "Lead Source",
        ["Website", "Referral"],
        label="Source",
        aliases=["origin"],
        category_aliases={"web": "Website"},
    )
    features = Featurizer([source, *[]])
    model = pipeline([("s", OneHotEncoder(), ["Lead Source"])], LINE)
    frame = FRAME[["Lead Source"]]
    model.fit(frame, Y)
    found = fold_pipeline(model, features, frame)
    assert found is not None
    (entry,) = found.featurizer.features
    assert (entry["label"], entry["aliases"]) == ("Source", ["origin"])
    assert entry["category_aliases"] == {"web": "Website"}
    assert "missing_column" in entry and "other_column" not in entry
    truths = folded(pipeline([("d", OneHotEncoder(), ["Asked For Demo"])], LINE)).featurizer
    np.testing.assert_array_equal(truths.rows([{"Asked For Demo": "Yes"}]), [[0, 1]])


def test_copies_ignore_categories_of_other_folds(tmp_path: Path) -> None:
    frame = made_up().frame.copy()
    frame.loc[frame.index[:3], "Seniority"] = ["Owner", "Founder", "Chair"]
    numbers = make_pipeline(fill("mean"), StandardScaler())
    model = pipeline([("n", numbers, NUMBERS), ("c", OneHotEncoder(), [*TEXT, "Seniority"])], LINE)
    model.fit(frame, np.where(made_up().converted, "won", "lost"))
    report = export_bundle(
        model, Featurizer.from_frame(frame), tmp_path, name="n", version="1", X=frame,
        y=made_up().converted, holdout=(frame, made_up().converted), golden_records=frame[:50],
    )  # fmt: skip
    assert report.contributions == "exact (linear)" and report.golden_records > 20
    with pytest.raises(ExportError, match=r"in holdout=\(X, y\): X is no frame, but the pipeline"):
        export_bundle(
            model, Featurizer.from_frame(frame), tmp_path / "never", name="n", version="1", X=frame,
            y=made_up().converted, holdout=(np.zeros((9, 4)), [0, 1] * 4 + [1]),
        )  # fmt: skip
