"""The metrics of the webhook server, by the names that controller-runtime gave them.

Source: controller-runtime ``webhook/admission/metrics``, ``webhook/internal/metrics``.
"""

from __future__ import annotations

from typing import Final

from clientgo.metrics import Metric

_DEFAULT_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

WEBHOOK_REQUESTS: Final = Metric(
    "controller_runtime_webhook_requests_total",
    "Calls by path and HTTP status; a refused review is a 200",
    ("webhook", "code"),
)
WEBHOOK_LATENCY: Final = Metric(
    "controller_runtime_webhook_latency_seconds",
    "Time from the call of a path to its answer",
    ("webhook",),
    _DEFAULT_BUCKETS,
)
WEBHOOK_REQUESTS_IN_FLIGHT: Final = Metric(
    "controller_runtime_webhook_requests_in_flight", "Calls being answered", ("webhook",)
)
WEBHOOK_PANICS: Final = Metric(
    "controller_runtime_webhook_panics_total", "Admission handlers that failed unexpectedly"
)
CONVERSION_WEBHOOK_PANICS: Final = Metric(
    "controller_runtime_conversion_webhook_panics_total", "Converters that failed unexpectedly"
)
