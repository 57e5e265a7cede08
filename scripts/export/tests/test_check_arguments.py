"""Arguments that the service would refuse in a manifest are refused before the model is used."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leadscore_export import Category, Date, ExportError, Featurizer, Multi, Number, export_bundle
from leadscore_export.bundle.bundle_files import data_end, write_bundle
from leadscore_export.bundle.check_arguments import whole_days
from leadscore_export.convert.converted_model import ConvertedModel
from leadscore_export.featurizer.feature_types import Feature


def refused(advice: str, features: list[Feature] | None = None, **changes: Any) -> None:
    given: dict[str, Any] = {"name": "n", "version": "1", "X": [[0]], "y": [0], **changes}
    # The model is None: the arguments are checked before it.
    with pytest.raises(ExportError, match=advice):
        export_bundle(None, features or [Number("a")], "never-written", **given)
    assert not Path("never-written").exists()


def test_refuses_invalid_names_and_versions() -> None:
    refused("name has 201 characters; the maximum is 200", name="x" * 201)
    refused("name is blank", name=" \t")
    refused(r"name is 'a\\nb'; remove line breaks", name="a\nb")
    refused("version is 1.5; write it as a text: '1.5'", version=1.5)
    refused("version has 65 characters; the maximum is 64", version="1" * 65)
    refused("spaces at its ends", version="1 ")


def test_refuses_unknown_kinds() -> None:
    refused(
        (
            "calibration is 'sigmoid'; it must be one of "
            '"auto", "identity", "platt", "isotonic".*"platt" here'
        ),
        calibration="sigmoid",
    )
    refused("calibration is None", calibration=None)
    refused(('family is \'backward\'; it must be one of "forward", "timing"'), family="backward")


@pytest.mark.parametrize("days", [0, -5, 90.5, "90", True, None])
def test_refuses_a_horizon_that_is_no_whole_number_of_days(days: Any) -> None:
    refused("horizon_days is .*whole number of days", horizon_days=days)


def test_refuses_a_horizon_of_more_than_a_century() -> None:
    refused("horizon_days is 1,000,000,000; the maximum is 36,500", horizon_days=10**9)


def test_accepts_a_numpy_horizon() -> None:
    assert whole_days(np.int64(30)) == 30 and type(whole_days(np.int64(30))) is int


def test_refuses_invalid_times_and_recency() -> None:
    refused("'last week' is no time; give a datetime", trained_at="last week")
    refused("unknown key 'max_days'", recency={"field": "a", "max_days": 5})
    refused("max_age_days is 0", recency={"field": "a", "max_age_days": 0})
    refused(
        "future_tolerance_days is -1", recency={"field": "a", "max_age_days": 5, "future_tolerance_days": -1}
    )
    refused("recency's field is None", recency={"max_age_days": 5})


def test_refuses_data_after_the_training() -> None:
    until, trained = "2026-11-21", "2026-11-20T09:30:00Z"
    refused(
        r"data_until is 2026-11-21, after trained_at \(2026-11-20T09:30:00Z\); give the last day",
        data_until=until,
        trained_at=trained,
    )
    refused("data_until is 2026-11-21, after", data_until=date(2026, 11, 21), trained_at=trained)
    refused("'last June' is no time; give a datetime", data_until="last June")


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("2026-06-30", "2026-06-30"),
        (date(2026, 6, 30), "2026-06-30"),
        (datetime(2026, 6, 30, 12), "2026-06-30T12:00:00Z"),
        ("2026-06-30T12:00:00+02:00", "2026-06-30T10:00:00Z"),
    ],
)
def test_keeps_the_end_of_the_data(given: date | str, stored: str) -> None:
    assert data_end(given, "2026-11-20T00:00:00Z") == {"data_until": stored}
    assert data_end(None, "2026-11-20T00:00:00Z") == {}


def test_refuses_arguments_of_another_kind(tmp_path: Path) -> None:
    refused("recency is 5; give the name of a Date field", recency=5)
    refused(r"nan is no time in Unix milliseconds", trained_at=float("nan"))
    refused("1e\\+30 is no time in Unix milliseconds", trained_at=1e30)
    refused("features holds 'abc'; give a Featurizer, or a list", ["abc"])  # type: ignore[list-item]
    refused("y is no list of outcomes .*give 1 or 0 for each row", y=[[1], [1, 2]])
    with pytest.raises(ExportError, match=r"now is <object.*; give one time"):
        Featurizer([Date("d")]).rows([{"d": "2026-11-20"}], object())  # type: ignore[arg-type]
    (tmp_path / "b").write_text("a file")
    with pytest.raises(ExportError, match=r"could not be written to .*; give another folder as `out`"):
        write_bundle(tmp_path / "b", {}, ConvertedModel(b"", 1), [])


def test_refuses_files_that_are_too_large(tmp_path: Path) -> None:
    model = ConvertedModel(b"", 1)
    with pytest.raises(
        ExportError, match=r"manifest.json has 9.0 MiB, more than the limit of 8 MiB; give fewer categories"
    ):
        write_bundle(tmp_path / "b", {"name": "x" * 9 * 2**20}, model, [])
    with pytest.raises(
        ExportError, match=r"golden.jsonl has 6\d.\d MiB, more than the limit of 64 MiB; give golden"
    ):
        write_bundle(tmp_path / "b", {}, model, [{"record": "x" * 2**20}] * 65)
    assert not (tmp_path / "b").exists()


def test_refuses_features_beyond_the_limits() -> None:
    refused(
        r'fill 10,001 columns, more than the limit of 10,000; .*"c" has 10,000',
        [Number("a"), Category("c", [str(n) for n in range(10_000)])],
    )
    refused("the field of a feature has 256", [Number("a" * 256)])
    refused("a: label is", [Number("a", label="x\x00")])
    refused("a: an alias has 0 characters", [Number("a", aliases=[""])])
    refused("c: a category has 1,001", [Category("c", ["x" * 1001])])
    refused("m: separator has 17", [Multi("m", ["x"], separator="-" * 17)])
    refused("a: unit has 65", [Number("a", unit="x" * 65)])
    refused("a: impute is nan; leave it out", [Number("a", impute=float("nan"))])
    refused("a: impute is 1e\\+39; .*float32", [Number("a", impute=1e39)])
    refused('d: date_order is \'ymd\'; it must be "dmy" or "mdy"', [Date("d", date_order="ymd")])  # type: ignore[arg-type]
