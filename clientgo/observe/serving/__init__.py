"""A small HTTP server for programs: health, metrics and webhooks.

::

    kubelet ──► /healthz  ─┐
                /readyz   ─┼─► Listener ──► Connection ──► Server ──► HealthChecks ──► check()
    Prometheus ► /metrics ─┤   threads      limits         paths  ├─► metrics_handler()
    API server ► webhooks ─┘                                      └─► clientgo.operator.webhooks

::

    ready = HealthChecks("readyz")
    ready.add("caches", check_caches)
    with Server(":8081", {"/readyz": ready.respond}):
        ...
"""

from clientgo.observe.serving.health_checks import (
    CheckResult,
    CheckTimeoutError,
    HealthChecks,
    HealthReport,
)
from clientgo.observe.serving.messages import NOT_FOUND, Handler, Request, Response
from clientgo.observe.serving.server import Server, ServingError
from clientgo.observe.serving.serving_certificate import (
    CertificateError,
    CertificateStatistics,
    ServingCertificate,
)

__all__ = [
    "Server",
    "Handler",
    "Request",
    "Response",
    "NOT_FOUND",
    "ServingError",
    "ServingCertificate",
    "CertificateError",
    "CertificateStatistics",
    "HealthChecks",
    "HealthReport",
    "CheckResult",
    "CheckTimeoutError",
]
