"""What a named queue reports."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from prometheus_client import CollectorRegistry

from clientgo.observe.metrics import NO_METRICS, names, set_default_provider
from clientgo.observe.metrics.prometheus import PrometheusProvider
from clientgo.testing import FakeClock
from clientgo.workqueue import DelayingQueue, Queue
from tests.observe.metrics.recording import RecordingProvider


@pytest.fixture
def default() -> Iterator[RecordingProvider]:
    provider = RecordingProvider()
    set_default_provider(provider)
    yield provider
    set_default_provider(NO_METRICS)


class Rig:
    """A named queue with metrics on a fake clock."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.metrics = RecordingProvider()
        self.queue: DelayingQueue[str] = DelayingQueue(
            name="foos", metrics=self.metrics, clock=self.clock
        )
        self._wait_for_refresher()

    def tick(self, seconds: float) -> None:
        """Step, and wait for the refresh that is due."""
        self.clock.step(seconds)
        self._wait_for_refresher()

    def _wait_for_refresher(self) -> None:
        """Wait until it waits without the lock; an add would leave its work to it until then."""
        self.clock.wait_for_waiters(1)
        self.queue.statistics()

    def value(self, metric: names.Metric) -> float:
        return self.metrics[metric].value

    def observed(self, metric: names.Metric) -> object:
        return pytest.approx(self.metrics[metric].observed)


def test_latencies_and_durations_are_those_of_upstreams_own_test() -> None:
    """MET-02, MET-03, MET-04, MET-05, MET-07."""
    rig = Rig()
    queue = rig.queue
    queue.add("a")
    rig.clock.step(50e-6)
    queue.get()
    assert rig.observed(names.WORKQUEUE_QUEUE_DURATION) == [5e-05]
    for _ in range(5):
        queue.add("a")
    assert rig.value(names.WORKQUEUE_ADDS) == 2
    assert rig.value(names.WORKQUEUE_DEPTH) == 1
    rig.clock.step(25e-6)
    queue.done("a")
    assert rig.observed(names.WORKQUEUE_WORK_DURATION) == [2.5e-05]
    queue.get()
    assert rig.observed(names.WORKQUEUE_QUEUE_DURATION) == [5e-05, 2.5e-05]
    queue.shut_down()


def test_ages_of_items_in_hand_are_refreshed_every_half_second() -> None:
    """MET-05."""
    rig = Rig()
    rig.queue.add("a")
    rig.queue.add("b")
    rig.queue.get()
    rig.clock.step(0.25)
    rig.queue.get()
    assert rig.value(names.WORKQUEUE_UNFINISHED_WORK) == 0

    rig.tick(0.25)
    assert rig.value(names.WORKQUEUE_UNFINISHED_WORK) == 0.75
    assert rig.value(names.WORKQUEUE_LONGEST_RUNNING) == 0.5
    rig.queue.done("a")
    rig.queue.done("b")
    rig.tick(0.5)

    assert rig.value(names.WORKQUEUE_UNFINISHED_WORK) == 0
    assert rig.value(names.WORKQUEUE_LONGEST_RUNNING) == 0
    rig.queue.shut_down()


@pytest.mark.parametrize("drain", [False, True])
def test_every_kind_of_shutdown_ends_the_refreshing_thread(drain: bool) -> None:
    """WQ-11, MET-05: client-go leaves it behind after a drain (P-05)."""
    before = set(threading.enumerate())
    rig = Rig()
    (refresher,) = set(threading.enumerate()) - before
    assert refresher.name == "workqueue-metrics-foos"
    assert refresher.daemon

    if drain:
        rig.queue.shut_down_with_drain()
    else:
        rig.queue.shut_down()

    assert not refresher.is_alive()
    assert not rig.clock.has_waiters()


def test_values_freeze_when_a_shutdown_begins() -> None:
    """MET-05."""
    rig = Rig()
    rig.queue.add("a")
    rig.queue.get()
    rig.tick(0.5)
    rig.queue.shut_down()

    rig.clock.step(3600.0)

    assert rig.value(names.WORKQUEUE_LONGEST_RUNNING) == 0.5


