"""The hops of an informer: each way that a change takes, with each queue, and the boundaries."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from typing import Any

import pytest

from clientgo.cache import (
    DELTA_FIFO,
    REAL_FIFO,
    Delta,
    DeltaFIFO,
    DeltaType,
    Indexer,
    QueueChoice,
    RealFIFO,
    SharedIndexInformer,
)
from clientgo.observe.trace import Hop, Recorder, tracing
from clientgo.testing import FakeSource
from clientgo.util.wait import StopEvent
from tests.cache.builders import foo
from tests.cache.running import no_delays, running

ADDED, DELETED = DeltaType.ADDED, DeltaType.DELETED
WAY = ["fifo.append", "fifo.pop", "index.update", "handler.call"]


def informer_of(source: FakeSource, queue: QueueChoice = DELTA_FIFO) -> SharedIndexInformer[object]:
    informer = SharedIndexInformer[object](source, name="foos", queue=queue, delays=no_delays())
    informer.add_event_handler(on_add=id, on_delete=id, on_update=lambda old, new: None)
    return informer


def handled(key: str, event: str) -> object:
    return lambda hop: (hop.hop, hop.key, hop.details.get("event")) == ("handler.call", key, event)


@pytest.mark.parametrize("queue", [DELTA_FIFO, REAL_FIFO])
def test_each_change_takes_the_whole_way_with_each_queue(queue: QueueChoice) -> None:
    source, recorder = FakeSource(sample=foo("sample")), Recorder()
    with tracing(recorder), running(informer_of(source, queue)):
        recorder.wait_for(lambda hop: hop.hop == "watch.opened")
        recorder.wait_for(lambda hop: hop.details.get("type") == "BOOKMARK")
        source.add(foo("a"))
        recorder.wait_for(handled("ns/a", "add"))
        source.update(foo("a"))
        recorder.wait_for(handled("ns/a", "update"))
        source.delete(foo("a"))
        recorder.wait_for(handled("ns/a", "delete"))

    hops = recorder.hops(key="ns/a")
    assert [hop.hop for hop in hops] == 3 * ["watch.event", *WAY]
    assert [hop.details["type"] for hop in hops if hop.hop == "watch.event"] == [
        "ADDED",
        "MODIFIED",
        "DELETED",
    ]
    assert [hop.details["action"] for hop in hops if hop.hop == "index.update"] == [
        "add",
        "update",
        "delete",
    ]
    assert [hop.version for hop in hops] == 5 * ["1"] + 5 * ["2"] + 5 * ["3"]


def test_a_list_is_a_page_and_replaced_deltas() -> None:
    source, recorder = FakeSource([foo("a"), foo("b")], supports_watch_list=False), Recorder()
    with tracing(recorder), running(informer_of(source)):
        recorder.wait_for(handled("ns/b", "add"))

    (page,) = recorder.hops("list.page")
    assert (page.of, page.version, page.details) == ("foos", "2", {"count": 2})
    assert [hop.hop for hop in recorder.hops(key="ns/b")] == WAY
    assert recorder.hops("fifo.append", key="ns/b")[0].details == {"delta": "Replaced"}


def test_a_deletion_that_the_watch_missed_is_a_tombstone() -> None:
    source, recorder = FakeSource([foo("a")], supports_watch_list=False), Recorder()
    with tracing(recorder), running(informer_of(source)):
        recorder.wait_for(lambda hop: hop.hop == "watch.opened")
        source.delete(foo("a"), unseen=True)
        source.expire_history()
        source.break_watches(OSError("cut"))
        recorder.wait_for(handled("ns/a", "delete"))

    gone = [hop for hop in recorder.hops(key="ns/a") if hop.details.get("tombstone")]
    assert [hop.hop for hop in gone] == ["fifo.append", "handler.call"]
    assert recorder.hops("watch.ended")[0].details["reason"]


def test_a_resync_is_a_handler_call_of_its_own() -> None:
    source, recorder = FakeSource([foo("a")]), Recorder()
    with tracing(recorder):
        informer = SharedIndexInformer[object](source, name="foos", resync_period=0.05)
        informer.add_event_handler(on_add=id, on_update=lambda old, new: None)
        with running(informer):
            recorder.wait_for(handled("ns/a", "resync"))

    resynced = recorder.hops("fifo.append", key="ns/a")[-1]
    assert resynced.details == {"delta": "Sync"}


@pytest.mark.parametrize("view", [None, lambda obj: obj.metadata])
def test_each_read_of_a_key_is_a_hop_of_its_reader(view: Callable[[Any], Any] | None) -> None:
    source, recorder = FakeSource([foo("a"), foo("b")]), Recorder()
    with tracing(recorder):
        informer = SharedIndexInformer[Any](source, name="foos", view=view, delays=no_delays())
        informer.add_event_handler(on_add=id, on_update=lambda old, new: None)
        with running(informer):
            recorder.wait_for(handled("ns/b", "add"))
            source.update(foo("a"))
            recorder.wait_for(handled("ns/a", "update"))
            found = informer.indexer.get_by_key("ns/a")
            assert informer.indexer.get(foo("b")) is informer.indexer.get_by_key("ns/b")
            missing = informer.indexer.get_by_key("ns/gone")

    stored = informer.indexer.list()
    assert (found in stored, missing) == (True, None)
    reads = recorder.hops("cache.get")
    assert [(hop.of, hop.key, hop.version, hop.details) for hop in reads] == [
        ("foos", "ns/a", "3", {}),
        ("foos", "ns/b", "2", {}),
        ("foos", "ns/b", "2", {}),
        ("foos", "ns/gone", "", {"missing": True}),
    ]
    assert {hop.thread for hop in reads} == {threading.current_thread().name}


def test_a_trace_knows_its_informers_as_long_as_they_exist() -> None:
    with tracing(Recorder()) as trace:
        kept, dropped = informer_of(FakeSource()), informer_of(FakeSource())
        assert trace.components() == [kept, dropped]
        del dropped
        gc.collect()
        assert trace.components() == [kept]
        for _ in range(3):
            informer_of(FakeSource())
            gc.collect()
        assert len(trace._components) == 2


def test_an_informer_that_is_not_traced_has_a_plain_indexer() -> None:
    assert type(informer_of(FakeSource()).indexer) is Indexer


def test_many_changes_of_a_key_are_taken_together() -> None:
    recorder = Recorder()
    with tracing(recorder):
        fifo = DeltaFIFO(name="foos")
        fifo.add(foo("a", rv=1))
        fifo.add(foo("b", rv=2))
        fifo.update(foo("a", rv=3))
        fifo.pop(lambda deltas, initial: None)

    assert [(hop.hop, hop.key, hop.version) for hop in recorder.hops()] == [
        ("fifo.append", "ns/a", "1"),
        ("fifo.append", "ns/b", "2"),
        ("fifo.append", "ns/a", "3"),
        ("fifo.pop", "ns/a", "3"),
    ]
    assert recorder.hops("fifo.pop")[0].details == {"deltas": ["Added", "Updated"]}


def test_what_a_queue_drops_is_no_hop() -> None:
    """The deletion of an unknown object is dropped by DeltaFIFO, and kept by RealFIFO."""
    delta, real = Recorder(), Recorder()
    with tracing(delta):
        fifo = DeltaFIFO(name="foos", known_objects=Indexer())
        fifo.apply([Delta(ADDED, foo("a")), Delta(DELETED, foo("b")), Delta(DELETED, foo("a"))])
    with tracing(real):
        RealFIFO(name="foos").delete(foo("b"))

    assert [hop.key for hop in delta.hops()] == ["ns/a", "ns/a"]
    assert [hop.key for hop in real.hops()] == ["ns/b"]


class _Holding(Recorder):
    """Holds one boundary until it is opened."""

    def __init__(self, boundary: str) -> None:
        super().__init__()
        self._boundary = boundary
        self.arrived = threading.Semaphore(0)
        self.open = threading.Event()

    def before(self, boundary: str, of: str, key: str) -> None:
        if boundary == self._boundary and not self.open.is_set():
            self.arrived.release()
            self.open.wait(30.0)


@pytest.mark.parametrize(
    ("boundary", "held"), [("watch.read", "watch.event"), ("fifo.take", "fifo.pop")]
)
def test_a_boundary_holds_its_component_and_nothing_else(boundary: str, held: str) -> None:
    source, tracer = FakeSource([foo("a")]), _Holding(boundary)
    with tracing(tracer) as trace:
        informer = informer_of(source)
        with running(informer):
            assert tracer.arrived.acquire(timeout=30.0)
            source.add(foo("b"))
            assert informer.statistics().store.objects == 0, "no lock is held"
            trace.flush()
            assert not tracer.hops(held)
            tracer.open.set()
            tracer.wait_for(handled("ns/b", "add"))


def test_an_informer_that_is_held_stops_when_the_tracer_lets_go() -> None:
    source, tracer = FakeSource([foo("a")]), _Holding("fifo.take")
    stop = StopEvent()
    with tracing(tracer):
        informer = informer_of(source)
        thread = threading.Thread(target=informer.run, args=(stop,))
        thread.start()
        assert tracer.arrived.acquire(timeout=30.0)
        stop.set()
        tracer.open.set()
        thread.join(30.0)

    assert not thread.is_alive()


def test_a_handler_that_fails_was_called() -> None:
    source, recorder = FakeSource([foo("a")]), Recorder()

    def fail(obj: object) -> None:
        raise ValueError("no")

    with tracing(recorder):
        informer = SharedIndexInformer[object](source, name="foos")
        registration = informer.add_event_handler(on_add=fail)
        with running(informer):
            recorder.wait_for(handled("ns/a", "add"))
            registration.wait_until_idle(30.0)

    call: Hop = recorder.hops("handler.call")[0]
    assert call.details["handler"].endswith("fail")
    assert registration.statistics().failed == 1
    assert registration.statistics().name.endswith("fail)"), "and it has its own name"
