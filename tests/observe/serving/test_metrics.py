"""The page that Prometheus reads."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from clientgo.observe.metrics.names import WORKQUEUE_ADDS
from clientgo.observe.metrics.prometheus import PrometheusProvider
from clientgo.observe.serving import Request
from clientgo.observe.serving.metrics import metrics_handler


def test_it_shows_the_metrics_of_a_provider() -> None:
    registry = CollectorRegistry()
    PrometheusProvider(registry).counter(WORKQUEUE_ADDS, name="foos").inc()

    response = metrics_handler(registry)(Request("/metrics"))

    assert response.status == 200
    assert response.content_type.startswith("text/plain")
    assert b'workqueue_adds_total{name="foos"} 1.0' in response.body


def test_it_speaks_the_format_that_is_asked_for() -> None:
    asked = Request("/metrics", headers={"accept": "application/openmetrics-text"})

    response = metrics_handler(CollectorRegistry())(asked)

    assert response.content_type.startswith("application/openmetrics-text")
    assert response.body.endswith(b"# EOF\n")
