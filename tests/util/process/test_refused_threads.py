"""Every part that starts threads, while the system refuses one of them.

FIELD-74: the error reaches the caller, no thread is left, and the next call works.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from clientgo.aio import CallThreads, EventLoop
from clientgo.informers import SharedInformerFactory
from clientgo.observe.serving import Server
from clientgo.operator.manager.life_cycle import RunnableGroup, within
from clientgo.operator.runs.timers import Timers
from clientgo.record.event_watch import EventWatch
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testing.fake_source import FakeSource
from clientgo.util.clock import REAL_CLOCK
from clientgo.util.process import ThreadStartError
from clientgo.util.wait import StopEvent, call_when_set
from clientgo.workqueue import PriorityQueue, Queue, RateLimitingQueue, parallelize_until
from clientgo.workqueue import run_workers as run_workers_of
from tests.cache.builders import foo
from tests.cache.informer.making import informer_of
from tests.informers.test_kubernetes_models import FakeClient, pod
from tests.observe.metrics.recording import RecordingProvider
from tests.threads import refused_threads

Use = Callable[[], Callable[[], object]]
"""Makes a part; returns what starts it, uses it, and ends it, and may be called again."""


def informer() -> Callable[[], object]:
    source = FakeSource()
    source.add(foo("a"))
    made, stop = informer_of(source), StopEvent()
    made.add_event_handler(on_add=lambda _: stop.set())
    made.add_event_handler(on_add=lambda _: None)
    return lambda: made.run(stop)


def workers() -> Callable[[], object]:
    queue: RateLimitingQueue[str] = RateLimitingQueue()
    queue.add("a")
    stop = StopEvent()
    return lambda: run_workers_of(stop, queue, lambda _: stop.set(), workers=3)


def pieces() -> Callable[[], object]:
    done: list[int] = []

    def use() -> None:
        parallelize_until(None, 3, 5, done.append)
        assert sorted(done) == [0, 1, 2, 3, 4]

    return use


def delays() -> Callable[[], object]:
    queue: PriorityQueue[str] = PriorityQueue()

    def use() -> None:
        queue.add_after("a", 0.001)
        assert queue.get() == ("a", False)
        queue.shut_down()

    return use


def named_queue() -> Callable[[], object]:
    return lambda: Queue[str](name="foos", metrics=RecordingProvider()).shut_down()


def stop_watcher() -> Callable[[], object]:
    stop, called = threading.Event(), threading.Event()

    def use() -> None:
        call_when_set(stop, called.set)
        stop.set()
        assert called.wait(30)

    return use


def timers() -> Callable[[], object]:
    made, called = Timers("timers"), threading.Event()

    def use() -> None:
        made.set("a", 0.0, called.set)
        assert called.wait(30)
        made.stop()

    return use


def events() -> Callable[[], object]:
    seen: list[str] = []

    def use() -> None:
        watch = EventWatch(seen.append, name="events", queue_size=5, threads=3, clock=REAL_CLOCK)
        watch.offer("a")
        assert watch.flush(None)
        watch.stop()

    return use


def server() -> Callable[[], object]:
    made = Server("127.0.0.1:0", {})

    def use() -> None:
        made.start()
        made.stop()

    return use


def group() -> Callable[[], object]:
    made, ran = RunnableGroup(lambda error: None), threading.Semaphore(0)
    for name in "abc":
        made.add(name, lambda _: ran.release())

    def use() -> None:
        made.start()
        assert all(ran.acquire(timeout=30) for _ in range(3))
        assert made.stop(30.0) == []

    return use


def calls() -> Callable[[], object]:
    made = CallThreads("calls")

    def use() -> None:
        assert made.submit(lambda: 3).result(30) == 3
        assert made.stop() == []

    return use


def event_loop() -> Callable[[], object]:
    made = EventLoop("operator")

    def use() -> None:
        made._running()
        assert made.stop(30.0) == []

    return use


def api_server() -> Callable[[], object]:
    made = EmbeddedAPIServer()

    def use() -> None:
        made.start()
        made.stop()

    return use


PARTS: dict[str, tuple[Use, int]] = {
    "an informer": (informer, 3),
    "workers": (workers, 3),
    "parallelize_until": (pieces, 3),
    "delays": (delays, 1),
    "a queue with metrics": (named_queue, 1),
    "the watcher of a stop": (stop_watcher, 1),
    "timers": (timers, 1),
    "a watch of events": (events, 3),
    "a server": (server, 1),
    "runnables of a manager": (group, 3),
    "calls of coroutines": (calls, 1),
    "an event loop": (event_loop, 2),
    "the API server": (api_server, 1),
}
"""The parts, and how many threads each starts."""


@pytest.mark.parametrize(
    ("make", "refused"),
    [
        pytest.param(make, refused, id=f"{name}-{refused}")
        for name, (make, threads) in PARTS.items()
        for refused in range(1, threads + 1)
    ],
)
def test_a_refused_thread_leaves_everything_as_it_was(
    make: Use, refused: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    use = make()
    before = set(threading.enumerate())
    with refused_threads(monkeypatch, at=refused), pytest.raises(ThreadStartError):
        use()
    assert set(threading.enumerate()) <= before

    use()
    assert set(threading.enumerate()) <= before


def test_a_factory_starts_all_its_informers_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    from kubernetes.client import V1Node, V1Pod

    client: Any = FakeClient(pod("a"))
    before = set(threading.enumerate())
    stop = StopEvent()
    with SharedInformerFactory(client) as factory:
        informers = factory.informer_for(V1Pod), factory.informer_for(V1Node)
        with refused_threads(monkeypatch, at=2), pytest.raises(ThreadStartError):
            factory.start(stop)
        assert set(threading.enumerate()) <= before
        assert not any(informer.is_stopped() for informer in informers)
        factory.start(stop)
        assert all(factory.wait_for_cache_sync(stop).values())


def test_a_step_of_a_stop_runs_also_without_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    with refused_threads(monkeypatch, at=1):
        assert within(None, "caches", lambda: ran.append("step")) == []
    assert ran == ["step"]
