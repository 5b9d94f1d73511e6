"""``clientgo watch``: the objects of a kind as a table that follows their changes.

::

    clientgo watch pods -A
    clientgo watch deployments -n shop -l app=web
    clientgo watch foos > changes.txt      # not a terminal: one line for each change

The table is read from an informer's cache, so it survives what ends a plain watch.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TextIO

from clientgo.cache import DeletedFinalStateUnknown, Lister, SharedIndexInformer
from clientgo.client import Client, NoMatchError, selecting
from clientgo.informers import DynamicInformerFactory
from clientgo.meta import DecodeError, ListOptions, StatusError, Unstructured
from clientgo.meta.timestamps import parse_time
from clientgo.rest import ConfigError, TransportError, load_config
from clientgo.util.text.escapes import escaped
from clientgo.util.text.terminal import BOLD, CommandParser, ExitStatus, complain, paint
from clientgo.util.wait import stop_on_signals

_REFRESH: Final = 0.2
"""Seconds between two pictures at least."""
_CLEAR: Final = "\x1b[H\x1b[J"


def configure(parser: CommandParser) -> None:
    """Add the arguments; ``run`` is what an invocation calls."""
    parser.show_examples(
        "clientgo watch pods -A",
        "clientgo watch deployments -n shop -l app=web",
        statuses="0, stopped by Ctrl-C; 1, the API server refuses; 2, no such kind, wrong option",
    )
    parser.add_argument("kind", metavar="KIND", help="a plural, a kind or a short name: po, foos")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("-n", "--namespace", metavar="NAME", help="(default: that of the context)")
    where.add_argument("-A", "--all-namespaces", action="store_true")
    parser.add_argument("-l", "--selector", metavar="LABELS", default="", help="such as app=web")
    parser.add_argument("--kubeconfig", metavar="PATH", help="(default: as kubectl)")
    parser.add_argument("--context", metavar="NAME", help="a context of the kubeconfig")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    try:
        with (
            stop_on_signals() as stop,
            Client(load_config(options.kubeconfig, options.context)) as client,
        ):
            return watch(client, options, stop, sys.stdout)
    except (DecodeError, StatusError, TransportError) as error:
        complain("clientgo watch", error)
        return ExitStatus.FAILED
    except (ConfigError, NoMatchError, ValueError) as error:
        complain("clientgo watch", error)
        return ExitStatus.USAGE


def watch(client: Client, options: argparse.Namespace, stop: threading.Event, out: TextIO) -> int:
    """Show the objects until ``stop`` is set; return the exit status."""
    kind = client.mapper.resource(options.kind)
    if not {"list", "watch"} <= set(kind.verbs):
        raise ValueError(f"{kind.plural} cannot be watched; name another kind")
    everywhere = options.all_namespaces or not kind.namespaced
    namespace = "" if everywhere else options.namespace or client.namespace
    first = ListOptions(label_selector=options.selector, limit=1)
    # An informer would try again for ever what the server refuses.
    client.resource(kind).namespace(namespace).list(first, stop=stop)
    factory = DynamicInformerFactory(
        client, namespace=namespace, tweak_list_options=selecting(labels=options.selector)
    )
    with factory:
        informer, lister = factory.for_resource(kind)
        show: Callable[[threading.Event], object]
        if out.isatty():
            changed = threading.Event()
            informer.add_event_handler(
                on_add=lambda _: changed.set(),
                on_update=lambda _old, _new: changed.set(),
                on_delete=lambda _: changed.set(),
            )
            show = Picture(kind.plural, informer, lister, changed, out).follow
        else:
            lines = Lines(out, stop)
            informer.add_event_handler(
                on_add=lambda obj: lines.write("ADDED", obj),
                on_update=lambda old, new: lines.write("MODIFIED", new, old),
                on_delete=lines.deleted,
            )
            show = lines.wait
        factory.start(stop)
        show(stop)
    return 0


class Lines:
    """One line for each change, until ``stop`` is set or no program reads the lines any more."""

    def __init__(self, out: TextIO, stop: threading.Event) -> None:
        self._out = out
        self._stop = stop
        self._broken: BrokenPipeError | None = None

    def wait(self, stop: threading.Event) -> None:
        """Block until the end. Raises ``BrokenPipeError`` if the reader of the lines has ended."""
        stop.wait()
        if self._broken is not None:
            raise self._broken

    def write(self, what: str, obj: Unstructured, old: Unstructured | None = None) -> None:
        """Write a change; what a resync repeats is left out."""
        if self._broken is not None:
            return
        if old is None or old.metadata.resource_version != obj.metadata.resource_version:
            try:
                print(what, *row(obj, time.time())[:4], sep="\t", file=self._out, flush=True)
            except BrokenPipeError as error:
                self._broken = error
                self._stop.set()

    def deleted(self, obj: Unstructured | DeletedFinalStateUnknown) -> None:
        """Write a deletion, which may have been missed by the watch."""
        last = obj.obj if isinstance(obj, DeletedFinalStateUnknown) else obj
        if last is not None:
            self.write("DELETED", last)


class Picture:
    """The whole table, drawn again when something has changed."""

    def __init__(
        self,
        plural: str,
        informer: SharedIndexInformer[Unstructured],
        lister: Lister[Unstructured],
        changed: threading.Event,
        out: TextIO,
    ) -> None:
        self._plural = plural
        self._informer = informer
        self._lister = lister
        self._changed = changed
        self._out = out

    def follow(self, stop: threading.Event) -> None:
        """Draw until ``stop`` is set: on a change, and each second for the ages."""
        while not stop.is_set():
            self._changed.clear()
            self._out.write(_CLEAR + self.draw(time.time()))
            self._out.flush()
            self._changed.wait(1.0)
            stop.wait(_REFRESH)

    def draw(self, now: float) -> str:
        """Return the picture as text."""
        objects = self._lister.list()
        if not self._informer.has_synced():
            error = self._informer.last_error()
            why = f": {escaped(str(error))}" if error else ""
            return f"reading {self._plural} ... {len(objects)} so far{why}\n"
        head = paint(f"{self._plural}: {len(objects)}", BOLD, self._out)
        head += "; press Ctrl-C to stop\n"
        return head + table(row(obj, now) for obj in objects)


def row(obj: Unstructured, now: float) -> list[str]:
    """Return namespace, name, state, version and age of an object."""
    metadata = obj.metadata
    age = now - parse_time(metadata.creation_timestamp) if metadata.creation_timestamp else 0.0
    cells = [
        metadata.namespace or "-",
        metadata.name,
        "Terminating" if metadata.deletion_timestamp else state(obj.get("status")),
        metadata.resource_version,
        _duration(age),
    ]
    return [escaped(cell) for cell in cells]


def state(status: Any) -> str:
    """Return the state of an object in a word: its phase, its replicas, or a condition."""
    if not isinstance(status, Mapping):
        return "-"
    if isinstance(status.get("phase"), str):
        return str(status["phase"])
    if "replicas" in status:
        return f"{status.get('readyReplicas', 0)}/{status['replicas']}"
    for condition in reversed(status.get("conditions") or ()):
        if isinstance(condition, Mapping) and condition.get("status") == "True":
            return str(condition.get("type", "-"))
    return "-"


def table(rows: Iterable[Sequence[str]]) -> str:
    """Return rows under a head, in columns."""
    lines = [("NAMESPACE", "NAME", "STATE", "VERSION", "AGE"), *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        + "\n"
        for line in lines
    )


def _duration(seconds: float) -> str:
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= 2 * length:
            return f"{int(seconds // length)}{unit}"
    return f"{max(int(seconds), 0)}s"
