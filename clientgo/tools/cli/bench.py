"""``clientgo bench``: measure queues and informers on this machine, yours beside ours.

::

    clientgo bench queue --queue my_project.queues:MyQueue
    clientgo bench limiter --limiter my_project.limits:MyLimiter
    clientgo bench informer --watch my_project.clients:watch_foos

Each row is printed as soon as it is measured, beside what one would use without this library.
Compare the ratios: both sides of each ran in turn.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from clientgo.testing import bench
from clientgo.testing.bench import limiters, queue_report
from clientgo.testing.bench.adapters import BenchError
from clientgo.testing.bench.measure import MOST_ROUNDS, Side, machine
from clientgo.testing.bench.queue_rows import QueueBench, Row, Settings
from clientgo.testing.bench.watches import follow
from clientgo.testing.bench.workload import Workload
from clientgo.tools.cli.inputs import UsageError, load_function
from clientgo.util.text.terminal import CommandParser, ExitStatus, Progress, complain
from clientgo.util.wait import stop_on_signals


def configure(parser: CommandParser) -> None:
    """Add the parts; ``run`` is what an invocation calls."""
    parser.show_examples(
        "clientgo bench queue",
        "clientgo bench queue --queue my_project.queues:MyQueue --workers 1,4,16",
        "clientgo bench limiter --limiter my_project.limits:MyLimiter",
        "clientgo bench informer --objects 20000",
    )
    parts = parser.add_subparsers(required=True, metavar="PART")
    _add_queue(parts.add_parser("queue", help="work queues, yours too, under a load that you set"))
    _add_limiter(parts.add_parser("limiter", help="rate limiters, yours too: what a failure costs"))
    _add_informer(parts.add_parser("informer", help="the informer beside a bare loop that decodes"))


def _add_queue(part: CommandParser) -> None:
    part.description = (
        "Measure work queues under the same load, in turn. A queue of yours has add, get and done, "
        "or put and get; its methods may be coroutines. Before it is measured it is checked: no "
        "item is taken by two workers at a time, none is lost, and one that is added while it is "
        "processed comes again."
    )
    part.show_examples(
        "clientgo bench queue --queue my_project.queues:MyQueue",
        "clientgo bench queue --workers 1,2,4,8,16 --page queues.html",
        "clientgo bench queue --items 1000 --adds 20 --work 0.001",
        "clientgo bench queue --json new.json --compare old.json",
        statuses="0, done; 1, a queue of yours breaks a promise or can't be measured; 2, wrong\n"
        "  arguments; 130, interrupted",
    )
    load, settings = Workload(), Settings()
    _add_yours(part, "queue", "MODULE:FACTORY")
    part.add_argument(
        "--only", action="store_true", help="measure yours and the base, without the other queues"
    )
    part.add_argument(
        "--workers", metavar="N,...", type=_counts, default=[load.workers],
        help=f"worker threads, or tasks of asyncio; a table for each (default: {load.workers})",
    )  # fmt: skip
    for defaults, option, kind, text in (
        (load, "producers", _positive, "threads or tasks that add"),
        (load, "items", _positive, "items in a round"),
        (load, "adds", _positive, "how often each item is added"),
        (load, "readds", _share, "share of the items that are added again while processed"),
        (load, "failures", _share, "share of the items whose first sync fails"),
        (load, "delays", _share, "share of the items that are added with a delay of 1 ms"),
        (load, "work", _seconds, "seconds for which the sync of an item waits"),
        (load, "compute", _seconds, "seconds of processor time of the sync of an item"),
        (
            settings,
            "seconds",
            _seconds,
            "time for the rounds of a row, 3 to 21; again for its latency, at most 3",
        ),
        (settings, "rate", _positive, "items added a second while the latency is measured"),
        (settings, "timeout", _positive, "seconds without an item after which a queue is given up"),
    ):
        _add_number(part, option, kind, getattr(defaults, option), text)
    part.add_argument("--json", type=Path, metavar="FILE", help="write the result")
    part.add_argument("--page", type=Path, metavar="FILE", help="write charts and table as HTML")
    part.add_argument("--compare", type=Path, metavar="FILE", help="compare with a result")
    part.set_defaults(run=partial(_until_interrupted, part.prog, _queue))


def _add_limiter(part: CommandParser) -> None:
    part.description = (
        "Measure rate limiters in turn: items that fail three times and succeed. A limiter of "
        "yours has when, forget and num_requeues."
    )
    _add_yours(part, "limiter", "MODULE:FACTORY")
    _add_number(part, "items", _positive, 10_000, "items in a round")
    _add_number(part, "seconds", _seconds, 2.0, "time for the rounds of a limiter, 3 to 21")
    part.set_defaults(run=partial(_until_interrupted, part.prog, _limiter))


def _add_informer(part: CommandParser) -> None:
    part.description = (
        "The informer beside a bare loop that decodes, and beside a client of yours: a function "
        "that gets the address of a server with Foos (samplecontroller.k8s.io/v1alpha1) and "
        "returns the events of a watch, as an iterable or an asynchronous one."
    )
    _add_yours(part, "watch", "MODULE:FUNCTION", "client")
    _add_number(
        part, "timeout", _positive, 10, "seconds without an event after which a client is given up"
    )
    _add_number(part, "objects", _positive, 10_000, "objects in a round")
    _add_number(part, "seconds", _seconds, 2.0, "time for each line; three rounds at least")
    part.set_defaults(run=partial(_until_interrupted, part.prog, _informer))


def _add_yours(part: CommandParser, option: str, place: str, what: str = "") -> None:
    part.add_argument(
        f"--{option}", dest="yours", metavar=place, action="append", default=[],
        help=f"a {what or option} of yours; may be repeated",
    )  # fmt: skip


def _add_number(
    part: CommandParser, option: str, kind: Callable[[str], float], default: float, text: str
) -> None:
    part.add_argument(
        f"--{option}", metavar="N" if kind is _positive else "X", type=kind, default=default,
        help=f"{text} (default: {default:g})",
    )  # fmt: skip


def _until_interrupted(
    command: str, run: Callable[[argparse.Namespace], int], options: argparse.Namespace
) -> int:
    """Run a part; Ctrl-C ends it after the round that runs.

    An exception from a signal's handler can be lost in what the garbage collector calls.
    """
    with stop_on_signals() as stop:
        options.stop = stop
        try:
            status = run(options)
        except (UsageError, BenchError) as error:
            complain(command, error)
            status = ExitStatus.USAGE
    return ExitStatus.INTERRUPTED if stop.is_set() else status


def _yours(options: argparse.Namespace) -> dict[str, Callable[..., Any]]:
    """Import what the user has named. Raises UsageError."""
    return {place: load_function(place) for place in options.yours}


def _positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return int(text)


def _counts(text: str) -> list[int]:
    return [_positive(each) for each in text.split(",")]


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0")
    return value


def _share(text: str) -> float:
    if (value := _seconds(text)) > 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share from 0 to 1")
    return value


def _queue(options: argparse.Namespace) -> int:
    names = queue_report.without_workers(Workload())
    load = Workload(**{name: getattr(options, name) for name in names})
    settings = Settings(options.seconds, options.rate, options.timeout)
    base = "RateLimitingQueue" if load.failures or load.delays else "Queue"
    _check_directories(options.json, options.page)
    earlier = None if options.compare is None else _earlier(options.compare)
    yours = _yours(options)
    standard = {base: bench.STANDARD[base]} if options.only else bench.STANDARD
    words = queue_report.in_words(queue_report.without_workers(load))
    print(f"{_machine()}; {words}", flush=True)
    measured = QueueBench({**yours, **standard}, load, settings, base=base)
    width = max(map(len, (*yours, *standard))) + 2
    rows: list[Row] = []
    for count in options.workers:
        found = _rows(measured, count, options)
        if options.stop.is_set():
            return ExitStatus.INTERRUPTED
        rows += found
        print(f"\n{count} worker{'s'[: count > 1]}\n{queue_report.head(width)}")
        print("\n".join(queue_report.lines(found, width)), flush=True)
    print(f"\n{queue_report.legend(base)}")
    result = queue_report.result(rows, load, settings, base)
    try:
        if options.json:
            options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        if options.page:
            options.page.write_text(queue_report.page(result), encoding="utf-8")
    except OSError as error:
        complain("clientgo bench queue", error)
        return ExitStatus.FAILED
    if earlier is not None:
        print("\n" + "\n".join(queue_report.compared(result, earlier)))
    failed = any(each.queue in yours and (each.broken or each.problem) for each in rows)
    return ExitStatus.FAILED if failed else ExitStatus.OK


def _rows(measured: QueueBench, count: int, options: argparse.Namespace) -> list[Row]:
    with Progress(f"{count} workers", MOST_ROUNDS) as progress:
        return measured.rows(count, progress=progress.show, stop=options.stop.is_set)


def _check_directories(*files: Path | None) -> None:
    """Say before anything is measured that a result can't be written."""
    for file in files:
        if file is not None and not file.parent.is_dir():
            raise UsageError(f"{file} can't be written: there is no directory {file.parent}")


