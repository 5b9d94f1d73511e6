"""Metrics: which ones there are, and where they go.

A `MetricsProvider` makes the instruments that components report to. The default provider drops the
numbers. To export them to Prometheus under client-go's names::

    from clientgo.metrics import set_default_provider
    from clientgo.metrics.prometheus import PrometheusProvider

    set_default_provider(PrometheusProvider())       # before queues and informers are made

or give a provider to one component: ``Queue(name="foos", metrics=PrometheusProvider())``. Only
`clientgo.metrics.prometheus` needs the ``prometheus-client`` package (the ``metrics`` extra).
`clientgo.metrics.names` defines every metric.
"""

from clientgo.metrics import crashes as _crashes  # noqa: F401 - counts from now on
from clientgo.metrics.provider import (
    NO_METRICS,
    Counter,
    Gauge,
    Histogram,
    Instrument,
    Metric,
    MetricsProvider,
    default_provider,
    set_default_provider,
)

__all__ = [
    "MetricsProvider",
    "Metric",
    "Instrument",
    "Counter",
    "Gauge",
    "Histogram",
    "NO_METRICS",
    "default_provider",
    "set_default_provider",
]
