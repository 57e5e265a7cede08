"""A page with the reliability curves of an export. It needs no other file."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from leadscore_export.comparison.reliability import ReliabilityCurve

_SIZE, _MARGIN = 360, 44
_COLOURS = ("#8a8f98", "#1f6feb", "#c2410c")
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color:#1b1f24}"
    "pre{white-space:pre-wrap}table{border-collapse:collapse}"
    "td,th{padding:.15rem .7rem;text-align:right;border-bottom:1px solid #d8dde3}text{font-size:12px}"
)


def reliability_page(title: str, curves: Sequence[ReliabilityCurve], report: str) -> str:
    """The page as HTML. `report`: The report as text."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body><h1>{escape(title)}</h1>"
        "<p>Each point is a tenth of the rows. On the line, as many convert as the likelihood says. "
        "The model "
        "knows its own rows, so it is too sure of them. Calibration follows the out-of-fold curve.</p>"
        f"{_chart(curves)}{_table(curves)}<pre>{escape(report)}</pre></body></html>\n"
    )


def _chart(curves: Sequence[ReliabilityCurve]) -> str:
    largest = max([0.01, *(max(t.likelihood, t.converted) for curve in curves for t in curve.tenths)])
    whole = _SIZE + 2 * _MARGIN

    def point_at(likelihood: float, converted: float) -> str:
        x, y = _MARGIN + _SIZE * likelihood / largest, _MARGIN + _SIZE * (1 - converted / largest)
        return f"{x:.1f},{y:.1f}"

    parts = [
        f'<svg viewBox="0 0 {whole + 140} {whole}" role="img" aria-label="Reliability curves">',
        f'<rect x="{_MARGIN}" y="{_MARGIN}" width="{_SIZE}" height="{_SIZE}" fill="none" stroke="#d8dde3"/>',
        f'<polyline points="{point_at(0, 0)} {point_at(largest, largest)}" stroke="#d8dde3" fill="none"/>',
        f'<text x="{_MARGIN}" y="{whole - 8}">likelihood, 0 to {largest:.1%}</text>',
        f'<text x="{_MARGIN}" y="{_MARGIN - 12}">share converted, 0 to {largest:.1%}</text>',
    ]
    for index, curve in enumerate(curves):
        colour = _COLOURS[index % len(_COLOURS)]
        points = [point_at(tenth.likelihood, tenth.converted) for tenth in curve.tenths]
        parts.append(
            f'<polyline points="{" ".join(points)}" stroke="{colour}" stroke-width="2" fill="none"/>'
        )
        for point in points:
            x, y = point.split(",")
            parts.append(f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>')
        height = _MARGIN + 14 + 18 * index
        parts.append(f'<text x="{whole - 24}" y="{height}" fill="{colour}">{escape(curve.name)}</text>')
    return "".join([*parts, "</svg>"])


def _table(curves: Sequence[ReliabilityCurve]) -> str:
    head = "".join(f'<th colspan="2">{escape(curve.name)}</th>' for curve in curves)
    body = []
    for index in range(max((len(curve.tenths) for curve in curves), default=0)):
        cells = [
            f"<td>{curve.tenths[index].likelihood:.1%}</td><td>{curve.tenths[index].converted:.1%}</td>"
            if index < len(curve.tenths)
            else "<td></td><td></td>"
            for curve in curves
        ]
        body.append(f"<tr><th>{index + 1}</th>{''.join(cells)}</tr>")
    return f"<table><tr><th>tenth</th>{head}</tr>{''.join(body)}</table>"
