"""Where metrics go."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clientgo.observe.metrics import NO_METRICS, default_provider, set_default_provider
from clientgo.observe.metrics.names import WORKQUEUE_ADDS, WORKQUEUE_DEPTH
from tests.observe.metrics.recording import RecordingProvider


@pytest.fixture(autouse=True)
def _restore_default() -> Iterator[None]:
    yield
    set_default_provider(NO_METRICS)


def test_by_default_metrics_are_dropped() -> None:
    """MET-01."""
    provider = default_provider()
    gauge = provider.gauge(WORKQUEUE_DEPTH, name="foos")

    gauge.inc()
    gauge.dec()
    gauge.set(1.0)
    provider.counter(WORKQUEUE_ADDS, name="foos").inc()
    provider.histogram(WORKQUEUE_ADDS, name="foos").observe(1.0)
    provider.summary(WORKQUEUE_ADDS, name="foos").observe(1.0)
    gauge.remove()


def test_the_default_can_be_replaced_more_than_once() -> None:
    """MET-01: client-go keeps the first one (P-09)."""
    first, second = RecordingProvider(), RecordingProvider()

    set_default_provider(first)
    assert default_provider() is first
    set_default_provider(second)
    assert default_provider() is second
