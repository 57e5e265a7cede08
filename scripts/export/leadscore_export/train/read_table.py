"""Reads a CSV as columns of codes: each different cell is kept once."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from leadscore_export.featurizer.record_values import folded_name, nearest_text
from leadscore_export.train.command.failures import TrainError

Codes = npt.NDArray[np.int32]

_MAX_CELL = 1 << 20  # characters
_MAX_COLUMNS = 10_000
_CHUNK_ROWS = 20_000
_BLOCK_BYTES = 1 << 20
_DELIMITERS = (",", ";", "\t", "|")
_SEPARATOR_LINE = re.compile(r'^"?sep=([^\w"\r\n])"?[;,|\t ]*$', re.IGNORECASE)
_MARKED = re.compile(r"['=+\-@\t\r\n＝＋－＠]")
_FORMULA = re.compile(r'\s*=\s*"((?:[^"]|"")*)"\s*')
_OWN_APOSTROPHE = re.compile(r"'[dkmnrst][\s-][^\W\d_]", re.IGNORECASE)  # Dutch: 's-Hertogenbosch
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True)
class Column:
    """The cells of a column: `texts[codes[row]]`. Each text is in `texts` once.

    Cells of stored leads may be other JSON values.
    """

    name: str
    codes: Codes
    texts: Sequence[Any]

    def taken(self, rows: npt.NDArray[np.intp]) -> Column:
        """The column of some rows. Texts that none of them has may remain."""
        return Column(self.name, self.codes[rows], self.texts)

    def cells(self, rows: npt.NDArray[np.intp]) -> list[Any]:
        """The cells of some rows."""
        return [self.texts[code] for code in self.codes[rows].tolist()]


@dataclass(frozen=True)
class Table:
    """Columns of equal length, by name in the order of the file."""

    columns: dict[str, Column]
    rows: int

    def taken(self, rows: npt.NDArray[np.intp]) -> Table:
        """The table of some rows."""
        return Table({name: column.taken(rows) for name, column in self.columns.items()}, len(rows))

    def has(self, wanted: str) -> bool:
        """Whether a column has this name, apart from case, spaces, `_` and `-`."""
        return any(folded_name(name) == folded_name(wanted) for name in self.columns)

    def named(self, wanted: str, option: str) -> Column:
        """The column of a name. Case, spaces, `_`, `-` do not count, unless a column has exactly this name.

        Raises TrainError that lists the columns.
        """
        if wanted in self.columns:
            return self.columns[wanted]
        found = [name for name in self.columns if folded_name(name) == folded_name(wanted)]
        if len(found) == 1:
            return self.columns[found[0]]
        listed = ", ".join(f'"{name}"' for name in list(self.columns)[:12])
        if found:
            listed = ", ".join(f'"{name}"' for name in found)
            raise TrainError("no_column", f"{option}: {listed} can be {wanted!r}; give one exactly")
        raise TrainError(
            "no_column",
            f'{option}: the file has no column "{wanted}"{nearest_text(wanted, list(self.columns))}. Its '
            f"columns: {listed}",
            column=wanted,
            columns=list(self.columns),
        )


def read_table(path: Path, *, encoding: str | None = None) -> Table:
    """Reads a CSV or .csv.gz. Raises TrainError with line and remedy.

    `encoding`: Of the file; by default UTF-8, or UTF-16 by its first bytes.
    """
    used = "utf-8"
    try:
        used = _encoding_of(path, encoding)
        with _content(path) as content, io.TextIOWrapper(content, encoding=used, newline="") as text:
            return _table(text)
    except UnicodeDecodeError as problem:
        raise _encoding_error(path, used) from problem
    except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
        raise TrainError(
            "no_file", f"{path} cannot be inflated ({problem}); compress or download it again"
        ) from problem
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise TrainError("no_file", f"{path} cannot be read: {reason}; give the path of a CSV") from problem


def _table(text: IO[str]) -> Table:
    delimiter, header, skipped = _start(text)
    lines = chain(header.splitlines(keepends=True), text)
    csv.field_size_limit(_MAX_CELL)
    # Lenient reading takes the rest of the file for one cell after a quote that is never closed.
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        names = [name.strip() for name in next(reader, [])]
        _check_names(names)
        codes = [array("i") for _ in names]
        known: list[dict[str, int]] = [{} for _ in names]
        for rows in _chunks(reader, len(names), skipped):
            for column, cells in enumerate(zip_longest(*rows, fillvalue="")):
                if column < len(names):
                    words = known[column]
                    codes[column].extend([words.setdefault(cell, len(words)) for cell in cells])
            for column in range(len(names)):  # no row of the chunk has these columns
                if len(codes[column]) < len(codes[0]):
                    words = known[column]
                    missing = len(codes[0]) - len(codes[column])
                    codes[column].extend([words.setdefault("", len(words))] * missing)
    except csv.Error as problem:
        line = reader.line_num + skipped
        raise TrainError(
            "too_large" if "field limit" in str(problem) else "bad_csv",
            f"line {line} cannot be read as CSV ({problem}); check the quotes in this line and before it",
            line=line,
        ) from problem
    count = len(codes[0]) if codes else 0
    if count == 0:
        raise TrainError("no_rows", "the file has no rows below its header; give a CSV with one lead a row")
    columns = [
        _column(name, np.frombuffer(codes[index], dtype=np.int32), list(known[index]))
        for index, name in enumerate(names)
        if name
    ]
    return Table({column.name: column for column in columns}, count)


def _chunks(reader: Iterator[list[str]], width: int, skipped: int) -> Iterator[list[list[str]]]:
    """Rows with content, at most so many at once. Cells beyond the header must be empty."""
    chunk: list[list[str]] = []
    for row in reader:
        if len(row) != width:
            if not any(row):
                continue
            if any(row[width:]):
                line = reader.line_num + skipped  # type: ignore[attr-defined]
                raise TrainError(
                    "bad_csv",
                    f"line {line} has {len(row)} cells, but the header has {width}. Quote cells that contain "
                    "the delimiter",
                    line=line,
                )
        elif not any(row):
            continue
        chunk.append(row)
        if len(chunk) == _CHUNK_ROWS:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _start(text: IO[str]) -> tuple[str, str, int]:
    """The delimiter, the header and the number of lines before it."""
    skipped = 0
    header = text.readline()
    while header and not header.strip():
        header, skipped = text.readline(), skipped + 1
    if found := _SEPARATOR_LINE.match(header.strip()):
        return found[1], _whole_line(text, text.readline()), skipped + 1
    header = _whole_line(text, header)
    outside = "".join(header.split('"')[::2])
    return max(_DELIMITERS, key=outside.count), header, skipped


def _whole_line(text: IO[str], line: str) -> str:
    """A header with the line breaks in its quotes."""
    while line.count('"') % 2 and len(line) < _MAX_CELL and (more := text.readline()):
        line += more
    return line


def _check_names(names: Sequence[str]) -> None:
    """Raises TrainError for a header without names, or with one twice."""
    if not any(names):
        raise TrainError("no_rows", "the file is empty; give a CSV with a header and one lead a row")
    if len(names) > _MAX_COLUMNS:
        raise TrainError(
            "too_large",
            f"the header has {len(names):,} columns, more than {_MAX_COLUMNS:,}; remove columns that no CRM "
            "sends",
        )
    seen: dict[str, int] = {}
    for index, name in enumerate(names):
        if name and name in seen:
            raise TrainError(
                "bad_csv",
                f'columns {seen[name] + 1} and {index + 1} have the name "{name}"; rename or remove one',
                line=1,
            )
        seen[name] = index


def _column(name: str, codes: Codes, texts: list[str]) -> Column:
    """The column of cells as the service reads them: without the marks that spreadsheets add."""
    if not any(text[:1] in "'= " for text in texts if text):
        return Column(name, codes, texts)
    words: dict[str, int] = {}
    changed = np.array([words.setdefault(_value_of_cell(text), len(words)) for text in texts], dtype=np.int32)
    return Column(name, changed[codes], list(words))


def _value_of_cell(cell: str) -> str:
    """The text of a cell such as `="00123"` or `'00123`, as `valueOfCell` of the service reads it."""
    if cell.startswith("'"):
        text = cell[1:]
        if _MARKED.match(text):
            return text
        if text.endswith("'") and "'" not in text[:-1]:
            return text[:-1]
        return cell if _OWN_APOSTROPHE.match(cell) else text
    found = _FORMULA.fullmatch(cell)
    return found[1].replace('""', '"') if found else cell


def _content(path: Path) -> Any:
    """The bytes of a file, inflated if it is gzip."""
    with path.open("rb") as file:
        is_gzip = file.read(2) == b"\x1f\x8b"
    return gzip.open(path, "rb") if is_gzip else path.open("rb")


def _encoding_of(path: Path, asked: str | None) -> str:
    if asked is not None:
        try:
            return codecs.lookup(asked).name
        except LookupError as problem:
            raise TrainError(
                "usage", f"--encoding: {asked!r} is no encoding; give a name such as windows-1252"
            ) from problem
    with _content(path) as content:
        first = content.read(4)
    return next((name for bom, name in _BOMS if first.startswith(bom)), "utf-8")


def _encoding_error(path: Path, encoding: str) -> TrainError:
    """Names the line and byte of the first character that is not of the encoding."""
    decoder = codecs.getincrementaldecoder(encoding)()
    line, byte = 1, 0
    with _content(path) as content:
        for block in iter(lambda: content.read(_BLOCK_BYTES), b""):
            held = len(decoder.getstate()[0])
            try:
                decoder.decode(block)
            except UnicodeDecodeError as problem:
                at = max(0, problem.start - held)
                line, byte = line + block[:at].count(b"\n"), byte + at
                break
            line, byte = line + block.count(b"\n"), byte + len(block)
    return TrainError(
        "bad_encoding",
        f"line {line} (byte {byte + 1:,} of the file) is not {encoding.upper()}; save the file as UTF-8, or "
        "name its encoding: --encoding windows-1252",
        line=line,
        byte=byte + 1,
    )
