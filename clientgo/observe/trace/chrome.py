"""A trace as a picture of threads over time, for https://ui.perfetto.dev or chrome://tracing.

Each thread is a row. A sync and a request are spans; other hops with a key are slices of a
microsecond, because arrows only join slices; what has no key is an instant. Arrows follow a key
from the watch to the queue, and from the queue to the worker that gives it back.

Source: Trace Event Format (catapult), which Perfetto reads.
"""

from __future__ import annotations

import os
from typing import Any, Final, TextIO

from clientgo.observe.trace.hops import Hop
from clientgo.observe.trace.tracer import Tracer
from clientgo.util.copies import uncopyable

_SLICE: Final = 1.0
"""Microseconds that a hop is drawn with."""

_Way = tuple[str, str]
"""The name of an informer or queue, and a key: what one chain of arrows follows."""


@uncopyable("it has locks; make one in each process")
class ChromeTracer(Tracer):
    """Writes the events as they happen to a text stream, which is valid JSON when the trace ends.

    A file that was cut off can be loaded too.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._pid = os.getpid()
        self._rows: dict[str, int] = {}
        self._arrows: dict[_Way, int] = {}
        self._last_arrow = 0
        self._handling: dict[str, _Way] = {}
        """What the handler was called for that ran last in each thread."""
        self._requests: dict[str, dict[str, Any]] = {}
        """The request that each thread waits for."""

    def began(self, unix_time: float) -> None:
        self._stream.write("[\n")
        name = {"name": "clientgo", "began": unix_time}
        self._stream.write(_encoded({"ph": "M", "name": "process_name", "args": name} | self._at))

    def ended(self) -> None:
        self._stream.write("\n]\n")
        self._stream.flush()

    def hop(self, hop: Hop) -> None:
        if hop.hop == "request.sent":
            self._requests[hop.thread] = hop.details
        elif hop.hop == "request.answered":
            details = self._requests.pop(hop.thread, {}) | hop.details
            self._span(hop, details.get("method", "request"), details)
        elif hop.hop == "sync.end":
            self._span(hop, f"sync {hop.key}", hop.details)
        elif hop.key:
            self._write(hop, "X", dur=_SLICE, **_described(hop))
            if hop.hop != "cache.get":  # a read of the cache does not move the change
                self._follow(hop)
        else:
            self._write(hop, "i", s="t", **_described(hop))

    @property
    def _at(self) -> dict[str, int]:
        return {"pid": self._pid, "tid": 0}

    def _span(self, hop: Hop, name: str, details: dict[str, Any]) -> None:
        seconds = hop.details["seconds"]
        start = max(hop.at - seconds, 0.0)
        args = {"of": hop.of, "key": hop.key} | details
        self._write(hop, "X", ts=start * 1e6, dur=seconds * 1e6, name=name, args=args)

    def _follow(self, hop: Hop) -> None:
        way = (hop.of, hop.key)
        if hop.hop == "queue.add" and hop.thread in self._handling:
            self._arrive(hop, self._handling.pop(hop.thread))
        if hop.hop == "handler.call":
            self._handling[hop.thread] = way
        begins = hop.hop in ("watch.event", "fifo.append")
        if hop.hop == "queue.done" and not hop.details.get("again"):
            self._arrive(hop, way)
        elif way in self._arrows:
            self._arrow(hop, "t", self._arrows[way])
        elif begins or hop.hop.startswith("queue.add"):
            self._last_arrow += 1
            self._arrows[way] = self._last_arrow
            self._arrow(hop, "s", self._last_arrow)

    def _arrive(self, hop: Hop, way: _Way) -> None:
        arrow = self._arrows.pop(way, None)
        if arrow is not None:
            self._arrow(hop, "f", arrow, bp="e")

    def _arrow(self, hop: Hop, phase: str, number: int, **more: str) -> None:
        self._write(hop, phase, name="key", cat="key", id=number, **more)

    def _write(self, hop: Hop, phase: str, **fields: Any) -> None:
        row = self._rows.get(hop.thread)
        if row is None:
            row = self._rows[hop.thread] = len(self._rows) + 1
            self._put({"ph": "M", "name": "thread_name", "args": {"name": hop.thread}}, row)
        self._put({"ph": phase, "ts": hop.at * 1e6} | fields, row)

    def _put(self, event: dict[str, Any], row: int) -> None:
        self._stream.write(",\n" + _encoded(event | {"pid": self._pid, "tid": row}))


def _described(hop: Hop) -> dict[str, Any]:
    fixed = {"n": hop.n, "of": hop.of, "key": hop.key, "version": hop.version}
    args = {name: value for name, value in fixed.items() if value} | hop.details
    return {"name": hop.hop, "cat": hop.hop.partition(".")[0], "args": args}


def _encoded(event: dict[str, Any]) -> str:
    import json  # every work queue imports this package, few write a file

    return json.dumps(event, default=str)
