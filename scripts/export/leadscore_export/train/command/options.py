"""The options of `python -m leadscore_export.train`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn

from leadscore_export.featurizer.featurizer import unix_ms
from leadscore_export.train.command.failures import TrainError

_MAX_DAYS = 36_500
_OF_THE_CALLER = ("--json-lines", "--ask")
DateOrder = Literal["dmy", "mdy"]


@dataclass(frozen=True)
class TrainOptions:
    """Parsed options. Names of columns are as they were given; dates are Unix ms."""

    file: Path
    converted: str
    stored: int | None = None
    won_values: tuple[str, ...] = ()
    lost_values: tuple[str, ...] = ()
    others_lost: bool = False
    id: str | None = None
    group: str | None = None
    skip: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    date_order: DateOrder | None = None
    encoding: str | None = None
    at: str | None = None
    converted_at: str | None = None
    since_ms: float | None = None
    until_ms: float | None = None
    horizon_days: int = 90
    budget_seconds: float = 60.0
    out: Path = Path("model")
    replace: bool = False
    name: str | None = None
    version: str | None = None
    yes: bool = False
    ask: bool = False
    json_lines: bool = False
    arguments: tuple[str, ...] = ()

    @property
    def command(self) -> list[str]:
        """The command line that repeats the training."""
        own = [argument for argument in self.arguments if argument not in _OF_THE_CALLER]
        return ["python", "-m", "leadscore_export.train", *own]


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are those of a training."""

    def error(self, message: str) -> NoReturn:
        raise TrainError("usage", f"{message}. See: python -m leadscore_export.train --help")


def parsed_options(arguments: Sequence[str]) -> TrainOptions:
    """The options of a command line. Raises TrainError with the code `usage`."""
    given = _parser().parse_args(arguments)
    if (given.stored is None) == (given.file is None):
        raise TrainError("usage", "give a file, or --stored with the open descriptor of stored leads")
    if given.stored is None and given.converted is None:
        raise TrainError("usage", "--converted is missing: it names the column with the outcome")
    if given.others_lost and not given.won_values:
        raise TrainError("usage", "--others-lost needs --won-values, or a won value would count as lost")
    file = Path(given.file or "stored")
    return TrainOptions(
        file=file,
        converted=given.converted or "",
        stored=given.stored,
        won_values=_values("--won-values", given.won_values),
        lost_values=_values("--lost-values", given.lost_values),
        others_lost=given.others_lost,
        id=given.id,
        group=given.group,
        skip=tuple(given.skip),
        keep=tuple(given.keep),
        missing=_values("--missing", given.missing),
        date_order=given.date_order,
        encoding=given.encoding,
        at=given.at,
        converted_at=given.converted_at,
        since_ms=_day_ms("--since", given.since),
        until_ms=_day_ms("--until", given.until),
        horizon_days=given.horizon,
        budget_seconds=given.budget,
        out=Path(given.out) if given.out else Path(f"{_stem(file)}-model"),
        replace=given.replace,
        name=given.name,
        version=given.version,
        yes=given.yes,
        ask=given.ask,
        json_lines=given.json_lines,
        arguments=tuple(arguments),
    )


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="leadscore_export.train",
        description="Trains a model on a CSV of past leads, and writes its bundle with a report.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("file", nargs="?", help="CSV (or .csv.gz) with one past lead a row")
    add("--converted", metavar="COLUMN", help="column with the outcome")
    add("--stored", type=int, metavar="DESCRIPTOR", help="stored leads of a model, handed over by a program")
    add("--won-values", action="append", default=[], metavar="LIST", help='such as "Closed Won,Won"')
    add("--lost-values", action="append", default=[], metavar="LIST", help='such as "Closed Lost"')
    add("--others-lost", action="store_true", help="every other value means not converted")
    add("--at", metavar="COLUMN|DATE", help="when a row was as it is")
    add("--converted-at", metavar="COLUMN", help="column with the date of the conversion")
    add("--since", metavar="DATE", help="leave out older rows")
    add("--until", metavar="DATE", help="up to when outcomes are known (default: the newest date)")
    add("--id", metavar="COLUMN", help="column that identifies a lead")
    add("--group", metavar="COLUMN", help="column of what belongs together, such as the account")
    add("--skip", action="append", default=[], metavar="COLUMN", help="column to leave out")
    add("--keep", action="append", default=[], metavar="COLUMN", help="column that was known at scoring")
    add("--missing", action="append", default=[], metavar="LIST", help='cells that mean missing: "Select,?"')
    add("--date-order", choices=("dmy", "mdy"), help="how dates with slashes are read")
    add("--encoding", metavar="NAME", help="of the file, such as windows-1252")
    add("--horizon", type=_days, default=90, metavar="DAYS", help="in which a conversion counts")
    add("--budget", type=_seconds, default=60.0, metavar="SECONDS", help="of the search")
    add("--out", metavar="FOLDER", help="folder of the result")
    add("--replace", action="store_true", help="replace the folder if it exists")
    add("--name", help="displayed name of the score")
    add("--version", help="version of the model; by default date and digest")
    add("--yes", action="store_true", help="keep fields that were perhaps not known at scoring")
    add("--ask", action="store_true", help="ask about such fields")
    add("--json-lines", action="store_true", help="write progress and result as JSON lines")
    return parser


def _values(option: str, lists: Sequence[str]) -> tuple[str, ...]:
    """The values of lists that are separated by commas; a value with a comma is in quotes."""
    import csv

    values = [value.strip() for text in lists for row in csv.reader([text]) for value in row]
    found = tuple(dict.fromkeys(value for value in values if value))
    if lists and not found:
        raise TrainError("usage", f'{option} has an empty list; write its values as "Closed Won,Won"')
    return found


def _days(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= _MAX_DAYS):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of days from 1 to {_MAX_DAYS:,}")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds above 0")
    return seconds


def _stem(file: Path) -> str:
    return file.name.removesuffix(".gz").removesuffix(".csv") or "leads"


def _day_ms(option: str, text: str | None) -> float | None:
    try:
        return None if text is None else unix_ms(text)
    except ValueError as problem:
        raise TrainError("usage", f"{option}: {text!r} is no date; write it as 2026-11-20") from problem
