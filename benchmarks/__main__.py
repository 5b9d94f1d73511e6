"""Measure the grid: ``python -m benchmarks [--scale quick] [LAYER ...]``.

Prints each figure as it is measured, writes everything to a file, and says in one line what has
become slower by more than a quarter than the committed result of the same machine.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks import (
    controller_cells,
    informer_cells,
    memory_cells,
    queue_cells,
    store_cells,
)
from benchmarks import page as page_of_results
from benchmarks.grid import RESULTS, Grid, Scale, load, merged, slower
from benchmarks.plots import draw

LAYERS = {
    "queue": queue_cells.measure,
    "store": store_cells.measure,
    "informer": informer_cells.measure,
    "memory": memory_cells.measure,
    "controller": controller_cells.measure,
}


def main() -> int:
    """Measure, write, compare."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("layers", metavar="LAYER", nargs="*", help=f"of {', '.join(LAYERS)}")
    parser.add_argument("--scale", type=Scale, choices=list(Scale), default=Scale.QUICK)
    parser.add_argument("--out", type=Path, help="write the result here, as JSON")
    parser.add_argument("--into", type=Path, help="take the other layers from this result")
    parser.add_argument("--plots", type=Path, metavar="DIR", help="draw plots as SVG there")
    parser.add_argument("--page", type=Path, help="write headlines and targets into this page")
    parser.add_argument("--read", type=Path, help="take an earlier result instead of measuring")
    options = parser.parse_args()
    if unknown := set(options.layers) - set(LAYERS):
        parser.error(f"no layer is called {', '.join(sorted(unknown))}")
    result = load(options.read) if options.read else measure(options.scale, options.layers)
    committed = RESULTS / f"{options.scale}.json"
    before = load(committed) if committed.exists() and not options.read else None
    if options.into:
        result = merged(load(options.into), result)
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if options.plots:
        draw(result, options.plots)
    if options.page:
        page_of_results.write(options.page, result)
    if before:
        print(slower(result, before))
    return 0


def measure(scale: Scale, layers: Iterable[str]) -> dict[str, Any]:
    """Measure layers, or all; return the result."""
    logging.disable(logging.CRITICAL)
    grid = Grid(scale)
    for name in layers or LAYERS:
        started = time.perf_counter()
        LAYERS[name](grid)
        print(f"-- {name}: {time.perf_counter() - started:.0f} s", flush=True)
    return grid.result()


if __name__ == "__main__":
    sys.exit(main())
