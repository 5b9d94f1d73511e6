"""``clientgo bench``: measure the queue and the informer of this machine.

::

    clientgo bench queue
    clientgo bench informer --objects 20000

Each line is printed as soon as it is measured, beside what one would use without this library.
Compare the ratios: both sides of each ran in turn.
"""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from clientgo.testing import bench
from clientgo.util.text.terminal import CommandParser, ExitStatus, Progress
from clientgo.util.wait import stop_on_signals

_ROUNDS: Final = 21


def configure(parser: CommandParser) -> None:
    """Add the parts; ``run`` is what an invocation calls."""
    parser.show_examples(
        "clientgo bench queue",
        "clientgo bench queue --items 100000 --seconds 5",
        "clientgo bench informer --objects 20000",
    )
    parts = parser.add_subparsers(required=True, metavar="PART")
    for name, help_text, run, size, what in (
        ("queue", "the work queue beside the standard library's queues", _queue, 20_000, "items"),
        ("informer", "the informer beside a bare loop that decodes", _informer, 10_000, "objects"),
    ):
        part = parts.add_parser(name, help=help_text, description=help_text)
        part.add_argument(
            f"--{what}", dest="size", metavar="N", type=_positive, default=size,
            help=f"{what} in a round (default: {size})",
        )  # fmt: skip
        part.add_argument(
            "--seconds", metavar="S", type=float, default=2.0,
            help="time for each line; three rounds at least (default: 2)",
        )  # fmt: skip
        part.set_defaults(run=partial(_until_interrupted, run))


def _until_interrupted(
    run: Callable[[argparse.Namespace], None], options: argparse.Namespace
) -> int:
    """Run a part; Ctrl-C ends it after the round that runs.

    An exception from a signal's handler can be lost in what the garbage collector calls.
    """
    with stop_on_signals() as stop:
        options.stop = stop
        run(options)
    return ExitStatus.INTERRUPTED if stop.is_set() else ExitStatus.OK


def _positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return int(text)


def _queue(options: argparse.Namespace) -> None:
    items = bench.keys(options.size)
    loads: list[tuple[str, Callable[[object], float]]] = [
        ("one thread: add, get, done", partial(bench.load_one_by_one, items=items))
    ]
    loads += [
        (
            f"1 producer, {workers} worker{'s'[: workers > 1]}",
            partial(bench.load_threads, items=items, producers=1, workers=workers),
        )
        for workers in (1, 4, 16)
    ]
    _head("items/s", "queue.Queue", "SimpleQueue")
    for name, load in loads:
        sides = {
            queue: partial(_fresh, load, queue)
            for queue in ("Queue", "queue.Queue", "queue.SimpleQueue")
        }
        _line(name, options, sides, options.size)


def _fresh(load: Callable[[object], float], queue: str) -> float:
    return load(bench.new_queue(queue))


def _informer(options: argparse.Namespace) -> None:
    count = options.size
    with bench.recorded_server(count, 2 * count) as url:
        _head("objects/s", "bare loop")
        for name, ours, bare, size in (
            (
                "first list, streamed",
                lambda: bench.sync_informer(f"{url}/full", count).wall,
                lambda: bench.read_watch(f"{url}/full", count).wall,
                count,
            ),
            (
                "first list, in pages",
                lambda: bench.sync_informer(f"{url}/full", count, stream_initial_list=False).wall,
                lambda: bench.read_list(f"{url}/full").wall,
                count,
            ),
            (
                "watch",
                lambda: bench.sync_informer(f"{url}/live", 2 * count).wall,
                lambda: bench.read_watch(f"{url}/live", 2 * count).wall,
                2 * count,
            ),
            (
                "watch, the spec read",
                lambda: (
                    bench.sync_informer(
                        f"{url}/live", 2 * count, read=lambda foo: foo.spec.replicas
                    ).wall
                ),
                lambda: bench.read_watch(f"{url}/live", 2 * count).wall,
                2 * count,
            ),
        ):
            _line(name, options, {"informer": ours, "bare loop": bare}, size)


def _head(unit: str, *peers: str) -> None:
    print(f"Python {platform.python_version()}, {os.cpu_count()} processors; x: times as fast as")
    print(f"{'':28}{unit:>12}" + "".join(f"{f'x {peer}':>16}" for peer in peers), flush=True)


def _line(
    name: str, options: argparse.Namespace, sides: Mapping[str, Callable[[], float]], count: int
) -> None:
    ours, *peers = sides
    with Progress(name, _ROUNDS) as progress:
        compared = bench.compare(
            count,
            sides,
            rounds=_ROUNDS,
            budget=options.seconds,
            progress=progress.show,
            stop=options.stop.is_set,
        )
    if options.stop.is_set():
        return
    ratios = "".join(f"{compared.ratio(ours, peer):>16.2f}" for peer in peers)
    print(f"{name:28}{compared.rate(ours):>12,.0f}{ratios}", flush=True)
