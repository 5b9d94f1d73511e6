"""The writes of a controller, as the API server sees them.

Promises: a write is known by its verb, resource, namespace, name and how many like it came before,
so that it can be found again in another run. Events and Leases do not count: they say something
about the controller, not about the cluster.
"""

from __future__ import annotations

import threading
from collections import Counter
from typing import Final, NamedTuple

from clientgo.testcluster.server.faults import WRITES, ObservedRequest, Requests
from clientgo.util.clock import REAL_CLOCK, Clock

AGENT: Final = "perturbed-controller"
"""How the user agent of every life of the controller begins."""

_ABOUT_ITSELF: Final = frozenset({"events", "leases"})
_PARTS: Final = 25
"""A quiet time is waited for in so many parts. On a busy machine each lasts longer, as the work of
the controller does, and counts the same."""

_AROUND: Final = 12
"""So many requests before and after a write are shown."""


class Write(NamedTuple):
    """The ``nth`` write of its sort, from 0. ``name`` is empty if the server generates it."""

    verb: str
    resource: str
    namespace: str
    name: str
    nth: int = 0

    @property
    def requests(self) -> Requests:
        """Select requests of this sort by the controller."""
        return Requests((self.verb,), self.resource, self.namespace, self.name, AGENT)

    def __str__(self) -> str:
        name = f"{self.namespace}/{self.name or '(generated)'}".lstrip("/")
        return f"{self.verb} {self.resource} {name}" + (f" #{self.nth + 1}" if self.nth else "")


class RequestLog:
    """What a controller has requested. Thread-safe."""

    def __init__(self, clock: Clock = REAL_CLOCK) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._requests: list[ObservedRequest] = []
        self._activities = 0
        self.waited = 0.0
        """Seconds that :meth:`wait_until_quiet` has waited; fewer than by a late clock."""

    def add(self, request: ObservedRequest) -> None:
        """Note an answered request, if it is the controller's; called by the server."""
        if not request.user_agent.startswith(AGENT):
            return
        with self._changed:
            self._requests.append(request)
            if is_write(request) or _fills_a_cache(request):
                self._activities += 1
                self._changed.notify_all()

    def wait_for_reads(self, life: str, timeout: float) -> bool:
        """Wait until a life of the controller has listed or watched something."""
        with self._changed:
            return self._changed.wait_for(
                lambda: any(r.user_agent == life and _fills_a_cache(r) for r in self._requests),
                timeout,
            )

    def wait_until_quiet(self, seconds: float, timeout: float) -> bool:
        """Wait until the controller has written and listed nothing for so many seconds from now."""
        part, quiet = seconds / _PARTS, 0
        end = self.waited + timeout
        with self._changed:
            while quiet < _PARTS and self.waited < end:
                before, began = self._activities, self._clock.monotonic()
                self._clock.wait(self._changed, part)
                self.waited += min(part, self._clock.monotonic() - began)
                quiet = quiet + 1 if self._activities == before else 0
            return quiet == _PARTS

    def writes(self) -> list[Write]:
        """Return the successful writes in their order."""
        seen: Counter[tuple[str, ...]] = Counter()
        writes = []
        for request in self.requests():
            if is_write(request):
                if request.code < 400:
                    writes.append(Write(*request[:4], nth=seen[request[:4]]))
                seen[request[:4]] += 1
        return writes

    def requests(self) -> list[ObservedRequest]:
        """Return all requests in their order."""
        with self._changed:
            return list(self._requests)

    def around(self, write: Write) -> list[ObservedRequest]:
        """Return the requests next to a write, and the last ones."""
        requests = self.requests()
        like = [n for n, request in enumerate(requests) if request[:4] == write[:4]]
        if len(like) <= write.nth:
            return requests[-_AROUND:]
        at = like[write.nth]
        return requests[max(at - _AROUND // 2, 0) : at + _AROUND]


def _fills_a_cache(request: ObservedRequest) -> bool:
    return request.verb in ("list", "watch")


def is_write(request: ObservedRequest) -> bool:
    """Return True if a request changes the state that the controller is responsible for."""
    if request.verb not in WRITES or request.resource in _ABOUT_ITSELF:
        return False
    return not request.resource.endswith(("reviews", "/token"))  # they store nothing
