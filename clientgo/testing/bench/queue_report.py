"""What is shown of measured queues: a table, a result as JSON, a page with charts, a comparison."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from html import escape
from typing import Any, Final

from clientgo.testing.bench import charts
from clientgo.testing.bench.measure import machine
from clientgo.testing.bench.queue_rows import Row, Settings, ranked
from clientgo.testing.bench.workload import Workload

_COLUMNS: Final = {
    "items/s": 11, "beside": 8, "p50 us": 8, "p99 us": 8, "p99.9 us": 10, "busiest": 9,
    "taken": 7, "switches": 10, "CPU us": 8, "bytes": 7,
}  # fmt: skip
"""The columns and their widths."""


def legend(base: str) -> str:
    """Explain the columns."""
    return (
        f"beside: times as fast as {base}, in the same rounds; p50 to p99.9: from add to get;\n"
        "busiest: what the busiest worker took, in even shares; taken, switches (of threads), CPU\n"
        "and bytes are for an item"
    )


def head(name_width: int) -> str:
    """Return the first line of a table."""
    return f"{'':{name_width}}" + "".join(f"{each:>{width}}" for each, width in _COLUMNS.items())


def lines(rows: Sequence[Row], name_width: int) -> Iterator[str]:
    """Return the rows of one number of workers as lines."""
    for what, group in ranked(rows):
        if what:
            yield f"  not ranked, {what}:" if group[0].items_a_second else f"  {what}:"
        for row in group:
            if row.problem:
                yield f"{row.queue:{name_width}}{row.problem}"
            else:
                cells = zip(_cells(row), _COLUMNS.values(), strict=True)
                yield f"{row.queue:{name_width}}" + "".join(f"{each:>{w}}" for each, w in cells)


def _cells(row: Row) -> Iterator[str]:
    yield _shown(row.items_a_second, ",.0f")
    yield _shown(row.beside_base, ".2f")
    for wait in (row.p50, row.p99, row.p999):
        yield _shown(wait, ",.0f", 1e6)
    yield _shown(row.busiest, ".2f")
    yield _shown(row.taken_an_item, ".2f")
    yield _shown(row.switches, ".3f")
    yield _shown(row.cpu, ".2f", 1e6)
    yield _shown(row.heap, ",.0f")


def _shown(value: float | None, form: str, factor: float = 1.0) -> str:
    return "-" if value is None else format(value * factor, form)


def without_workers(load: Workload) -> dict[str, Any]:
    """Return what is the same in all tables."""
    return {name: each for name, each in asdict(load).items() if name != "workers"}


def in_words(workload: Mapping[str, Any]) -> str:
    """Return what ``without_workers`` returned as text; what is zero is left out."""
    return ", ".join(f"{name} {value:,}" for name, value in workload.items() if value)


def result(rows: Sequence[Row], load: Workload, settings: Settings, base: str) -> dict[str, Any]:
    """Return everything as JSON."""
    return {
        "machine": machine(),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "load_average": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "workload": without_workers(load),
        "settings": asdict(settings),
        "base": base,
        "rows": [asdict(each) for each in rows],
    }


def compared(new: Mapping[str, Any], old: Mapping[str, Any]) -> Iterator[str]:
    """Return, line by line, how rates differ from those of an earlier result."""
    if new["workload"] != old["workload"]:
        pairs = ((each, old["workload"].get(each), now) for each, now in new["workload"].items())
        changed = ", ".join(f"{name} {then} then" for name, then, now in pairs if then != now)
        yield f"no comparison: the earlier result is of another load ({changed})"
        return
    if new["machine"] != old["machine"]:
        yield "the earlier result is of another machine: compare what is beside the base only"
    before = {(each["queue"], each["workers"]): each for each in old["rows"]}
    yield f"beside {old['date']} (load average {old['load_average']}, now {new['load_average']}):"
    for row in new["rows"]:
        then = before.get((row["queue"], row["workers"]))
        if then is None or not then["items_a_second"] or not row["items_a_second"]:
            continue
        factor = row["items_a_second"] / then["items_a_second"]
        line = f"{row['queue']}, {row['workers']} workers: {factor:.2f} times as fast as then"
        if (now := row["beside_base"]) and (once := then["beside_base"]):
            line += f"; beside {new['base']} {now:.2f}, then {once:.2f}"
        yield line


def page(found: Mapping[str, Any]) -> str:
    """Return a page with the charts and the table, without anything from elsewhere."""
    rows = [Row(**each) for each in found["rows"]]
    width = max(len(each.queue) for each in rows) + 2
    counts = sorted({each.workers for each in rows})
    text = [
        line
        for count in counts
        for line in (
            f"{count} worker{'s'[: count > 1]}",
            head(width),
            *lines([each for each in rows if each.workers == count], width),
            "",
        )
    ]
    here = found["machine"]
    machine_of = ", ".join(
        (here["processor"], f"{here['processors']} processors", here["system"], here["python"])
    )
    body = "\n".join(_charts([each for each in rows if not each.problem], counts))
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Queues</title>
<style>body {{ font-family: system-ui, sans-serif; max-width: 60em; margin: 2em auto; \
color-scheme: light dark; }} pre {{ overflow-x: auto; }} .chart {{ margin-bottom: 2em; }}</style>
<h1>Queues</h1>
<p>{escape(in_words(found["workload"]))}. {escape(machine_of)}, {found["date"]}, \
load average {found["load_average"]}.</p>
{body}
<pre>{escape(chr(10).join(text))}{escape(legend(found["base"]))}</pre>
</html>
"""


def _charts(rows: Sequence[Row], counts: Sequence[int]) -> Iterator[str]:
    if not rows:
        return
    if len(counts) > 1:
        for title, unit, factor, values in (
            ("Items a second", "items/s", 1.0, {_key(each): each.items_a_second for each in rows}),
            ("From add to get, 99 %", "us", 1e6, {_key(each): each.p99 for each in rows}),
        ):
            known: dict[str, list[tuple[int, float]]] = {}
            for (name, workers), value in values.items():
                if value:
                    known.setdefault(name, []).append((workers, value * factor))
            if known:
                yield charts.lines(title, known, "workers", unit)
        return
    drawn = [
        charts.Bar(
            each.queue, each.items_a_second or 0, each.least or 0, each.most or 0, bool(each.broken)
        )
        for each in rows
    ]
    unit = "items/s; median, and from the least to the most of the rounds; grey: not ranked"
    yield charts.bars(f"Items a second, {counts[0]} workers", drawn, unit)
    waits = [
        charts.Bar(
            each.queue,
            (each.p99 or 0) * 1e6,
            (each.p50 or 0) * 1e6,
            (each.p999 or 0) * 1e6,
            bool(each.broken),
        )
        for each in rows
        if each.p99
    ]
    if not waits:
        return
    yield charts.bars(
        f"From add to get, {counts[0]} workers", waits, "us; 99 %, and the range from 50 to 99.9 %"
    )


def _key(row: Row) -> tuple[str, int]:
    return row.queue, row.workers
