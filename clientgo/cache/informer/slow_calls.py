"""Why a handler lags behind: which of its calls are slow.

Promises a line in the log for each call that takes longer than ``SLOW_CALL``, and that calls go
through as they are. It costs more than a quick call does, so it is only put before a handler that
has work waiting.

Upstream: ``tools/cache`` processorListener, its tracing of slow calls.
"""

from __future__ import annotations

import logging
from typing import Any, Final

from clientgo.cache.informer.handlers import ResourceEventHandler
from clientgo.cache.reflector.quarantine import key_for_report
from clientgo.clock import Clock

_log = logging.getLogger("clientgo.cache.listener")

SLOW_CALL: Final = 0.1
"""Seconds, as in client-go: a handler that only enqueues a key takes a thousandth of that."""


class SlowCallLog(ResourceEventHandler[Any]):
    """Passes calls on to ``handler`` and logs the slow ones."""

    def __init__(self, handler: ResourceEventHandler[Any], name: str, clock: Clock) -> None:
        self._handler = handler
        self._name = name
        self._now = clock.monotonic

    # A context manager would be shorter, and take ten times as long as a quick call does.

    def on_add(self, obj: Any, is_in_initial_list: bool) -> None:
        started = self._now()
        try:
            self._handler.on_add(obj, is_in_initial_list)
        finally:
            self._called("add", obj, self._now() - started)

    def on_update(self, old: Any, new: Any) -> None:
        started = self._now()
        try:
            self._handler.on_update(old, new)
        finally:
            self._called("update", new, self._now() - started)

    def on_resync(self, old: Any, new: Any) -> None:
        started = self._now()
        try:
            self._handler.on_resync(old, new)
        finally:
            self._called("resync", new, self._now() - started)

    def on_delete(self, obj: Any) -> None:
        started = self._now()
        try:
            self._handler.on_delete(obj)
        finally:
            self._called("delete", obj, self._now() - started)

    def _called(self, what: str, obj: Any, took: float) -> None:
        if took > SLOW_CALL:
            key = key_for_report(obj)
            _log.info(
                "%s: the handler took %.1f s for the %s of %s while others wait",
                self._name,
                took,
                what,
                key,
                extra={"object": key},
            )
