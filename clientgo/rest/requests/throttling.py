"""Logging of waits for the client's own rate limiter.

A wait of more than 50 ms is logged at DEBUG with its reason, one of more than a second also at
INFO, at most every ten seconds (with DEBUG on: every second). Source: client-go `rest`
Request.tryThrottleWithInfo.
"""

from __future__ import annotations

import logging
import threading
from typing import Final

from clientgo.util.clock import Clock
from clientgo.util.process import renew_in_child

_log = logging.getLogger("clientgo.rest.throttling")

_WORTH_A_LINE: Final = 0.050
_WORTH_ATTENTION: Final = 1.0
_INTERVAL: Final = 10.0
_INTERVAL_WITH_DEBUG: Final = 1.0

OWN_LIMIT: Final = "the client's own limit of requests per second, not the server's"


class ThrottlingLog:
    """Reports waits; one for each client, thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        renew_in_child(self, "_lock")
        self._last_report: float | None = None

    def waited(self, seconds: float, reason: str, method: str, url: str) -> None:
        """A request was held back for so long."""
        if seconds <= _WORTH_A_LINE:
            return
        text = "Waited %.3f s before %s %s because of %s"
        _log.debug(text, seconds, method, url, reason)
        if seconds > _WORTH_ATTENTION and self._may_report():
            level = logging.DEBUG if _log.isEnabledFor(logging.DEBUG) else logging.INFO
            _log.log(level, text, seconds, method, url, reason)

    def _may_report(self) -> bool:
        debug = _log.isEnabledFor(logging.DEBUG)
        interval = _INTERVAL_WITH_DEBUG if debug else _INTERVAL
        now = self._clock.monotonic()
        with self._lock:
            if self._last_report is not None and now - self._last_report < interval:
                return False
            self._last_report = now
            return True
