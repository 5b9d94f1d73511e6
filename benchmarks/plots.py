"""Bar charts as SVG, drawn from a result: one bar for each implementation, one chart for a cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from benchmarks.grid import Figure, number

CHARTS = {
    "queue-one-thread": ("queue", "add, get, done", ""),
    "queue-workers": ("queue", "threads", "1 producers, 4 workers"),
    "informer-watch": ("informer", "watch, Foos of 1 KB", ""),
    "informer-peers": ("informer", "watch in a process of its own", ""),
    "controller": ("controller", "reconciles", "4 workers"),
}
"""Layer, operation and workers of each chart; the largest size is drawn."""

_LINE, _LEFT, _WIDTH, _BAR = 26, 220, 720, 380


def draw(result: Mapping[str, Any], directory: Path) -> None:
    """Write a file for each chart whose figures are there."""
    directory.mkdir(parents=True, exist_ok=True)
    figures = [Figure(**each) for each in result["figures"]]
    for name, (layer, operation, workers) in CHARTS.items():
        cell = [
            each
            for each in figures
            if (each.layer, each.operation) == (layer, operation)
            and each.workers == workers
            and not each.smaller_is_better
        ]
        largest = max((each.size for each in cell), default=0)
        bars = [each for each in cell if each.size == largest]
        if bars:
            title = ", ".join(filter(None, (layer, operation, f"{largest:,}", workers)))
            (directory / f"{name}.svg").write_text(chart(title, bars), encoding="utf-8")


def chart(title: str, bars: Sequence[Figure]) -> str:
    """Return a bar chart of the medians."""
    top = max(each.value for each in bars)
    height = _LINE * (len(bars) + 2)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        'font-family="sans-serif" font-size="13">',
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
        f'<text x="8" y="18" font-weight="bold">{escape(title)}, {escape(bars[0].unit)}</text>',
    ]
    for line, each in enumerate(bars, start=1):
        y = line * _LINE + 6
        width = _BAR * each.value / top
        colour = "#326ce5" if each.ratios else "#9aa5b1"
        parts += [
            f'<text x="{_LEFT - 8}" y="{y + 14}" text-anchor="end">'
            f"{escape(each.implementation)}</text>",
            f'<rect x="{_LEFT}" y="{y}" width="{width:.1f}" height="18" fill="{colour}"/>',
            f'<text x="{_LEFT + width + 6:.1f}" y="{y + 14}">{number(each.value)}</text>',
        ]
    return "\n".join([*parts, "</svg>", ""])
