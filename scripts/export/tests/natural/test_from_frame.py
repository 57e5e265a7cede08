"""The features of a frame, its refusals, and words as labels."""

from __future__ import annotations

import datetime
import subprocess
import sys
import warnings
from decimal import Decimal
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from natural_tables import made_up, with_categories

from leadscore_export import Boolean, Category, ExportError, Featurizer, Number, export_bundle, out_of_fold
from leadscore_export.scores.labels import outcomes_of, positive_index


def frame_of(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame(columns)


def test_makes_one_feature_of_each_column_in_order() -> None:
    frame = frame_of(
        Size=[3, 1, 8],
        Rate=[0.5, np.nan, 1.5],
        Demo=[True, True, False],
        Source=pd.Categorical(["web", None, "mail"], categories=["web", "mail", "fair"]),
        Grade=pd.Categorical([5, 7, 7]),
        Share=pd.Categorical([0.5, 2.0, 2.0]),
        Paid=pd.array([True, None, False], dtype="boolean"),
        Seats=pd.array([2, None, 4], dtype="Int64"),
        City=["Rome", None, "Bonn"],
    )
    featurizer = Featurizer.from_frame(frame, missing_tokens=["unknown"])
    expected = Featurizer(
        [
            Number("Size", impute=3),
            Number("Rate"),
            Boolean("Demo", impute=1),
            Category("Source", ["web", "mail", "fair"], encoding="ordinal"),
            Category("Grade", ["5", "7"], encoding="ordinal"),
            Category("Share", ["0.5", "2"], encoding="ordinal"),
            Boolean("Paid"),
            Number("Seats"),
            Category("City", ["Bonn", "Rome"], encoding="ordinal"),
        ]
    )
    assert featurizer.features == expected.features
    assert featurizer.missing_tokens == ["unknown"]
    np.testing.assert_array_equal(
        featurizer.rows(frame),
        [
            [3, 0.5, 1, 0, 0, 0, 1, 2, 1],
            [1, np.nan, 1, np.nan, 1, 1, np.nan, np.nan, np.nan],
            [8, 1.5, 0, 1, 1, 1, 0, 4, 0],
        ],
    )


TWICE = pd.DataFrame([[1, 2], [3, 4]], columns=["Size", "Size"])
DAY = datetime.date(2026, 1, 2)


@pytest.mark.parametrize(
    ("frame", "advice"),
    [
        (TWICE, 'several columns named "Size"; rename or drop all but one'),
        (pd.DataFrame([[1, 2]]), r"a column named 0; name each column .*df.columns = "),
        (pd.DataFrame({("a", "b"): [1]}), r"a column named \('a', 'b'\)"),
        (pd.DataFrame({" ": [1]}), "a column named ' '"),
        (pd.DataFrame({"a": []}), "no columns or no rows"),
        (pd.DataFrame(index=[0, 1]), "no columns or no rows"),
        (np.zeros((2, 2)), "needs a pandas DataFrame, not a ndarray"),
        (pd.Series([1], name="a"), "needs a pandas DataFrame, not a Series"),
        ([{"a": 1}], "needs a pandas DataFrame, not a list"),
        (frame_of(Tags=[["a"], ["b"]]), r'"Tags" .* of the type "list"; give texts, numbers or booleans'),
        (frame_of(Mixed=["a", 5]), '"Mixed" .* of the type "int"; give texts'),
        (
            frame_of(Price=[Decimal(1), None]),
            r'"Price" .*"Decimal"; write pandas.to_numeric\(df\["Price"\]\)',
        ),
        (frame_of(Size=np.array([1, 2], dtype=object)), r'"Size" .*"int"; write pandas.to_numeric'),
        (frame_of(Paid=[True, None]), r'"Paid" .*"bool"; write df\["Paid"\].astype\("boolean"\)'),
        (frame_of(Day=[DAY, DAY]), r'"Day" .*"date"; use Featurizer\(\[..., Date\("Day"\)'),
        (frame_of(At=pd.to_datetime(["2026-01-02"])), r'"At" holds datetime64.* days before the request'),
        (frame_of(For=pd.to_timedelta(["2 days"])), '"For" holds timedelta64'),
        (frame_of(Month=pd.period_range("2026-01", periods=2, freq="M")), '"Month" .*"Period"'),
        (frame_of(Wave=[1j, 2j]), '"Wave" .*"complex"; give texts, numbers'),
        (frame_of(Band=pd.cut([1, 5, 9], 2)), r'"Band" has the category Interval.*keep the number itself'),
        (frame_of(Day=pd.Categorical(pd.to_datetime(["2026-01-02"]))), '"Day" has the category Timestamp'),
        (frame_of(None_=pd.Categorical([None, None])), '"None_" has no categories; drop it'),
        (frame_of(Empty=[None, None]), '"Empty" has no values; drop it'),
        (
            frame_of(Source=pd.Categorical(["Web", "web ", "Mail"])),
            r'"Web" and "web ", which the service reads as one.*Merge them \(df\["Source"\].replace\)',
        ),
        (frame_of(Mixed=pd.Categorical([5, "5"], categories=[5, "5"])), '"5" and "5", which the service'),
    ],
)
def test_refuses_columns_that_the_service_cannot_read(frame: Any, advice: str) -> None:
    with pytest.raises(ExportError, match=advice):
        Featurizer.from_frame(frame)


def test_warns_of_one_hot_columns_of_one_field() -> None:
    texts = pd.DataFrame(
        {"Lead_Source": ["Web", "Mail", "Web"], "Visits_30d": [1, 0, 1], "Demo_30d": [1, 1, 0]}
    )
    with pytest.warns(
        UserWarning, match='"Lead_Source_Mail", "Lead_Source_Web" look like .*sends "Lead_Source"'
    ):
        Featurizer.from_frame(pd.get_dummies(texts))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Featurizer.from_frame(texts)
        Featurizer.from_frame(pd.DataFrame({"is_a": [1, 0, 1], "is_b": [1, 0, 0]}))


def export(model: Any, frame: Any, X: Any, y: Any, folder: Path, **more: Any) -> Any:
    return export_bundle(model, Featurizer.from_frame(frame), folder, name="n", version="1", X=X, y=y, **more)


def trained() -> tuple[Any, pd.DataFrame, Any]:
    table = made_up()
    frame = with_categories(table.frame)
    model = lightgbm.LGBMClassifier(n_estimators=10, num_leaves=7, n_jobs=1, verbose=-1)
    return model.fit(frame, table.converted), frame, table.converted


def test_refuses_a_frame_other_than_that_of_training(tmp_path: Path) -> None:
    model, frame, y = trained()
    raw = np.linspace(0.1, 0.9, len(y))
    given: dict[str, Any] = {"y": y, "folder": tmp_path / "never", "oof_raw": raw}
    reordered = frame.assign(**{"Lead Source": frame["Lead Source"].cat.reorder_categories(
        frame["Lead Source"].cat.categories[::-1]
    )})  # fmt: skip
    with pytest.raises(ExportError, match=r"on row .* of X, ONNX gives .* but the trainer gives"):
        export(model, reordered, frame, **given)
    with pytest.raises(ExportError, match="columns have another order than the features"):
        export(model, frame, frame[frame.columns[::-1]], **given)
    with pytest.raises(ExportError, match='it lacks the field "Region"'):
        export(model, frame, frame.drop(columns="Region"), **given)
    with pytest.raises(ExportError, match='no feature reads its column "Id"'):
        export(model, frame, frame.assign(Id=1), **given)
    with pytest.raises(
        ExportError, match=r'"Lead Source" of X holds texts.*astype\("category"\), or on a Pipeline'
    ):
        export(model, frame, made_up().frame, **given)
    infinite = frame.assign(**{"Click Rate": np.inf})
    with pytest.raises(ExportError, match='"Click Rate" of X holds infinite numbers'):
        export(model, frame, infinite, **given)
    onehot = Featurizer([Category(name, ["a"], other_column=True) for name in frame])
    with pytest.raises(ExportError, match=r"make several columns of .*give Featurizer.from_frame\(X\)"):
        export_bundle(model, onehot, tmp_path / "never", name="n", version="1", X=frame, y=y)
    assert not (tmp_path / "never").exists()


def test_takes_a_frame_of_rows_with_names_of_its_own(tmp_path: Path) -> None:
    table = made_up()
    rows = pd.get_dummies(table.frame["Seniority"], prefix="Level")
    features = [Category("Seniority", ["Manager", "Staff", "VP"])]
    model = lightgbm.LGBMClassifier(n_estimators=5, n_jobs=1, verbose=-1).fit(rows, table.converted)
    report = export_bundle(model, features, tmp_path, name="n", version="1", X=rows, y=table.converted)
    assert report.contributions == "exact (trees)"


def test_splits_at_decimals_as_the_trainer_does(tmp_path: Path) -> None:
    # 0.05 and 0.15 in training give the threshold 0.1, whose nearest float32 is above it.
    rates = np.tile([0.05, 0.15, 0.25, 0.35, 1 / 3], 80)
    converted = (rates > 0.1).astype(int) ^ (np.arange(400) % 7 == 0)
    frame = pd.DataFrame({"Rate": rates, "Size": np.arange(400) % 5})
    model = lightgbm.LGBMClassifier(n_estimators=5, n_jobs=1, verbose=-1, min_child_samples=5)
    model.fit(frame, converted)
    export(model, frame, frame, converted, tmp_path)
    from leadscore_export.convert.convert_model import OnnxFile
    from leadscore_export.convert.converted_model import read_onnx_file

    asked = pd.DataFrame({"Rate": np.round(np.arange(0, 0.5, 0.01), 2), "Size": 1})
    rows = Featurizer.from_frame(frame).rows(asked)
    raw = read_onnx_file(OnnxFile(tmp_path / "model.onnx")).raw(rows)
    np.testing.assert_allclose(raw, model.predict_proba(asked)[:, 1], atol=1e-6)


def test_prints_its_progress_to_stderr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, frame, y = trained()
    export(model, frame, frame, y, tmp_path, golden_records=frame[:50])
    printed = capsys.readouterr()
    assert printed.out == ""
    assert [line.partition(" ")[2] for line in printed.err.splitlines()] == [
        "reading 1,500 rows of X",
        "converting the model to ONNX, and comparing it with the trainer",
        *(f"training copy {copy} of 5 for out-of-fold scores" for copy in range(1, 6)),
        "scoring 50 golden records",
        f"writing the bundle to {tmp_path}",
    ]


def test_boosters_of_a_frame_score_exactly(tmp_path: Path) -> None:
    table = made_up()
    frame, y = with_categories(table.frame), table.converted
    raw = out_of_fold(trained()[0], frame, y, folds=3)
    data = xgboost.DMatrix(frame, y, enable_categorical=True)
    booster = xgboost.train({"objective": "binary:logistic", "nthread": 1}, data, 10)
    report = export(booster, frame, frame, y, tmp_path / "xgboost", oof_raw=raw)
    assert report.contributions == "exact (trees)"
    report = export(trained()[0].booster_, frame, frame, y, tmp_path / "lightgbm", oof_raw=raw)
    assert report.contributions == "exact (trees)"


@pytest.mark.parametrize(
    ("values", "positive", "expected"),
    [
        (["Won", "lost", "OPEN"], None, [1, 0, 0]),
        (["Closed Won", "Closed  Lost"], None, [1, 0]),
        (["yes", "no", "Y", "n"], None, [1, 0, 1, 0]),
        (["true", "False", "1", "0"], None, [1, 0, 1, 0]),
        ([True, False], None, [1, 0]),
        ([1.0, 0.0], None, [1, 0]),
        (["Deal", "No deal", "Later"], "Deal", [1, 0, 0]),
        (["Deal", "No deal"], "deal", [1, 0]),
        ([1, 2, 2], 2, [0, 1, 1]),
        ([-1, 1], 1, [0, 1]),
        (np.array(["won", "lost"]).tolist(), np.str_("lost"), [0, 1]),
    ],
)
def test_reads_words_as_outcomes(values: Any, positive: Any, expected: list[int]) -> None:
    assert outcomes_of(values, positive).tolist() == expected


@pytest.mark.parametrize(
    ("values", "positive", "advice"),
    [
        (["Deal", "No deal"], "Dael", r"positive is 'Dael' \(did you mean \"Deal\"\?\), but y holds 'Deal'"),
        (
            ["Won", "Lost", "Stalled", "Stalled"],
            None,
            r"'Stalled' is no usual word .*\(2 rows.*positive='Won'",
        ),
        (["Won", "Won"], "Won", r"one class only \(1 in all rows\)"),
        ([1, 0], "Won", "positive is 'Won', but y holds 1, 0"),
        ([("a",), 1], None, r"is no usual word for won or lost"),
    ],
)
def test_refuses_words_without_a_meaning(values: Any, positive: Any, advice: str) -> None:
    with pytest.raises(ExportError, match=advice):
        outcomes_of(values, positive)


def test_finds_the_class_that_means_converted() -> None:
    assert [positive_index([0, 1]), positive_index(["Lost", "Won"]), positive_index([False, True])] == [
        1,
        1,
        1,
    ]
    assert positive_index(np.array(["Deal", "None"]), "Deal") == 0
    with pytest.raises(ExportError, match=r"train it on 0 and 1, .* or give positive="):
        positive_index(["Deal", "None"])
    with pytest.raises(ExportError, match="train it on 0 and 1, where 1 means converted"):
        positive_index(["a", "b", "c"], "a")


def test_needs_no_pandas() -> None:
    program = (
        "import sys, leadscore_export; assert 'pandas' not in sys.modules and 'sklearn' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], cwd=Path(__file__).parents[2], check=True)
