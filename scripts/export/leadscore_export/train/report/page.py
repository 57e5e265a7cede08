"""The page of a report. It needs no other file, runs no script and asks no server."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_MAX_CELL = 120  # characters
_MAX_ROWS = 200

_STYLE = """
:root{color-scheme:light dark;--text:#1b1f24;--soft:#59636e;--line:#d8dde3;--page:#fff;--mark:#1f6feb;
--warn:#9a3412}
@media (prefers-color-scheme:dark){
:root{--text:#e6e9ed;--soft:#9aa4af;--line:#343b44;--page:#14171b;--mark:#6ea8fe;--warn:#fdba74}}
*{box-sizing:border-box}
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:0 auto;padding:1rem;color:var(--text);
background:var(--page);overflow-wrap:break-word}
h1{font-size:1.5rem;margin:.5rem 0}h2{font-size:1.15rem;margin:2.2rem 0 .4rem;
border-top:1px solid var(--line);padding-top:1rem}h3{font-size:1rem;margin:1.2rem 0 .2rem}
p{margin:.4rem 0;max-width:46rem}.soft{color:var(--soft)}.warn{color:var(--warn)}
.facts{display:flex;flex-wrap:wrap;gap:.5rem 2.2rem;margin:1rem 0}.facts b{display:block;font-size:1.4rem}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%}
td,th{min-width:7rem;padding:.25rem .6rem .25rem 0;text-align:left;vertical-align:top;
border-bottom:1px solid var(--line)}
th{font-weight:600;color:var(--soft)}td.number,th.number{min-width:0;text-align:right;font-variant-numeric:tabular-nums;
white-space:nowrap}
svg.chart{display:block;width:100%;max-width:40rem;height:auto}svg.share{width:6rem;height:.6rem}
svg text{font:12px system-ui,sans-serif;fill:var(--soft)}.grid{stroke:var(--line)}.even{stroke:var(--soft);
stroke-dasharray:4 4;fill:none}.line{stroke:var(--mark);stroke-width:2;fill:none}.dot,.bar{fill:var(--mark)}
.whisker{stroke:var(--text);stroke-width:1.5}
pre{white-space:pre-wrap;border:1px solid var(--line);padding:.6rem}ul{padding-left:1.2rem;margin:.4rem 0}
"""


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
