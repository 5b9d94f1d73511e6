"""Metrics: which ones there are, and where they go.

A `MetricsProvider` makes the instruments that components report to. The default provider drops the
numbers. To export them to Prometheus under client-go's names::

    from clientgo.observe.metrics import set_default_provider
    from clientgo.observe.metrics.prometheus import PrometheusProvider

    set_default_provider(PrometheusProvider())       # before queues and informers are made

or give a provider to one component: ``Queue(name="foos", metrics=PrometheusProvider())``. Only
`clientgo.observe.metrics.prometheus` needs the ``prometheus-client`` package (the ``metrics``
extra). `clientgo.observe.metrics.names` defines every metric.
"""

from clientgo.observe.metrics import crashes as _crashes  # noqa: F401 - counts from now on
from clientgo.observe.metrics.provider import (
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
