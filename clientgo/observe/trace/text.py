"""A trace for people: one line for each hop, or one block for each key."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TextIO

from clientgo.observe.trace.hops import Hop
from clientgo.observe.trace.tracer import Tracer
from clientgo.util.copies import uncopyable
from clientgo.util.text.escapes import escaped


@uncopyable("it has locks; make one in each process")
class TextTracer(Tracer):
    """Writes a line for each hop to a stream, such as ``sys.stdout``."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def hop(self, hop: Hop) -> None:
        print(as_line(hop), file=self._stream, flush=True)


def as_line(hop: Hop) -> str:
    """Return a hop as one line: time, thread, hop, where, the key and its version, details."""
    thread = hop.thread.partition(" (")[0]
    line = f"{hop.at:9.6f}s  {thread:<22} {hop.hop:<22} {hop.of:<12} {_subject(hop)}"
    return escaped(line.rstrip())


def by_key(hops: Iterable[Hop]) -> str:
    """Return hops as one block for each key, in the order in which the keys appear.

    Hops without a key, such as those of a watch, are left out.
    """
    blocks: dict[str, list[str]] = {}
    for hop in hops:
        if hop.key:
            version = f"@{hop.version}  " if hop.version else ""
            line = f"{hop.at:9.6f}s  {hop.hop:<22} {hop.of:<12} {version}{_details(hop.details)}"
            blocks.setdefault(escaped(hop.key), []).append(escaped(line.rstrip()))
    return "\n\n".join("\n".join([key, *lines]) for key, lines in blocks.items())


def _subject(hop: Hop) -> str:
    key = f"{hop.key}@{hop.version}" if hop.version else hop.key
    return f"{key}  {_details(hop.details)}".lstrip()


def _details(details: dict[str, Any]) -> str:
    return " ".join(f"{name}={_value(value)}" for name, value in details.items() if value != "")


def _value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return "+".join(map(str, value))
    return f"{value!r}" if isinstance(value, str) and " " in value else str(value)
