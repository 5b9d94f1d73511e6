"""Counting threads that failed, in the default provider.

It is on as soon as anything imports `clientgo.observe.metrics`. Source: client-go `util/runtime`,
where metrics hook into `PanicHandlers`.
"""

from __future__ import annotations

from clientgo.observe.metrics.names import THREAD_FAILURES
from clientgo.observe.metrics.provider import default_provider
from clientgo.util.process import crash_handlers


def _count(role: str, _error: BaseException) -> None:
    default_provider().counter(THREAD_FAILURES, thread=role).inc()


crash_handlers.append(_count)
