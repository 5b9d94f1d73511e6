"""A tracer that keeps what it sees, for tests and for people."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from itertools import takewhile
from typing import Final

from clientgo.observe.trace.hops import Hop
from clientgo.observe.trace.tracer import Tracer
from clientgo.util.copies import uncopyable

DEFAULT_LIMIT: Final = 100_000
"""Hops that a recorder keeps unless it is told otherwise: about 50 MB."""


@uncopyable("it has locks; make one in each process")
class Recorder(Tracer):
    """Keeps the last `limit` hops. Thread-safe.

    ::

        recorder = Recorder()
        with tracing(recorder):
            ...                                  # make and run a controller
            recorder.wait_for(lambda hop: hop.hop == "queue.done", timeout=10.0)
        for hop in recorder.hops(key="default/x"):
            print(hop.n, hop.hop, hop.details)
    """

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._hops: deque[Hop] = deque(maxlen=limit)
        self._waiting = 0
        self.began_at = 0.0
        """Unix seconds of the moment from which `Hop.at` counts."""

    def began(self, unix_time: float) -> None:
        self.began_at = unix_time

    def hop(self, hop: Hop) -> None:
        with self._lock:  # a condition takes three times as long to enter
            self._hops.append(hop)
            if self._waiting:
                self._changed.notify_all()

    def hops(self, hop: str = "", *, of: str = "", key: str = "", after: int = 0) -> list[Hop]:
        """Return the hops that are kept, in order.

        Only those with the name `hop` (or that begin with it, as ``queue.``), of a component, of a
        key, and numbered higher than `after`.
        """
        with self._changed:
            kept = list(self._hops)
        return [
            one
            for one in kept
            if one.n > after
            and (not of or one.of == of)
            and (not key or one.key == key)
            and (one.hop.startswith(hop) if hop.endswith(".") else hop in ("", one.hop))
        ]

    def wait_for(
        self, condition: Callable[[Hop], bool], timeout: float = 30.0, *, after: int = 0
    ) -> Hop:
        """Block until a hop numbered higher than `after` meets a condition; return the first.

        Raises TimeoutError after `timeout` seconds.
        """
        found: list[Hop] = []
        seen = after

        def look() -> bool:
            nonlocal seen
            news = list(takewhile(lambda one: one.n > seen, reversed(self._hops)))
            seen = news[0].n if news else seen
            found.extend(one for one in reversed(news) if condition(one))
            return bool(found)

        with self._changed:
            self._waiting += 1
            try:
                has_come = self._changed.wait_for(look, timeout)
            finally:
                self._waiting -= 1
            if not has_come:
                raise TimeoutError(
                    f"no such hop within {timeout:g} s; there are {len(self._hops)}, the last "
                    f"{[one.hop for one in list(self._hops)[-5:]]}"
                )
        return found[0]

    def clear(self) -> None:
        """Forget all hops."""
        with self._changed:
            self._hops.clear()