def test_every_add_with_a_delay_is_a_retry_and_no_other() -> None:
    """MET-06, DLY-02."""
    rig = Rig()
    rig.queue.add("a")
    rig.queue.add_after("b", -1.0)
    rig.queue.add_after("b", 0.0)
    rig.queue.add_after("c", 60.0)
    rig.queue.shut_down()
    rig.queue.add_after("d", 60.0)

    assert rig.value(names.WORKQUEUE_RETRIES) == 3


def test_items_that_wait_for_a_delay_are_reported() -> None:
    """P-11."""
    rig = Rig()
    rig.queue.add_after("a", 1.0)
    rig.queue.add_after("b", 2.0)
    assert rig.value(names.WORKQUEUE_DELAYED_ITEMS) == 2
    rig.clock.wait_for_waiters(2)

    rig.clock.step(1.0)
    rig.queue.get()

    assert rig.value(names.WORKQUEUE_DELAYED_ITEMS) == 1
    rig.queue.shut_down()
    assert rig.value(names.WORKQUEUE_DELAYED_ITEMS) == 0


def test_a_queue_without_a_name_reports_nothing_and_has_no_thread() -> None:
    """WQ-14."""
    metrics, before = RecordingProvider(), set(threading.enumerate())

    with Queue[str](metrics=metrics) as queue:
        queue.add("a")

        assert not metrics.instruments
        assert set(threading.enumerate()) <= before


def test_a_queue_without_a_provider_has_no_thread() -> None:
    """WQ-14."""
    before = set(threading.enumerate())

    with Queue[str](name="foos"):
        assert set(threading.enumerate()) <= before


def test_the_default_provider_serves_queues_that_are_built_afterwards(
    default: RecordingProvider,
) -> None:
    """MET-01, DLY-12."""
    own = RecordingProvider()

    with Queue[str](name="foos") as queue, Queue[str](name="bars", metrics=own):
        queue.add("a")

    assert default[names.WORKQUEUE_ADDS].value == 1
    assert default.labels[names.WORKQUEUE_ADDS.name] == {"name": "foos"}
    assert own.labels[names.WORKQUEUE_ADDS.name] == {"name": "bars"}


def test_a_queue_makes_its_instruments_once_and_labels_them_with_its_name() -> None:
    """MET-01."""
    rig = Rig()
    rig.queue.shut_down()

    assert len(rig.metrics.instruments) == 8
    assert all(labels == {"name": "foos"} for labels in rig.metrics.labels.values())


def test_the_series_are_removed_when_the_queue_is_shut_down_and_empty() -> None:
    """P-10."""
    rig = Rig()
    rig.queue.add("a")
    rig.queue.get()
    rig.queue.shut_down()
    assert not rig.metrics[names.WORKQUEUE_DEPTH].removed

    rig.queue.done("a")

    assert all(instrument.removed for instrument in rig.metrics.instruments.values())
    rig.queue.shut_down()


def test_instruments_are_called_with_the_queue_locked() -> None:
    """MET-08: so that they are never late, and must not call back."""
    rig = Rig()
    seen = []

    def inc(_amount: float = 1.0) -> None:
        seen.append(rig.queue._lock.locked())

    rig.metrics[names.WORKQUEUE_ADDS].inc = inc  # type: ignore[method-assign]

    rig.queue.add("a")

    assert seen == [True]
    rig.queue.shut_down()


def test_a_queue_can_report_to_prometheus() -> None:
    registry = CollectorRegistry()

    with Queue[str](name="foos", metrics=PrometheusProvider(registry)) as queue:
        queue.add("a")
        assert queue.statistics().ready == 1  # with the lock, which the refresher may have had
        assert registry.get_sample_value("workqueue_depth", {"name": "foos"}) == 1
        queue.done(queue.get()[0])
        assert registry.get_sample_value("workqueue_adds_total", {"name": "foos"}) == 1
    assert registry.get_sample_value("workqueue_depth", {"name": "foos"}) is None


def test_an_add_after_a_shutdown_counts_nowhere() -> None:
    """WQ-10."""
    rig = Rig()
    rig.queue.add("a")
    rig.queue.shut_down()

    rig.queue.add("late")

    assert rig.value(names.WORKQUEUE_ADDS) == 1
    assert rig.value(names.WORKQUEUE_DEPTH) == 1
