"""The health of a leader, for a liveness probe.

A check fails only for a process that considers itself leader although its lease has expired:
restart it. Source: tools/leaderelection, HealthzAdaptor.
"""

from __future__ import annotations

import threading
from typing import Final, Protocol

from clientgo.util.copies import CopyableError, uncopyable


class LeaseExpiredError(CopyableError):
    """A leader has not renewed its lease in time and has not stepped down either."""


class CheckedElector(Protocol):
    """An elector, as far as its health matters."""

    def check(self, tolerance: float) -> None:
        """Raise :class:`LeaseExpiredError` if the lease expired over ``tolerance`` seconds ago."""


@uncopyable("it has locks; make one in each process")
class LeaderHealth:
    """A health check that can be registered before there is an elector. Thread-safe.

    It is healthy until an elector is attached, which :func:`run_or_raise` does. ``tolerance`` is
    how many seconds after its end an expired lease is excused.
    """

    name: Final = "leaderElection"

    def __init__(self, tolerance: float) -> None:
        self.tolerance = tolerance
        self._lock = threading.Lock()
        self._elector: CheckedElector | None = None

    def attach(self, elector: CheckedElector) -> None:
        with self._lock:
            self._elector = elector

    def check(self) -> None:
        """Raise :class:`LeaseExpiredError` if this process should be restarted."""
        with self._lock:
            elector = self._elector
        if elector is not None:
            elector.check(self.tolerance)
