"""The page of a report. It needs no other file, runs no script and asks no server."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_MAX_CELL = 120  # characters
_MAX_ROWS = 200

_STYLE = Path(__file__).with_name("style.css").read_text(encoding="utf-8")


def page(title: str, parts: Iterable[str]) -> str:
    """The whole document. `parts`: Escaped HTML."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>"
        f"<h1>{escape(title)}</h1>{''.join(parts)}</body></html>\n"
    )


def section(title: str, *parts: str) -> str:
    """A section with a heading. `parts`: Escaped HTML."""
    return f"<section><h2>{escape(title)}</h2>{''.join(parts)}</section>"


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph of a text. `kind`: `soft`, `warn` or nothing."""
    return f'<p class="{kind}">{escape(text)}</p>' if kind else f"<p>{escape(text)}</p>"


def listed(texts: Sequence[str]) -> str:
    """A list of texts; nothing for none."""
    return f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in texts)}</ul>" if texts else ""


def facts(named: Sequence[tuple[str, str]]) -> str:
    """Large figures with their names."""
    return (
        f'<div class="facts">{"".join(f"<div><b>{escape(b)}</b>{escape(a)}</div>" for a, b in named)}</div>'
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str | int]], *, drawn: Sequence[int] = ()) -> str:
    """A table. Columns whose name ends with a space hold numbers.

    `drawn`: Indexes of columns that hold escaped HTML.
    """
    kinds = [' class="number"' if name.endswith(" ") else "" for name in head]
    heads = "".join(f"<th{kind}>{escape(name.strip())}</th>" for name, kind in zip(head, kinds, strict=True))
    body = "".join(
        "<tr>"
        + "".join(
            f"<td{kind}>{cell if index in drawn else escape(_short(str(cell)))}</td>"
            for index, (cell, kind) in enumerate(zip(row, kinds, strict=True))
        )
        + "</tr>"
        for row in rows[:_MAX_ROWS]
    )
    more = len(rows) - _MAX_ROWS
    note = paragraph(f"and {more:,} more", "soft") if more > 0 else ""
    return f'<div class="wide"><table><tr>{heads}</tr>{body}</table></div>{note}'


def _short(text: str) -> str:
    return text if len(text) <= _MAX_CELL else f"{text[: _MAX_CELL - 1]}…"
