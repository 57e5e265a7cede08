"""Made-up past leads as a CSV, and the training of them in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

PACKAGE = Path(__file__).parents[2]


def past_leads(
    rows: int = 600, *, seed: int = 0, **more: Callable[[int, bool], object]
) -> list[dict[str, object]]:
    """Leads of which about a third is won. `more`: Further columns, by row and outcome."""
    draw = np.random.default_rng(seed)
    leads: list[dict[str, object]] = []
    for row in range(rows):
        source = str(draw.choice(["Website", "Referral", "Trade Show", "Partner"]))
        employees = int(10 ** draw.uniform(0.5, 4))
        visits = int(draw.poisson(6))
        margin = -2.4 + 1.5 * (source == "Referral") + 0.5 * np.log10(employees) + 0.1 * visits
        won = bool(draw.random() < 1 / (1 + np.exp(-margin)))
        lead: dict[str, object] = {
            "Lead Id": f"00Q{row:06d}",
            "Source": "" if row % 17 == 0 else source,
            "Employees": "" if row % 11 == 0 else f"{employees:,}",
            "Visits": visits,
            "Country": draw.choice(["Germany", "France", "Spain"]),
            "Currency": "EUR",
            "Comment": f"comment {draw.integers(1 << 40)} of {row}",
            "Stage": "Closed Won" if won else "Closed Lost",
        }
        lead |= {name.replace("_", " "): value(row, won) for name, value in more.items()}
        leads.append(lead)
    return leads


def written(path: Path, leads: Sequence[dict[str, object]], delimiter: str = ",") -> Path:
    """A CSV with a header; each cell is in quotes."""

    def line(cells: Sequence[object]) -> str:
        return delimiter.join('"' + str(cell).replace('"', '""') + '"' for cell in cells) + "\n"

    text = line(list(leads[0])) + "".join(line(list(lead.values())) for lead in leads)
    path.write_text(text, encoding="utf-8")
    return path


@dataclass(frozen=True)
class Run:
    """The end of a training: its exit code and its lines."""

    code: int
    lines: list[dict[str, Any]]

    def of(self, kind: str) -> list[Any]:
        """The lines of a kind, such as `progress`."""
        return [line[kind] for line in self.lines if kind in line]

    @property
    def error(self) -> dict[str, Any]:
        """The last line, which must be an error."""
        error: dict[str, Any] = self.lines[-1]["error"]
        return error

    @property
    def training(self) -> dict[str, Any]:
        """The figures of a run that must have succeeded."""
        assert self.code == 0, self.lines[-1]
        training: dict[str, Any] = self.lines[-1]["done"]["training"]
        return training


def trained(*arguments: object, answers: str = "", interrupt_at: str | None = None) -> Run:
    """Runs the command with `--json-lines`.

    `answers`: Standard input.
    `interrupt_at`: The step at whose first line the process gets SIGINT.
    """
    command = [sys.executable, "-m", "leadscore_export.train", *map(str, arguments), "--json-lines"]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "PYTHONUTF8": "1"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(answers)
        process.stdin.close()
        lines = []
        for text in process.stdout:
            line = json.loads(text)
            lines.append(line)
            if interrupt_at is not None and line.get("progress", {}).get("step") == interrupt_at:
                interrupt_at = None
                process.send_signal(signal.SIGINT)
        return Run(process.wait(), lines)


# One candidate of the search: enough for tests of everything else.
FAST = ("--budget", "0.001")
WORDS = ("--won-values", "Closed Won", "--lost-values", "Closed Lost")
