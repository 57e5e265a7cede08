"""Charts of a report as inline SVG, in the colours of the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

_WIDTH, _HEIGHT = 640, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 36, 30, 48
_INNER_WIDTH, _INNER_HEIGHT = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
_NAMES_OF_MONTHS = 8
_QUARTERS = 4  # of an axis
_TENTHS_BELOW = 0.1  # for smaller values, an axis has tenths of a percent

Point = tuple[float, float]


def line_chart(
    label: str,
    points: Sequence[Point],
    *,
    x_title: str,
    y_title: str,
    largest: Point = (1.0, 1.0),
    x_names: Sequence[str] | None = None,
    diagonal: bool = False,
) -> str:
    """A line with its points. Shares are shown in percent.

    `largest`: The largest values of the axes, which begin at 0.
    `x_names`: Names of the points instead of shares, such as months.
    `diagonal`: Draws the line on which both shares are equal.
    """
    most_x, most_y = largest[0] if x_names is not None else _axis_end(largest[0]), _axis_end(largest[1])

    def at(point: Point) -> str:
        x, y = point[0] / most_x if most_x else 0.5, point[1] / most_y if most_y else 0.0
        return f"{_LEFT + _INNER_WIDTH * min(1.0, x):.1f},{_TOP + _INNER_HEIGHT * (1 - min(1.0, y)):.1f}"

    parts = [_frame(label, x_title, y_title, most_y)]
    if x_names is None:
        parts += [
            _text(_LEFT + _INNER_WIDTH * step / _QUARTERS, _HEIGHT - 26, _percent(step, most_x), "middle")
            for step in range(_QUARTERS + 1)
        ]
    else:
        step = -(-len(x_names) // _NAMES_OF_MONTHS)
        for index in range(0, len(x_names), step):
            parts.append(
                _text(float(at(points[index]).split(",")[0]), _HEIGHT - 26, x_names[index], "middle")
            )
    if diagonal:
        end = min(most_x, most_y)
        parts.append(f'<polyline class="even" points="{at((0, 0))} {at((end, end))}"/>')
    parts.append(f'<polyline class="line" points="{" ".join(map(at, points))}"/>')
    for point in points:
        x, y = at(point).split(",")
        parts.append(f'<circle class="dot" cx="{x}" cy="{y}" r="3"/>')
    return _svg(label, parts)


def bar_chart(
    label: str,
    bars: Sequence[tuple[str, float, float, float]],
    *,
    x_title: str,
    y_title: str,
) -> str:
    """Bars of shares with intervals. `bars`: Name, share, and the ends of its interval."""
    most = _axis_end(max([0.01, *(high for _, share, _, high in bars if share > 0)]))
    width = _INNER_WIDTH / max(1, len(bars))
    parts = [_frame(label, x_title, y_title, most)]
    for index, (name, share, low, high) in enumerate(bars):
        middle = _LEFT + width * (index + 0.5)

        def y(value: float) -> float:
            return _TOP + _INNER_HEIGHT * (1 - min(1.0, value / most))

        parts.append(
            f'<rect class="bar" x="{middle - width * 0.3:.1f}" y="{y(share):.1f}" width="{width * 0.6:.1f}" '
            f'height="{_TOP + _INNER_HEIGHT - y(share):.1f}"/>'
        )
        parts.append(
            f'<line class="whisker" x1="{middle:.1f}" x2="{middle:.1f}" y1="{y(low):.1f}" '
            f'y2="{y(high):.1f}"/>'
        )
        parts.append(_text(middle, _HEIGHT - 26, name, "middle"))
    return _svg(label, parts)


def share_bar(share: float) -> str:
    """A small bar for a cell of a table. `share`: From 0 to 1."""
    kept = min(1.0, max(0.0, share))
    return (
        '<svg class="share" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="bar" width="{100 * kept:.1f}" height="10"/></svg>'
    )


def _frame(label: str, x_title: str, y_title: str, most_y: float) -> str:
    bottom = _TOP + _INNER_HEIGHT
    parts = [f"<title>{escape(label)}</title>"]
    for step in range(_QUARTERS + 1):
        y = bottom - _INNER_HEIGHT * step / _QUARTERS
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(_text(_LEFT - 6, y + 4, _percent(step, most_y), "end"))
    parts.append(_text(_LEFT + _INNER_WIDTH / 2, _HEIGHT - 5, x_title, "middle"))
    # Beside the axis, a phone's large letters would cover the percentages.
    parts.append(_text(0, 14, y_title, "start"))
    return "".join(parts)


def _axis_end(most: float) -> float:
    """The end of an axis whose quarters are whole percentages, or whole tenths of one below 10 %."""
    step = _QUARTERS * (0.01 if most >= _TENTHS_BELOW else 0.001)
    return round(math.ceil(most / step - 1e-9) * step, 3)


def _percent(quarters: int, end: float) -> str:
    value = end * quarters / _QUARTERS
    return f"{value:.1%}" if end <= _TENTHS_BELOW else f"{value:.0%}"


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(label: str, parts: Sequence[str]) -> str:
    return (
        f'<svg class="chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(label)}">'
        f"{''.join(parts)}</svg>"
    )
