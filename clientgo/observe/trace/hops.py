"""A hop: one thing that happened to a key, or to a component, on the way through the loop.

`Hop.to_json` gives the line that a recording keeps; `hop_from_json` reads it back. `HOPS` names
every hop, in the order in which a change passes them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

HOPS: Final[dict[str, str]] = {
    "request.sent": "a request goes out (method, path)",
    "request.answered": "its answer has begun (status, 0 for none; seconds)",
    "list.page": "a page of a list has arrived (count)",
    "watch.opened": "a watch is open, from version",
    "watch.event": "an event has been read (type; status of an ERROR)",
    "watch.ended": "the watch is closed (reason)",
    "fifo.append": "a change waits for the informer (delta)",
    "fifo.pop": "the changes of a key are taken (deltas)",
    "index.update": "the cache has changed (action: add, update, delete)",
    "handler.call": "a handler is called (handler, event: add, update, resync, delete)",
    "queue.add": "a key was added (outcome: new, known, while_processing)",
    "queue.add_after": "a key waits for a delay (delay in seconds)",
    "queue.add_rate_limited": "a key failed or must wait, and gets its back-off (delay, failures)",
    "queue.get": "a worker took the key",
    "sync.start": "the sync of the key begins",
    "cache.get": "the cache was asked for a key (missing: true if it does not have it)",
    "event.recorded": "an event was reported (reason, message)",
    "sync.end": "it has ended (error, empty if there is none; not_ready, if it must wait; seconds)",
    "queue.forget": "the failures of the key are forgotten",
    "queue.done": "a worker gave the key back (again: it was added meanwhile)",
    "trace.lost": "hops were left out here: the tracer is slower than the program",
}
"""Every hop, what it means, and its details."""

_FIXED: Final = ("n", "at", "thread", "hop", "of", "key", "version")


@dataclass(slots=True)
class Hop:
    """One hop.

    `n` counts from 1 in the order of what happened. `at` is in seconds since the tracer was set.
    `of` is the name of the informer, queue or component. `key` and `version` (a resource version)
    are empty where a hop has none. `details` are those of `HOPS`.
    """

    n: int
    at: float
    thread: str
    hop: str
    of: str
    key: str = ""
    version: str = ""
    details: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> str:
        """Return one line of JSON; the details stand beside the other fields."""
        import json  # slow to import, and every work queue imports this package

        fields: dict[str, Any] = {
            "n": self.n,
            "at": round(self.at, 6),
            "thread": self.thread,
            "hop": self.hop,
            "of": self.of,
        }
        if self.key:
            fields["key"] = self.key
        if self.version:
            fields["version"] = self.version
        return json.dumps(fields | self.details, default=str)


def hop_from_json(line: str) -> Hop:
    """Read what `Hop.to_json` wrote. Raises ValueError for anything else."""
    import json

    fields = json.loads(line)
    try:
        known = {name: fields.pop(name) for name in _FIXED if name in fields}
        return Hop(**known, details=fields)
    except (AttributeError, TypeError) as error:
        raise ValueError(f"not a hop: {line[:80]}") from error
