"""Public tables of leads, which are not part of the project."""

from __future__ import annotations

from pathlib import Path

import pytest

_FOLDER = Path(__file__).parents[4] / "shared" / "data"


def real_leads(name: str) -> Path:
    """The CSV of a table. Leaves out the test if it is not there."""
    path = _FOLDER / f"{name}.csv.gz"
    if not path.exists():
        pytest.skip(
            f"there is no table of real leads {path.name}. To run this test, put it into the folder "
            "../shared/data beside the project"
        )
    return path
