"""Watches over a streamed list that may never come to its end.

Promises a warning for every ten seconds that the end marker is late, and one call when the
deadline has passed. Ends, without a call, as soon as it is told that the list has ended.

Differs from client-go (``tools/cache`` initialEventsEndBookmarkTicker), which warns and waits for
ever: behind a server or proxy that never sends the marker an informer would never start.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

from clientgo.clock import Clock

_log = logging.getLogger("clientgo.cache.reflector")

WARN_EVERY: Final = 10.0
"""Seconds; an API server sends the marker within a second or two of the last object."""

DEADLINE: Final = 60.0
"""Seconds; enough for millions of objects, and a list in pages comes to the same end."""


class StreamedListWatchdog:
    """Calls ``overdue`` once :data:`DEADLINE` seconds have passed, unless :meth:`end` is first."""

    def __init__(self, overdue: Callable[[], None], *, clock: Clock, name: str) -> None:
        self._overdue = overdue
        self._clock = clock
        self._name = name
        self._ended = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name=f"{name} streamed-list-watchdog", daemon=True
        )
        self._thread.start()

    def end(self) -> None:
        """The list has ended, or no longer matters. Blocks until the watchdog has ended too."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        waited = 0.0
        while waited < DEADLINE:
            if self._clock.sleep(WARN_EVERY, self._ended):
                return
            waited += WARN_EVERY
            _log.warning(
                "%s: the streamed list has not ended after %.0f s; listing in pages after %.0f s",
                self._name,
                waited,
                DEADLINE,
            )
        try:
            self._overdue()
        except BaseException:  # noqa: BLE001 - a thread must not end without a word
            _log.exception("%s: ending an overdue streamed list failed", self._name)
