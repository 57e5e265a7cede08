"""The folder of a result: complete after one rename, or absent."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from leadscore_export.train.command.failures import TrainError


@contextmanager
def result_folder(out: Path, *, replace: bool) -> Iterator[Path]:
    """A folder beside `out` that becomes it at the end. After a failure it is removed.

    `replace`: Whether an earlier result may be there. Else it raises TrainError at once.
    """
    if os.path.lexists(out) and not replace:
        raise TrainError("exists", f"{out} exists; give another --out, or --replace")
    if replace and out.exists() and not _is_result(out):
        raise TrainError(
            "exists", f"{out} is no result of a training, so it is not replaced; give another --out"
        )
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    except OSError as problem:
        raise _not_written(out, problem) from problem
    try:
        made = beside / "new"
        made.mkdir()
        yield made
        try:
            if out.exists():
                out.rename(beside / "old")
            made.rename(out)
        except OSError as problem:
            if (beside / "old").exists() and not out.exists():
                (beside / "old").rename(out)
            raise _not_written(out, problem) from problem
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _is_result(folder: Path) -> bool:
    names = {entry.name for entry in folder.iterdir()} if folder.is_dir() else {"file"}
    return names <= {"bundle", "report.html", "training.json"}


def _not_written(out: Path, problem: OSError) -> TrainError:
    reason = problem.strerror or str(problem)
    return TrainError("not_written", f"{out} cannot be written: {reason}; give another --out")
