"""Faults for tests of controllers, and three scenarios that find most of their bugs.

Faults are values: ``server.inject(FailRequests(status=503, times=3))``. Each
scenario combines faults and is a ``with`` block in which the test changes objects:

- :func:`stale_view`: after a reconnect the controller sees an older state;
- :func:`unobserved_state`: a change and its reversal happen between two lists;
- :class:`CrashBetweenWrites`: it dies after its k-th write, before it receives the response.

A controller is correct if it converges after each. client-go has no such tools; the patterns are
from research on testing controllers (Sieve).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from msgspec import structs

from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.server.faults import (
    WRITES,
    CloseWatches,
    CutAnswers,
    DelayRequests,
    ExpireContinueTokens,
    ExpireHistory,
    FailRequests,
    Fault,
    FreezeWatches,
    HoldRequests,
    Requests,
    RestartServer,
    RotateToken,
    SkewClock,
    StaleLists,
    WithholdBookmarks,
)
from clientgo.util.copies import uncopyable

__all__ = [
    "FailRequests",
    "DelayRequests",
    "CutAnswers",
    "ExpireContinueTokens",
    "StaleLists",
    "FreezeWatches",
    "HoldRequests",
    "WithholdBookmarks",
    "CloseWatches",
    "ExpireHistory",
    "SkewClock",
    "RotateToken",
    "RestartServer",
    "Fault",
    "Requests",
    "WRITES",
    "StaleView",
    "stale_view",
    "unobserved_state",
    "CrashBetweenWrites",
]


@uncopyable("it has locks; make one in each process")
class StaleView:
    """What a test does within :func:`stale_view`."""

    def __init__(self, server: EmbeddedAPIServer, stale: StaleLists) -> None:
        self._server = server
        self._stale = stale
        self._watches = structs.replace(stale.requests, verbs=("watch",))

    def go_back(self, timeout: float = 60.0) -> None:
        """Let the client reconnect to the server that lags, and list the past.

        Raises:
            TimeoutError: no client has listed again in ``timeout`` seconds.
        """
        seen = self._server.struck(self._stale)
        self._server.inject(FailRequests(requests=self._watches, status=410))
        self._server.inject(CloseWatches(requests=self._watches))
        # The watch that is refused counts for the stale server, and the list that follows.
        if not self._server.wait_until_struck(self._stale, seen + 2, timeout):
            raise TimeoutError(f"no client has listed {self._watches.resource} again")


@contextmanager
def stale_view(
    server: EmbeddedAPIServer, resource: str, user_agent: str = ""
) -> Iterator[StaleView]:
    """Have a second API server that stays in the present state while the block changes it.

    Clients whose watches are open see the changes, until ``go_back`` moves the client to the
    server that lags. With the end of the block it catches up.
    """
    stale = StaleLists(requests=Requests(resource=resource, user_agent=user_agent))
    server.inject(stale)
    try:
        yield StaleView(server, stale)
    finally:
        server.lift(stale)


@contextmanager
def unobserved_state(
    server: EmbeddedAPIServer, resource: str, user_agent: str = ""
) -> Iterator[FreezeWatches]:
    """Hide what the block does: clients learn of the outcome from a list, of no step from a watch.

    All history expires with it, so that other clients list again too. The block is given the fault
    that hides: ``server.struck`` counts the watches that had something to say.
    """
    watches = Requests(verbs=("watch",), resource=resource, user_agent=user_agent)
    frozen = FreezeWatches(requests=watches)
    server.inject(frozen)
    try:
        yield frozen
    finally:
        server.inject(ExpireHistory())  # first: a client may open its next watch at any time
        server.inject(CloseWatches(requests=watches, abruptly=True))
        server.lift(frozen)


@uncopyable("it has locks; make one in each process")
class CrashBetweenWrites:
    """Cut a client off after its k-th write: that one takes effect, but its answer is lost.

    The client is known by how its ``User-Agent`` begins, so that the rest of the world goes on.
    In the block, wait until it has crashed, then stop it; what is started after the block is its
    next life.
    """

    def __init__(self, server: EmbeddedAPIServer, writes: int, user_agent: str) -> None:
        if writes < 1:
            raise ValueError("a client can crash after its first write at the earliest")
        mine = Requests(verbs=WRITES, user_agent=user_agent)
        self._server = server
        self._last = FailRequests(requests=mine, status=504, after_effect=True, skip=writes - 1)
        self._later = FailRequests(requests=mine, status=503, skip=writes, times=None)

    def wait(self, timeout: float = 60.0) -> bool:
        """Wait until the k-th write has happened; False if it has not."""
        return self._server.wait_until_struck(self._last, timeout=timeout)

    def __enter__(self) -> Self:
        self._server.inject(self._last)
        self._server.inject(self._later)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.lift(self._last)
        self._server.lift(self._later)
