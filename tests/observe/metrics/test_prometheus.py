"""Metrics in a prometheus-client registry."""

from __future__ import annotations

import gc
import weakref

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from clientgo.observe.metrics import Metric, names
from clientgo.observe.metrics.prometheus import PrometheusProvider


def exported(registry: CollectorRegistry) -> str:
    return generate_latest(registry).decode()


def test_instruments_are_exported_under_their_names_and_labels() -> None:
    registry = CollectorRegistry()
    provider = PrometheusProvider(registry)

    provider.counter(names.WORKQUEUE_ADDS, name="foos").inc()
    depth = provider.gauge(names.WORKQUEUE_DEPTH, name="foos")
    depth.inc(3)
    depth.dec()
    provider.gauge(Metric("foos_kept", "Foos that are kept")).set(7)
    provider.histogram(names.WORKQUEUE_QUEUE_DURATION, name="foos").observe(0.5)
    provider.summary(names.REFLECTOR_ITEMS_PER_LIST, name="foos").observe(20)

    text = exported(registry)
    assert 'workqueue_adds_total{name="foos"} 1.0' in text
    assert 'workqueue_depth{name="foos"} 2.0' in text
    assert "foos_kept 7.0" in text
    assert 'workqueue_queue_duration_seconds_bucket{le="0.1",name="foos"} 0.0' in text
    assert 'workqueue_queue_duration_seconds_bucket{le="1.0",name="foos"} 1.0' in text
    assert 'le="9.999999999999999e-06"' in text
    assert 'reflector_items_per_list_sum{name="foos"} 20.0' in text


METRICS = [value for value in vars(names).values() if isinstance(value, Metric)]


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_every_metric_can_be_registered(metric: Metric) -> None:
    registry = CollectorRegistry()
    provider = PrometheusProvider(registry)
    labels = dict.fromkeys(metric.labels, "x")

    if metric.name.endswith("_total"):
        provider.counter(metric, **labels).inc()
    elif metric.buckets:
        provider.histogram(metric, **labels).observe(1.0)
    else:
        provider.gauge(metric, **labels).set(1.0)

    assert metric.name in exported(registry)


def test_providers_of_one_registry_share_their_metrics() -> None:
    """P-09: two parts of a program need not agree on one provider."""
    registry = CollectorRegistry()

    PrometheusProvider(registry).counter(names.WORKQUEUE_ADDS, name="a").inc()
    PrometheusProvider(registry).counter(names.WORKQUEUE_ADDS, name="b").inc()

    text = exported(registry)
    assert 'workqueue_adds_total{name="a"} 1.0' in text
    assert 'workqueue_adds_total{name="b"} 1.0' in text


def test_a_removed_series_is_no_longer_exported() -> None:
    """P-10."""
    registry = CollectorRegistry()
    provider = PrometheusProvider(registry)
    provider.gauge(names.WORKQUEUE_DEPTH, name="stays").set(1)
    gone = provider.gauge(names.WORKQUEUE_DEPTH, name="gone")
    gone.set(1)

    gone.remove()

    assert "gone" not in exported(registry)
    assert "stays" in exported(registry)


def test_a_series_is_exported_until_its_last_user_has_removed_it() -> None:
    """P-10: a new queue of the same name may start before the old one has ended."""
    registry = CollectorRegistry()
    provider = PrometheusProvider(registry)
    old = provider.gauge(names.WORKQUEUE_DEPTH, name="foos")
    new = provider.gauge(names.WORKQUEUE_DEPTH, name="foos")
    new.set(5)

    old.remove()
    assert 'workqueue_depth{name="foos"} 5.0' in exported(registry)
    new.remove()
    assert 'name="foos"' not in exported(registry)


def test_bucket_bounds_can_be_replaced() -> None:
    """P-12."""
    registry = CollectorRegistry()
    provider = PrometheusProvider(
        registry, buckets={names.WORKQUEUE_WORK_DURATION.name: (1, 100, 1000)}
    )

    provider.histogram(names.WORKQUEUE_WORK_DURATION, name="slow").observe(50)

    text = exported(registry)
    assert 'workqueue_work_duration_seconds_bucket{le="1000.0",name="slow"} 1.0' in text
    assert 'le="10.0"' not in text


def test_a_registry_that_nobody_uses_is_not_kept() -> None:
    registry = CollectorRegistry()
    PrometheusProvider(registry).counter(names.WORKQUEUE_ADDS, name="a").inc()
    gone = weakref.ref(registry)

    del registry
    gc.collect()

    assert gone() is None
