"""What a program shows of itself over HTTP: its health and its metrics.

::

    kubelet ──► /healthz  ─┐
                /readyz   ─┼─► Server ──► HealthChecks ──► check(), which returns or raises
    Prometheus ► /metrics ─┘          └─► metrics_handler(), from clientgo.serving.metrics

::

    ready = HealthChecks("readyz")
    ready.add("caches", check_caches)
    with Server(":8081", {"/readyz": ready.respond}):
        ...
"""

from clientgo.serving.health_checks import (
    CheckResult,
    CheckTimeoutError,
    HealthChecks,
    HealthReport,
)
from clientgo.serving.server import Handler, Request, Response, Server, ServingError

__all__ = [
    "Server",
    "Handler",
    "Request",
    "Response",
    "ServingError",
    "HealthChecks",
    "HealthReport",
    "CheckResult",
    "CheckTimeoutError",
]
