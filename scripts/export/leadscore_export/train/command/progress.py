"""Tells a program or a person how far a training is."""

from __future__ import annotations

import json
import sys
import time
from typing import Any, Literal, TextIO

Step = Literal["read", "prepare", "leaks", "search", "fit", "export", "write"]
# The share of the whole run at which each step ends, measured on the three tables of the tests.
_ENDS: dict[Step, float] = {
    "read": 0.05,
    "prepare": 0.15,
    "leaks": 0.2,
    "search": 0.75,
    "fit": 0.78,
    "export": 0.97,
    "write": 1.0,
}
_STEPS = list(_ENDS)
_LEAST_SHARE = 0.2  # for an estimate of the time left


class Progress:
    """Writes lines about a training.

    `is_json`: Whether they are JSON, on `out`. Else they are sentences, on `err`.
    """

    def __init__(self, *, is_json: bool, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self._is_json = is_json
        # export_bundle writes to sys.stderr, which is redirected then.
        self._out, self._err = out or sys.stdout, err or sys.stderr
        self._started = time.monotonic()
        self._share = 0.0
        self.notes: list[str] = []

    def step(self, step: Step, text: str, part: float = 0.0) -> None:
        """Says what is done now. `part`: The share of the step that is done, from 0 to 1."""
        index = _STEPS.index(step)
        start = _ENDS[_STEPS[index - 1]] if index else 0.0
        self._share = max(self._share, start + (_ENDS[step] - start) * min(1.0, max(0.0, part)))
        elapsed = time.monotonic() - self._started
        left = round(elapsed * (1 - self._share) / self._share) if self._share >= _LEAST_SHARE else None
        line = {"step": step, "text": text, "share": round(self._share, 3), "seconds_left": left}
        self._write({"progress": line}, f"train: {text}")

    def note(self, text: str) -> None:
        """Says a sentence that the result repeats."""
        self.notes.append(text)
        self._write({"note": text}, f"note: {text}")

    def line(self, message: dict[str, Any], text: str | None = None) -> None:
        """Writes another message. `text`: Its form for a person, None for none."""
        self._write(message, text)

    def answer(self, question: str, about: str, *, is_asked: bool) -> bool | None:
        """Asks a question that is answered with y for yes. None if no person can answer.

        `is_asked`: Whether the reader of JSON lines answers on standard input.
        """
        if self._is_json and is_asked:
            self._write({"ask": {"about": about, "question": question}}, None)
        elif not self._is_json and sys.stdin.isatty() and sys.stderr.isatty():
            print(f"{question} [y/N] ", end="", file=self._err, flush=True)
        else:
            return None
        return sys.stdin.readline().strip().lower() in ("y", "yes")

    def done(self, message: dict[str, Any], summary: str) -> None:
        """Writes the last line of a success; the summary goes to standard output."""
        print(
            json.dumps(message, ensure_ascii=False) if self._is_json else summary, file=self._out, flush=True
        )

    def _write(self, message: dict[str, Any], text: str | None) -> None:
        if self._is_json:
            print(json.dumps(message, ensure_ascii=False), file=self._out, flush=True)
        elif text is not None:
            print(text, file=self._err, flush=True)
