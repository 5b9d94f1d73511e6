"""Being told what the controllers do, for other systems of measurement than Prometheus.

Promises that a sink which fails harms nothing: its exceptions are logged, and that is all.

Source: Java Operator SDK Metrics.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol

from clientgo.meta import ObjectName

_log = logging.getLogger("clientgo.operator.metrics")


class MetricsSink(Protocol):
    """What a manager tells: ``Manager(sink=...)``.

    Called in the threads that work, so it should not block. ``result`` is one of
    ``controller_metrics.RESULTS``; ``delay`` is in seconds, None for no retry any more.
    """

    def event(self, controller: str, source: str, kind: str) -> None: ...

    def run_started(self, controller: str, key: ObjectName) -> None: ...

    def run_finished(
        self, controller: str, key: ObjectName, result: str, seconds: float
    ) -> None: ...

    def retry(
        self, controller: str, key: ObjectName, attempt: int, delay: float | None
    ) -> None: ...

    def cleaned_up(self, controller: str, key: ObjectName) -> None: ...


def tell(call: Callable[..., None], *args: object) -> None:
    """Call a method of a sink, whatever it raises."""
    try:
        call(*args)
    except Exception:  # noqa: BLE001 - measuring must not change what is measured
        _log.exception("the metrics sink failed in %s", getattr(call, "__qualname__", call))
