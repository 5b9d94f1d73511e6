"""Check the cost model: ``python -m benchmarks.scale [--objects N ...] [--out FILE]``.

Measures the constants with 10,000 objects, predicts what other numbers of objects cost with three
handlers, two indexes and four workers, runs that, and prints predicted by measured.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks.grid import commit, load, machine, versions
from benchmarks.scale import constants as measured_constants
from benchmarks.scale.constants import Sizes, json_size
from benchmarks.scale.model import (
    Constants,
    Load,
    bytes_per_object,
    cost,
    event_seconds,
    list_seconds,
    relist_seconds,
    sync_seconds,
)
from benchmarks.scale.run import Measured, Setup, run_apart

BEGIN, END = "<!-- measured: python -m benchmarks.scale -->", "<!-- end of measured -->"
CHECKED = Setup(objects=0, handlers=3, indexes=2, workers=4)
EXAMPLES = ((10_000, 10), (100_000, 100), (1_000_000, 1_000), (10_000_000, 10_000))
PARTS = ("first_list", "event", "relist", "resync", "bytes")


def predict(setup: Setup, constants: Constants) -> Measured:
    """Return what the model says about a run."""
    wanted = Load(
        objects=setup.objects,
        size=json_size(setup.note),
        handlers=setup.handlers,
        indexes=setup.indexes,
        workers=setup.workers,
    )
    sync = sync_seconds(wanted, constants)
    again = constants.resync + wanted.handlers * constants.handler
    # A resync brings objects whose bodies were read before.
    known = setup.workers and constants.queue
    return Measured(
        first_list=list_seconds(wanted, constants) + sync,
        event=event_seconds(wanted, constants) + sync,
        relist=relist_seconds(wanted, constants) + sync,
        resync=again + known,
        bytes=bytes_per_object(wanted, constants),
    )


def check(
    objects: Iterable[int],
    constants: Constants,
    events: int = 50_000,
    run: Callable[[Setup], Measured] = run_apart,
) -> list[dict[str, Any]]:
    """Run each number of objects; return what was predicted and measured."""
    found = []
    for count in objects:
        setup = replace(CHECKED, objects=count, events=min(events, 5 * count))
        runs = [run(setup) for _ in range(1 if count > 100_000 else 3)]
        middle = sorted(runs, key=lambda each: each.first_list)[len(runs) // 2]
        found.append(
            {
                "setup": asdict(setup),
                "predicted": {name: getattr(predict(setup, constants), name) for name in PARTS},
                "measured": asdict(middle),
            }
        )
        print(_row(found[-1]), flush=True)
    return found


def table(result: dict[str, Any]) -> str:
    """Return the tables of the page."""
    known = Constants(**result["constants"])
    names = {
        "first list in pages": (known.list, known.list_kb),
        "event, one of many": (known.event, known.event_kb),
        "… more if it arrives alone": (known.wakeup, 0),
        "… more for ten times the objects": (known.event_tenfold, 0),
        "relist": (known.relist, known.relist_kb),
        "resync": (known.resync, 0),
        "one index": (known.index, 0),
        "… more of an event for ten times the objects": (known.index_tenfold, 0),
        "one call of a handler": (known.handler, 0),
        "a key through the queue to a worker": (known.queue, 0),
        "first read of the body": (known.body, known.body_kb),
    }
    lines = ["| for an object or event | µs | … more for each KB |", "|---|---|---|"]
    for name, (own, for_kb) in names.items():
        lines.append(f"| {name} | {own * 1e6:.1f} | {f'{for_kb * 1e6:.1f}' if for_kb else ''} |")
    lines += [
        f"| memory | {known.heap:,.0f} bytes | {known.heap_kb:,.0f} bytes |",
        f"| … more when the body was read | {known.heap_body:,.0f} bytes"
        f" | {known.heap_body_kb:,.0f} bytes |",
        f"| memory of an index | {known.heap_index:,.0f} bytes | |",
        "",
        "| objects | first list, µs | event, µs | relist, µs | resync, µs | memory, bytes | peak |",
        "|---|---|---|---|---|---|---|",
        *(_row(each) for each in result["checked"]),
        "",
        "| objects | longest collection | longest write of 64 | a new index"
        " | … its longest hold of the lock |",
        "|---|---|---|---|---|",
    ]
    for each in result["checked"]:
        measured = Measured(**each["measured"])
        longest = max((each[1] for each in measured.collections.values()), default=0.0)
        pauses = (longest, measured.longest_write, measured.new_index, measured.index_pause)
        shown = " | ".join(f"{pause * 1e3:,.1f} ms" for pause in pauses)
        lines.append(f"| {each['setup']['objects']:,} | {shown} |")
    return "\n".join([*lines, "", *_examples(known)])


def _examples(known: Constants) -> Iterable[str]:
    """Return what the model says about controllers with two indexes, one handler, four workers."""
    yield (
        "| objects of 1 KB, changes a second | memory of the cache | first list, CPU"
        " | its requests, bytes | CPU after it | API server sends |"
    )
    yield "|---|---|---|---|---|---|"
    for count, rate in EXAMPLES:
        found = cost(
            Load(objects=count, size=1_000, events_per_second=rate, indexes=2, workers=4), known
        )
        yield (
            f"| {count:,}, {rate:,} | {found.memory / 1e9:.2f} GB | {found.first_list:,.1f} s"
            f" | {found.first_list_requests:,}, {found.first_list_bytes / 1e9:.2f} GB"
            f" | {found.cpu:.0%} of a core | {found.bytes_per_second / 1e6:.2f} MB/s |"
        )


def _row(found: dict[str, Any]) -> str:
    """Return measured values, and predicted by measured."""
    cells = [f"{found['setup']['objects']:,}"]
    for name in PARTS:
        value, ratio = found["measured"][name], 0.0
        if value:
            ratio = found["predicted"][name] / value
        shown = f"{value:,.0f}" if name == "bytes" else f"{value * 1e6:.1f}"
        cells.append(f"{shown} ({ratio:.2f})")
    cells.append(f"{found['measured']['peak_bytes']:,.0f}")
    return f"| {' | '.join(cells)} |"


def write_page(page: Path, text: str) -> None:
    """Replace what is between the marks."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")


def main() -> int:
    """Measure, compare, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--objects", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--out", type=Path, help="write the result here, as JSON")
    parser.add_argument("--page", type=Path, help="write the tables into this page")
    parser.add_argument("--read", type=Path, help="take an earlier result instead of measuring")
    options = parser.parse_args()
    result = load(options.read) if options.read else _measure(options.objects)
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(table(result))
    if options.page:
        write_page(options.page, table(result))
    return 0


def _measure(objects: Iterable[int]) -> dict[str, Any]:
    known = measured_constants.measure(Sizes())
    print(known, flush=True)
    return {
        "machine": machine(),
        "versions": dict(versions()),
        "commit": commit(),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "load": round(os.getloadavg()[0], 1),
        "constants": asdict(known),
        "checked": check(objects, known),
    }


if __name__ == "__main__":
    sys.exit(main())
