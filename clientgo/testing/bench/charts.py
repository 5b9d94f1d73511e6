"""Charts as SVG: bars for one measurement, lines for one over sizes or workers.

The colours follow the reader's, light or dark; on the documentation's pages they follow the theme.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Bar:
    """A value with its range; ``is_peer`` gives it another colour."""

    name: str
    value: float
    least: float
    most: float
    is_peer: bool = False


_STYLE = """<style>
.chart { --ink: #1f2933; --soft: #52606d; --line: #cbd2d9; --ours: #3949ab; --peer: #9aa5b1; \
--c0: #3949ab; --c1: #b45309; --c2: #0f766e; --c3: #be185d; --c4: #52606d; \
font-family: system-ui, sans-serif; font-size: 13px; }
@media (prefers-color-scheme: dark) { .chart { --ink: #e4e7eb; --soft: #a9b6c6; --line: #3e4c59; \
--ours: #9fa8ff; --peer: #7b8794; --c0: #9fa8ff; --c1: #fbbf24; --c2: #5eead4; --c3: #f9a8d4; \
--c4: #a9b6c6; } }
.chart text { fill: var(--ink); }
.chart .soft { fill: var(--soft); font-size: 12px; }
.chart .title { font-size: 15px; font-weight: 600; }
.chart .grid { stroke: var(--line); stroke-width: 1; }
.chart .ours { fill: var(--ours); }
.chart .peer { fill: var(--peer); }
.chart .range { stroke: var(--ink); stroke-width: 1.5; }
.chart .line { fill: none; stroke-width: 2.2; }
</style>"""

_WIDTH, _BAR, _TOP, _LETTER = 720, 26, 34, 7.2


def bars(title: str, drawn: Sequence[Bar], unit: str) -> str:
    """Return a picture with a bar for each value, its range as a line."""
    left = 16 + _LETTER * max(len(each.name) for each in drawn)
    most = max(each.most for each in drawn)
    ticks = _ticks(most)
    width = _WIDTH - left - 76

    def x(value: float) -> float:
        return left + width * value / max(most, ticks[-1])

    bottom = _TOP + _BAR * len(drawn) + 4
    parts = []
    for tick in ticks:
        parts.append(_line(x(tick), _TOP, x(tick), bottom))
        parts.append(_text(x(tick), bottom + 16, short(tick), "soft", "middle"))
    for place, each in enumerate(drawn):
        y = _TOP + _BAR * place + 4
        kind = "peer" if each.is_peer else "ours"
        parts += [
            _text(left - 8, y + 13, each.name, anchor="end"),
            f'<rect class="{kind}" x="{left:.0f}" y="{y}" width="{x(each.value) - left:.1f}" '
            'height="18" rx="2"/>',
            _line(x(each.least), y + 9, x(each.most), y + 9, "range"),
            _text(x(max(each.value, each.most)) + 6, y + 13, short(each.value)),
        ]
    parts.append(_text(left, bottom + 34, unit, "soft"))
    return _svg(title, bottom + 44, parts)


def lines(title: str, known: Mapping[str, list[tuple[int, float]]], over: str, unit: str) -> str:
    """Return a picture with a line for each name; both axes are logarithmic."""
    at = sorted({each for points in known.values() for each, _ in points})
    values = [value for points in known.values() for _, value in points]
    low, high = 10 ** math.floor(math.log10(min(values))), max(values) * 1.1
    left, right = 60, _WIDTH - 24 - _LETTER * max(map(len, known))
    top, bottom = _TOP + 4, _TOP + 260

    def x(value: int) -> float:
        span = math.log(at[-1] / at[0]) or 1.0
        return left + 12 + (right - left - 24) * math.log(value / at[0]) / span

    def y(value: float) -> float:
        return bottom - (bottom - top) * math.log(value / low) / math.log(high / low)

    parts = []
    for tick in _decades(low, high):
        parts += [_line(left, y(tick), right, y(tick))]
        parts += [_text(left - 6, y(tick) + 4, short(tick), "soft", "end")]
    parts += [_text(x(tick), bottom + 18, short(tick), "soft", "middle") for tick in at]
    middle = (left + right) / 2
    parts.append(_text(middle, bottom + 36, f"{over}, logarithmic", "soft", "middle"))
    parts.append(_text(left, top - 6, f"{unit}, logarithmic", "soft"))
    ends: list[float] = []
    for number, (name, points) in enumerate(
        sorted(known.items(), key=lambda each: -each[1][-1][1])
    ):
        colour = f"var(--c{number % 5})"
        path = " ".join(f"{x(each):.1f},{y(value):.1f}" for each, value in sorted(points))
        parts.append(f'<polyline class="line" style="stroke: {colour}" points="{path}"/>')
        for one, value in points:
            dot = f'cx="{x(one):.1f}" cy="{y(value):.1f}" r="3.5" style="fill: {colour}"'
            parts.append(f"<circle {dot}/>")
        # The names stand below each other where the lines end close together.
        end = max(y(max(points)[1]) + 4, *(each + 16 for each in ends[-1:]), 0)
        ends.append(end)
        parts.append(_text(right + 8, end, name, style=f"fill: {colour}"))
    return _svg(title, bottom + 48, parts, lower=26)


def _ticks(most: float) -> list[float]:
    """Return four to six round numbers from 0 up to about the most."""
    step = 10 ** math.floor(math.log10(most / 2 or 1))
    step *= next(factor for factor in (0.5, 1, 2, 5, 10) if most / (step * factor) <= 6)
    return [step * number for number in range(int(most / step) + 1)]


def _decades(low: float, high: float) -> Iterator[float]:
    while low <= high:
        yield from (low * factor for factor in (1, 2, 5) if low * factor <= high)
        low *= 10


def short(value: float) -> str:
    """Return a number as axes have it: 250, 40 k, 1.2 M."""
    for size, letter in ((1e6, " M"), (1e3, " k")):
        if value >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"


def _line(x1: float, y1: float, x2: float, y2: float, kind: str = "grid") -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _text(
    x: float, y: float, text: str, kind: str = "", anchor: str = "start", style: str = ""
) -> str:
    extra = "".join(
        f' {name}="{value}"' for name, value in (("class", kind), ("style", style)) if value
    )
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{extra}>{escape(text)}</text>'


def _svg(title: str, height: float, parts: Sequence[str], lower: float = 0) -> str:
    """Return the picture; ``lower`` moves everything but the title down."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="picture chart" '
        f'viewBox="0 0 {_WIDTH} {height + lower:.0f}" role="img">'
    )
    return "\n".join(
        [
            head,
            f"<title>{escape(title)}</title>",
            _STYLE,
            _text(8, 20, title, "title"),
            f'<g transform="translate(0 {lower:g})">' if lower else "<g>",
            *parts,
            "</g>",
            "</svg>",
            "",
        ]
    )