def _earlier(file: Path) -> dict[str, Any]:
    try:
        read: dict[str, Any] = json.loads(file.read_bytes())
        read["workload"], read["machine"], read["date"], read["load_average"]
        [(row["queue"], row["workers"], row["items_a_second"]) for row in read["rows"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{file} is no result of clientgo bench queue: {error}") from error
    return read


def _machine() -> str:
    here = machine()
    return f"{here['python']}, {here['processors']} processors"


def _limiter(options: argparse.Namespace) -> int:
    factories = {**_yours(options), **limiters.STANDARD}
    with Progress("limiters", MOST_ROUNDS) as progress:
        rows = limiters.measure(
            factories,
            options.items,
            seconds=options.seconds,
            progress=progress.show,
            stop=options.stop.is_set,
        )
    if not rows:
        return ExitStatus.INTERRUPTED
    print("\n".join(limiters.lines(rows)))
    print("CPU: for an item that fails three times and succeeds; bytes: of one that has failed;")
    print("left: of one that has succeeded since; waits: after three failures of one item")
    return ExitStatus.FAILED if any(each.problem for each in rows) else ExitStatus.OK


def _informer(options: argparse.Namespace) -> int:
    yours = _yours(options)
    count = options.objects
    with bench.recorded_server(count, 2 * count) as url:
        _head("objects/s", "bare loop", *yours)
        for name, ours, bare, size in (
            (
                "first list, streamed",
                lambda: bench.sync_informer(f"{url}/full", count),
                lambda: bench.read_watch(f"{url}/full", count),
                count,
            ),
            (
                "first list, in pages",
                lambda: bench.sync_informer(f"{url}/full", count, stream_initial_list=False),
                lambda: bench.read_list(f"{url}/full"),
                count,
            ),
            (
                "watch",
                lambda: bench.sync_informer(f"{url}/live", 2 * count),
                lambda: bench.read_watch(f"{url}/live", 2 * count),
                2 * count,
            ),
            (
                "watch, the spec read",
                lambda: bench.sync_informer(
                    f"{url}/live", 2 * count, read=lambda foo: foo.spec.replicas
                ),
                lambda: bench.read_watch(f"{url}/live", 2 * count),
                2 * count,
            ),
        ):
            sides: dict[str, Side] = {"informer": ours, "bare loop": bare}
            if name.startswith("watch"):
                sides |= {
                    place: partial(
                        follow, watch, f"{url}/live", size, name=place, timeout=options.timeout
                    )
                    for place, watch in yours.items()
                }
            try:
                _line(name, options, sides, size)
            except BenchError as error:
                complain("clientgo bench informer", error)
                return ExitStatus.FAILED
    return ExitStatus.OK


def _head(unit: str, *peers: str) -> None:
    print(f"{_machine()}; x: times as fast as")
    print(f"{'':28}{unit:>12}" + "".join(f"{f'x {peer}':>{_width(peer)}}" for peer in peers))


def _line(name: str, options: argparse.Namespace, sides: Mapping[str, Side], count: int) -> None:
    ours, *peers = sides
    with Progress(name, MOST_ROUNDS) as progress:
        compared = bench.compare(
            count,
            sides,
            rounds=MOST_ROUNDS,
            budget=options.seconds,
            progress=progress.show,
            stop=options.stop.is_set,
        )
    if options.stop.is_set():
        return
    ratios = "".join(f"{compared.ratio(ours, peer):>{_width(peer)}.2f}" for peer in peers)
    print(f"{name:28}{compared.rate(ours):>12,.0f}{ratios}", flush=True)


def _width(peer: str) -> int:
    return max(16, len(peer) + 4)
