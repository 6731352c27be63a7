"""The largest errors of each differing call as small plots: whether they grow says what kind they are."""

from __future__ import annotations

import math
from collections.abc import Sequence

from jaxmigrate.verify.model import ErrorPoint

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 480, 150, 52, 24, 10
_MOST_DOTS = 60


def error_plots(points: Sequence[ErrorPoint], calls: int) -> str:
    """Relative and absolute error over calls, side by side; nothing for fewer than three errors above zero."""
    drawn = [
        _error_plot("relative", [(point.call, point.relative) for point in points], calls),
        _error_plot("absolute", [(point.call, point.absolute) for point in points], calls),
    ]
    return f'<div class="plots">{"".join(drawn)}</div>' if any(drawn) else ""


def _error_plot(kind: str, points: Sequence[tuple[int, float]], calls: int) -> str:
    """An SVG of error over call on a logarithmic scale."""
    shown = [(call, error) for call, error in points if error > 0 and math.isfinite(error)]
    if len(shown) < 3:
        return ""
    exponents = [math.log10(error) for _, error in shown]
    low, high = math.floor(min(exponents)), max(math.ceil(max(exponents)), math.floor(min(exponents)) + 1)
    last = max(calls - 1, shown[-1][0], 1)
    places = [(_x(call, last), _y(math.log10(error), low, high)) for call, error in shown]
    curve = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dots = "".join(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="2"/>' for x, y in places)
    return (
        f'<svg class="plot" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="Largest {kind} error of each differing call">'
        f"{''.join(_grid(low, high))}{_calls_axis(last, f'largest {kind} error')}"
        f'<polyline class="curve" points="{curve}"/>{dots if len(places) <= _MOST_DOTS else ""}</svg>'
    )


def _x(call: float, last: int) -> float:
    return _LEFT + (_WIDTH - _LEFT - 10) * call / last


def _y(exponent: float, low: int, high: int) -> float:
    return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (high - exponent) / (high - low)


def _grid(low: int, high: int) -> list[str]:
    step = max(1, (high - low) // 4)
    lines = []
    for exponent in range(low, high + 1, step):
        y = _y(exponent, low, high)
        lines.append(f'<line class="axis" x1="{_LEFT}" x2="{_WIDTH - 10}" y1="{y:.1f}" y2="{y:.1f}"/>')
        lines.append(f'<text x="{_LEFT - 8}" y="{y + 3:.1f}" text-anchor="end">1e{exponent}</text>')
    return lines


def _calls_axis(last: int, title: str) -> str:
    y = _HEIGHT - 6
    return (
        f'<text x="{_LEFT}" y="{y}">call 0</text>'
        f'<text x="{_WIDTH - 10}" y="{y}" text-anchor="end">call {last}</text>'
        f'<text x="{(_LEFT + _WIDTH) // 2}" y="{y}" text-anchor="middle">{title}</text>'
    )
