"""Measure the grid: ``python -m benchmarks [--scale quick] [LAYER ...]``.

Prints each figure as it is measured, writes everything to a file, and says in one line what has
become slower by more than a quarter than the committed result of the same machine.
"""

from __future__ import annotations

import argparse
import json
import logging
import shutil
import sys
import time
from pathlib import Path

from benchmarks import (
    controller_cells,
    informer_cells,
    memory_cells,
    queue_cells,
    store_cells,
)
from benchmarks.grid import RESULTS, Grid, Scale, load, slower
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
    parser.add_argument("--plots", type=Path, metavar="DIR", help="draw plots as SVG there")
    options = parser.parse_args()
    if unknown := set(options.layers) - set(LAYERS):
        parser.error(f"no layer is called {', '.join(sorted(unknown))}")
    logging.disable(logging.CRITICAL)
    grid = Grid(options.scale)
    for name in options.layers or LAYERS:
        started = time.perf_counter()
        LAYERS[name](grid)
        print(f"-- {name}: {time.perf_counter() - started:.0f} s", flush=True)
    if shutil.which("go") is None:
        grid.skip("informer, watch beside client-go", "no Go toolchain is installed")
    else:
        grid.skip("informer, watch beside client-go", "its modules are not available offline")
    result = grid.result()
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if options.plots:
        draw(result, options.plots)
    committed = RESULTS / f"{options.scale}.json"
    if committed.exists() and not (options.out and committed.samefile(options.out)):
        print(slower(result, load(committed)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
