"""The command `python -m leadscore_export.train`; see the package's docstring."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from leadscore_export.train.command.failures import TrainError
from leadscore_export.train.command.options import parsed_options
from leadscore_export.train.command.progress import Progress


def main(arguments: Sequence[str]) -> int:
    """Runs the command. Returns the exit code."""
    progress = Progress(is_json="--json-lines" in arguments)
    # A shell starts background processes with SIGINT ignored, and then Python does not handle it either.
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, _interrupt)
    try:
        options = parsed_options(arguments)
        from leadscore_export.train.run import summary, train  # loads NumPy and ONNX, half a second

        document = train(options, progress)
        done = {
            "folder": str(options.out),
            "bundle": str(options.out / "bundle"),
            "report": str(options.out / "report.html"),
            "training": document,
        }
        progress.done({"done": done}, summary(document, options))
        return 0
    except TrainError as error:
        return _failed(error, progress)
    except KeyboardInterrupt:
        return _failed(TrainError("interrupted", "interrupted; nothing was written"), progress)


def _failed(error: TrainError, progress: Progress) -> int:
    context = {"context": error.context} if error.context else {}
    message: dict[str, Any] = {"code": error.code, "message": str(error), **context}
    progress.line({"error": message}, f"error: {error}")
    return error.exit_code


def _interrupt(_signal: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
