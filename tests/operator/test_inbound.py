"""Sources that are told: by a webhook, a message broker, another thread."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any

import pytest

from clientgo.meta import ObjectName, metadata_of
from clientgo.operator import Context
from clientgo.operator.change_events import ChangeEvent
from clientgo.operator.errors import AlreadyStartedError, DeclarationError
from clientgo.operator.sources import Sink, Source, SourceContext, channel, func, inbound
from clientgo.operator.sources.primaries import ItemCache
from tests.operator.world import Gadget, Recording, World, gadget

A, B = ObjectName("default", "a"), ObjectName("default", "b")


class Item:
    """Something outside of the cluster."""

    def __init__(self, name: str, size: int = 0) -> None:
        self.name = name
        self.size = size

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Item) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]


def with_source(world: World, source: Source, recording: Recording) -> Any:
    return world.manager.controller(Gadget).source(source).build(recording)


def test_an_item_is_news_if_it_differs() -> None:
    """OP-SRC-10: by its id, and by equality."""
    items = ItemCache()
    assert items.put(A, Item("x", 1))
    assert not items.put(A, Item("x", 1))
    assert items.put(A, Item("x", 2))
    assert items.replace(A, [Item("x", 2), Item("y")])
    assert not items.replace(A, [Item("y"), Item("x", 2)])
    assert items.remove(A, "x")
    assert not items.remove(A, "x")
    assert items.items(A) == [Item("y")]
    assert items.replace_all({B: [Item("z")]}) == [B, A]
    assert items.replace_all({B: [Item("z")], A: []}) == []


def test_items_may_be_told_apart_otherwise() -> None:
    """OP-SRC-10"""
    items = ItemCache(lambda item: item["key"])
    items.replace(A, [{"key": 1, "v": "a"}, {"key": 2, "v": "b"}])
    assert items.put(A, {"key": 1, "v": "c"})
    assert [item["v"] for item in items.items(A)] == ["c", "b"]


def test_a_notification_runs_a_primary_that_there_is(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """OP-SRC-14: one that nobody knows is ignored, with a line at DEBUG."""
    caplog.set_level("DEBUG", "clientgo.operator.source")
    source, recording = inbound(), Recording()
    controller = with_source(world, source, recording)
    world.create(gadget())
    with world.running():
        recording.wait_for_runs(1)
        source.notify(B)
        assert controller.queue.statistics().known == 1
        source.notify(A)
        assert recording.wait_for_runs(2) == [A, A]
    assert "there is no primary default/b; ignored" in caplog.text


def test_what_is_told_before_the_start_is_not_lost(world: World) -> None:
    """OP-SRC-14: nor kept for those that turn out not to be there."""
    source, seen = inbound(cached=True), queue.Queue[list[Any]]()

    def reconcile(ctx: Context[Any], obj: Gadget) -> None:
        seen.put([item.name for item in ctx.secondaries(Item)])

    source.kind = Item
    with_source(world, source, Recording(reconcile))
    world.create(gadget())
    source.put(A, Item("early"))
    source.put(B, Item("for nobody"))
    with world.running():
        assert seen.get(timeout=30) == ["early"]
        assert source.secondaries(B) == []


def test_items_wake_their_primary_when_they_are_news(world: World) -> None:
    """OP-SRC-14, OP-SRC-10: put, put again, changed, removed, removed again."""
    source, recording = inbound(cached=True), Recording()
    with_source(world, source, recording)
    world.create(gadget())
    with world.running():
        recording.wait_for_runs(1)
        tellings: list[Callable[[], object]] = [
            lambda: source.put(A, Item("x")),
            lambda: source.put(A, Item("x", 1)),
            lambda: source.remove(A, "x"),
        ]
        for count, tell in enumerate(tellings, start=2):
            tell()
            tell()
            recording.wait_for_runs(count)
            world.clock.wait_for(world.at_rest)
        assert recording.runs == [A] * 4


def test_nothing_is_kept_of_a_primary_that_is_gone(world: World) -> None:
    """OP-SRC-14: neither what was told before nor what is told afterwards."""
    source, recording = inbound(cached=True), Recording()
    forgotten = threading.Event()
    forget = source._cache.forget

    def noting(key: ObjectName) -> None:
        forget(key)
        forgotten.set()

    source._cache.forget = noting  # type: ignore[method-assign]
    with_source(world, source, recording)
    world.create(gadget())
    with world.running():
        recording.wait_for_runs(1)
        source.put(A, Item("x"))
        world.delete(gadget())
        assert forgotten.wait(30)
        source.put(A, Item("y"))
        assert source._cache.keys() == []


def test_items_need_a_source_that_keeps_them() -> None:
    """OP-SRC-14"""
    with pytest.raises(DeclarationError, match="make it with cached=True"):
        inbound().put(A, "item")


# Channels


class Noting(Sink):
    """Notes what a source tells, and can be slow."""

    def __init__(self) -> None:
        self.events: queue.Queue[str] = queue.Queue()
        self.keys: queue.Queue[tuple[ObjectName, float, int]] = queue.Queue()
        self.failures: queue.Queue[Exception] = queue.Queue()
        self.go_on = threading.Event()
        self.go_on.set()

    def emit(self, event: ChangeEvent) -> None:
        self.go_on.wait(30)
        self.events.put(metadata_of(event.obj).name)

    def enqueue(self, key: ObjectName, *, after: float = 0.0, priority: int = 0) -> None:
        self.keys.put((key, after, priority))

    def failed(self, error: Exception) -> None:
        self.failures.put(error)


def names(sink: Noting, count: int) -> list[str]:
    return [sink.events.get(timeout=30) for _ in range(count)]


def context(world: World) -> SourceContext:
    controller = world.register(Recording())
    return SourceContext(
        controller.name,
        controller.primary,
        controller.namespaces,
        world.manager.cache,
        world.manager.client,
        world.clock,
        threading.Event(),
    )


def test_a_channel_tells_everything_in_order(world: World) -> None:
    """OP-SRC-06: what was put before the start first."""
    source, sink = channel(lambda _context, _obj: []), Noting()
    source.put(gadget("early"))
    source.start(context(world), sink)
    for number in range(3):
        source.put(gadget(f"g{number}"))
    assert names(sink, 4) == ["early", "g0", "g1", "g2"]
    source.stop()


def test_a_channel_that_is_full_makes_those_wait_who_put(world: World) -> None:
    """OP-SRC-06: and loses nothing; the buffer holds 1024 unless told otherwise."""
    source, sink = channel(lambda _context, _obj: [], buffer=2), Noting()
    source.put(gadget("a"))
    source.put(gadget("b"))
    with pytest.raises(queue.Full):
        source.put(gadget("c"), timeout=0.0)
    putting = threading.Thread(target=source.put, args=(gadget("c"),))
    putting.start()
    source.start(context(world), sink)
    putting.join(30)
    assert names(sink, 3) == ["a", "b", "c"]
    source.stop()
    unbounded = channel(lambda _context, _obj: [])
    for number in range(1024):
        unbounded.put(gadget(f"g{number}"), timeout=0.0)
    with pytest.raises(queue.Full):
        unbounded.put(gadget("too many"), timeout=0.0)


def test_a_channel_that_stops_leaves_nobody_waiting(world: World) -> None:
    """OP-SRC-06: and what it holds waits for the next start."""
    source, sink = channel(lambda _context, _obj: [], buffer=1), Noting()
    sink.go_on.clear()
    own = context(world)
    source.start(own, sink)
    refused: queue.Queue[Exception] = queue.Queue()

    def keep_putting() -> None:
        try:
            for number in range(10):
                source.put(gadget(f"g{number}"))
        except queue.Full as error:
            refused.put(error)

    putting = threading.Thread(target=keep_putting)
    putting.start()
    stopping = threading.Thread(target=source.stop)
    stopping.start()
    assert isinstance(refused.get(timeout=30), queue.Full)
    sink.go_on.set()
    stopping.join(30)
    putting.join(30)
    told = sink.events.qsize()
    again = Noting()
    source.start(own, again)
    assert names(again, 1) == [f"g{told}"]
    source.stop()


def test_a_channel_says_when_its_thread_does_not_run(world: World) -> None:
    """OP-SRC-01, OP-SRC-06"""
    source = channel(lambda _context, _obj: [])
    assert source.healthy() == "its thread does not run"
    source.start(context(world), Noting())
    assert source.healthy() is None
    source.stop()


# Functions


def test_a_function_may_enqueue_as_it_likes(world: World) -> None:
    """OP-SRC-07"""

    def run(own: SourceContext, sink: Sink) -> None:
        sink.enqueue(A)
        sink.enqueue(B, after=5.0, priority=-3)
        stopped.append(own.stop.wait(60))

    stopped: list[bool] = []
    source, sink = func(run), Noting()
    source.start(context(world), sink)
    assert sink.keys.get(timeout=30) == (A, 0.0, 0)
    assert sink.keys.get(timeout=30) == (B, 5.0, -3)
    source.stop()
    assert stopped == [True]


def test_a_function_that_raises_is_started_again_and_so_is_its_source(world: World) -> None:
    """OP-SRC-07"""
    started: queue.Queue[int] = queue.Queue()

    def run(own: SourceContext, _sink: Sink) -> None:
        started.put(1)
        raise RuntimeError("broken pipe")

    source, sink = func(run), Noting()
    own = context(world)
    source.start(own, sink)
    assert started.get(timeout=30)
    assert str(sink.failures.get(timeout=30)) == "broken pipe"
    world.clock.wait_for_waiters()
    world.clock.step(1.0)
    assert started.get(timeout=30)
    source.stop()
    source.start(own, sink)
    assert started.get(timeout=30)
    source.stop()


@pytest.mark.parametrize(
    "make",
    [
        inbound,
        lambda: channel(lambda _context, _obj: []),
        lambda: func(lambda own, _sink: own.stop.wait(30)),
    ],
)
def test_a_source_starts_once(world: World, make: Any) -> None:
    """OP-SRC-01: and again only after a stop."""
    source, own = make(), context(world)
    assert isinstance(source, Source)
    source.start(own, Noting())
    with pytest.raises(AlreadyStartedError, match="runs already"):
        source.start(own, Noting())
    source.stop()
    source.start(own, Noting())
    source.stop()
