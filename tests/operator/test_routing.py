"""From an event to the primaries that it concerns: what is dropped, kept and tried again."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from clientgo.meta import ObjectName, resource_of
from clientgo.observe.metrics.prometheus import PrometheusProvider
from clientgo.operator import CacheScope, Context, Predicate, watch
from clientgo.operator.cache.scope import EVERYWHERE
from clientgo.operator.change_events import CreateEvent, DeleteEvent, GenericEvent, UpdateEvent
from clientgo.operator.controller import event_router as routing
from clientgo.operator.controller.event_router import (
    MAPPER_RETRIES,
    MAPPER_RETRY_DELAY,
    EventRouter,
    PrimaryRouter,
)
from clientgo.operator.mappers import MapContext, by_name
from clientgo.operator.metrics import ControllerMetrics
from clientgo.operator.predicates import generation_changed
from clientgo.operator.runs import Timers
from clientgo.operator.sources.kind_source import KindSource
from clientgo.testing import FakeClock
from clientgo.testing.operator import eventually
from clientgo.workqueue import LOW_PRIORITY
from tests.operator.world import PATIENCE, Gadget, Part, Planet, Recording, World, gadget, part

A = ObjectName("default", "a")


class Triggers:
    """Stands for the queue."""

    has_started = True

    def __init__(self) -> None:
        self.seen: list[tuple[ObjectName, int]] = []
        self.changed: list[ObjectName] = []

    def note_change(self, key: ObjectName) -> None:
        self.changed.append(key)

    def trigger(self, key: ObjectName, priority: int = 0, *, after: float = 0.0) -> None:
        self.seen.append((key, priority))

    def forget(self, key: ObjectName) -> None:
        """Nothing is kept."""


class Routing:
    """A router and what came out of it."""

    def __init__(self, kind: Any = Gadget, **options: Any) -> None:
        self.clock = FakeClock()
        self.queue = Triggers()
        self.timers = Timers("retries", self.clock)
        self.metrics = PrometheusProvider(CollectorRegistry())
        self.namespaces = options.pop("namespaces", EVERYWHERE)
        self.router: EventRouter = options.pop("router", EventRouter)(
            routing.Routing(
                controller="gadget",
                queue=self.queue,  # type: ignore[arg-type]
                context=MapContext(resource_of(kind), None),
                namespaces=lambda: self.namespaces,
                metrics=ControllerMetrics("gadget", self.metrics),
                timers=self.timers,
                clock=self.clock,
            ),
            "parts",
            mapper=options.pop("mapper", by_name()),
            **options,
        )

    def stop(self) -> None:
        self.router.stop()
        self.timers.stop()

    def errors(self) -> float:
        value = self.metrics.registry.get_sample_value(
            "operator_source_errors_total", {"controller": "gadget", "source": "parts"}
        )
        return value or 0.0


@pytest.mark.parametrize(
    ("event", "priority"),
    [
        (CreateEvent(part("a"), initial=True), LOW_PRIORITY),
        (CreateEvent(part("a", deletion_timestamp="2026-01-01T00:00:00Z"), initial=True), 0),
        (CreateEvent(part("a")), 0),
        (UpdateEvent(part("a"), part("a")), 0),
        (UpdateEvent(part("a"), part("a"), resync=True), LOW_PRIORITY),
        (DeleteEvent(part("a"), final_state_known=False), 0),
        (GenericEvent(part("a")), 0),
    ],
)
def test_every_kind_of_event_wakes_and_what_is_only_listed_can_wait(
    event: Any, priority: int
) -> None:
    """OP-SRC-05, OP-CCH-08"""
    routing = Routing()
    routing.router.emit(event)
    assert routing.queue.seen == [(A, priority)]


@pytest.mark.parametrize(
    ("event", "priority"),
    [
        (CreateEvent(part("a")), LOW_PRIORITY),
        (CreateEvent(part("a", deletion_timestamp="2026-01-01T00:00:00Z")), 0),
        (UpdateEvent(part("a"), part("a")), LOW_PRIORITY),
        (UpdateEvent(part("a"), part("a", deletion_timestamp="2026-01-01T00:00:00Z")), 0),
        (DeleteEvent(part("a")), LOW_PRIORITY),
        (GenericEvent(part("a")), LOW_PRIORITY),
        (GenericEvent(object()), LOW_PRIORITY),
    ],
)
def test_what_happens_before_the_workers_start_can_wait(event: Any, priority: int) -> None:
    """OP-CTL-06: but not what is being deleted, nor what a mapper gives a priority."""
    routing = Routing(mapper=lambda _ctx, _obj: [A])
    routing.queue.has_started = False
    routing.router.emit(event)
    routing.router.enqueue(A)
    routing.router.enqueue(A, priority=5)
    assert routing.queue.seen == [(A, priority), (A, LOW_PRIORITY), (A, 5)]
    assert routing.queue.changed == [A]


@pytest.mark.parametrize(
    "event",
    [CreateEvent(part("a"), initial=True), UpdateEvent(part("a"), part("a"), resync=True)],
)
def test_what_is_only_listed_is_no_change(event: Any) -> None:
    """OP-CTL-06"""
    routing = Routing()
    routing.router.emit(event)
    assert routing.queue.changed == []


def test_a_source_that_fails_for_many_objects_is_one_line_and_a_count(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """OP-RTY-26, OP-SRC-13: a minute apart, and each is counted by the metric."""
    routing = Routing()
    for _ in range(2000):
        routing.router.failed(ConnectionRefusedError("no route"))
    routing.router.failed(ConnectionRefusedError("another"))
    routing.clock.step(60)
    routing.router.failed(ConnectionRefusedError("no route"))
    assert caplog.messages == [
        "gadget: source parts: no route",
        "gadget: source parts: another",
        "gadget: source parts: no route (and 1999 times more, like it)",
    ]
    assert routing.errors() == 2002


class Broken(Predicate):
    def passes(self, event: Any) -> bool:
        raise RuntimeError("a bug")


def test_a_predicate_that_raises_lets_the_event_pass(caplog: pytest.LogCaptureFixture) -> None:
    """OP-PRD-09: with the traceback in the log, and counted."""
    routing = Routing(predicate=Broken())
    routing.router.emit(CreateEvent(part("a")))
    assert routing.queue.seen == [(A, 0)]
    assert "a predicate of source parts failed" in caplog.text
    assert "RuntimeError: a bug" in caplog.text
    assert routing.errors() == 1


def test_a_resync_passes_what_asks_for_changes_and_not_what_asks_for_kinds_of_objects() -> None:
    """OP-PRD-07, OP-CCH-08: nothing has changed, and that is no reason not to look."""
    resync = UpdateEvent(part("a"), part("a"), resync=True)
    passing = Routing(predicate=generation_changed)
    passing.router.emit(resync)
    assert passing.queue.seen == [(A, LOW_PRIORITY)]
    selecting = Routing(predicate=Predicate.of(lambda obj: False))
    selecting.router.emit(resync)
    assert selecting.queue.seen == []


def test_a_mapper_that_raises_is_asked_again() -> None:
    """OP-HND-07"""
    failures = [RuntimeError("not yet"), RuntimeError("not yet")]

    def mapper(_context: MapContext, obj: Any) -> list[ObjectName]:
        if failures:
            raise failures.pop()
        return [ObjectName.of(obj)]

    routing = Routing(mapper=mapper)
    routing.router.emit(CreateEvent(part("a")))
    for _ in range(2):
        assert routing.queue.seen == []
        routing.clock.wait_for_waiters()
        routing.clock.step(MAPPER_RETRY_DELAY)
    routing.clock.wait_for(lambda: bool(routing.queue.seen))
    assert routing.queue.seen == [(A, 0)]
    assert routing.errors() == 2
    routing.stop()


def test_a_mapper_that_keeps_raising_is_given_up_loudly(caplog: pytest.LogCaptureFixture) -> None:
    """OP-HND-07: with an error in the log and in the metrics."""

    def mapper(_context: MapContext, _obj: Any) -> list[ObjectName]:
        raise RuntimeError("never")

    routing = Routing(mapper=mapper)
    routing.router.emit(CreateEvent(part("a")))
    for tried in range(1, MAPPER_RETRIES + 1):
        routing.clock.wait_for_waiters()
        routing.clock.step(MAPPER_RETRY_DELAY)
        routing.clock.wait_for(lambda tried=tried: routing.errors() == tried + 1)  # type: ignore[misc]
    routing.stop()
    dropped = [r for r in caplog.records if r.levelno == logging.ERROR]
    assert len(dropped) == 1
    assert "failed 4 times; the event is dropped: never" in dropped[0].message
    assert dropped[0].exc_info is not None


def test_nothing_is_tried_again_after_the_stop() -> None:
    """OP-HND-07"""

    def mapper(_context: MapContext, _obj: Any) -> list[ObjectName]:
        raise RuntimeError("never")

    routing = Routing(mapper=mapper)
    routing.router.emit(CreateEvent(part("a")))
    routing.clock.wait_for_waiters()
    routing.stop()
    routing.clock.step(MAPPER_RETRY_DELAY)
    assert routing.errors() == 1


def test_a_mapper_that_fails_after_the_stop_is_not_reported(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The caches that it reads have ended too."""

    def mapper(_context: MapContext, _obj: Any) -> list[ObjectName]:
        made.router.stop()
        raise RuntimeError("the cache has ended")

    made = Routing(mapper=mapper)
    made.router.emit(CreateEvent(part("a")))
    assert made.errors() == 0
    assert caplog.text == ""
    made.stop()


def test_keys_outside_of_the_watched_namespaces_are_dropped() -> None:
    """OP-HND-08: whether a mapper or a source names them; and the namespaces may change."""
    routing = Routing(namespaces=frozenset({"default"}))
    elsewhere = ObjectName("elsewhere", "a")
    routing.router.emit(CreateEvent(part("a", "elsewhere")))
    routing.router.enqueue(elsewhere)
    assert routing.queue.seen == []
    routing.namespaces = frozenset({"elsewhere"})
    routing.router.enqueue(elsewhere)
    assert routing.queue.seen == [(elsewhere, 0)]


def test_a_primary_without_a_namespace_is_always_watched() -> None:
    """OP-HND-08"""
    routing = Routing(Planet, namespaces=frozenset({"default"}))
    routing.router.emit(CreateEvent(part("earth")))
    assert routing.queue.seen == [(ObjectName("", "earth"), 0)]


def test_a_source_that_enqueues_what_is_no_key_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """OP-SRC-07"""
    routing = Routing()
    routing.router.enqueue("default/a")  # type: ignore[arg-type]
    assert routing.queue.seen == []
    assert "names no object; pass ObjectName" in caplog.text
    assert routing.errors() == 1


# In a controller


def test_a_mapper_may_look_up_referrers_through_an_index(world: World) -> None:
    """OP-HND-05: a part that several gadgets name in their spec wakes them all."""
    world.manager.index(Gadget, "colour", lambda obj: [obj.spec.colour] if obj.spec.colour else [])

    def of_the_colour(context: MapContext, obj: Part) -> list[ObjectName]:
        name = obj.metadata.name
        found = context.client.list(Gadget, fields={"colour": name})
        return [ObjectName.of(referrer) for referrer in found]

    red = [gadget(name) for name in ("a", "b")]
    for obj in red:
        obj.spec.colour = "red"
    world.create(*red, gadget("c"))
    recording = Recording()
    world.manager.controller(Gadget).watches(Part, of_the_colour).build(recording)
    with world.running():
        recording.wait_for_runs(3)
        world.create(part("red"))
        runs = recording.wait_for_runs(5)
        assert sorted(runs[3:]) == [A, ObjectName("default", "b")]


def gadgets_of(context: MapContext, _obj: Any) -> list[ObjectName]:
    return [ObjectName.of(each) for each in context.client.list(Gadget, namespace="default")]


def test_a_mapper_that_reads_a_cache_during_the_stop_is_not_reported(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    called = threading.Event()

    def late(context: MapContext, obj: Any) -> list[ObjectName]:
        called.set()
        eventually(lambda: not controller.primary_cache.informers())
        return gadgets_of(context, obj)

    controller = world.manager.controller(Gadget).watches(Part, late).build(Recording())
    with world.running():
        world.create(part("a"))
        assert called.wait(PATIENCE)
    assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []


def test_a_mapper_may_read_what_the_controller_reads(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """From its first event on, so the caches that are only read start first."""
    mapped = threading.Event()

    def mapper(context: MapContext, obj: Any) -> list[ObjectName]:
        try:
            return gadgets_of(context, obj) if context.client.list(Planet) else []
        finally:
            mapped.set()

    start = KindSource.start

    def start_and_wait_for_events(self: KindSource, *arguments: Any) -> None:
        start(self, *arguments)
        assert self.name != "part" or mapped.wait(PATIENCE)

    monkeypatch.setattr(KindSource, "start", start_and_wait_for_events)
    world.create(part("a"))
    builder = world.manager.controller(Gadget).watches(Part, mapper).reads(Planet)
    builder.build(Recording())
    with world.running():
        assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []


def test_locate_tells_which_secondaries_belong_to_a_primary(world: World) -> None:
    """OP-HND-06: two primaries share one, which no owner reference could say."""
    seen: dict[str, list[str]] = {}

    def reconcile(ctx: Context[Any], obj: Gadget) -> None:
        parts = [found.metadata.name for found in ctx.secondaries(Part)]
        seen[obj.metadata.name] = parts

    world.create(part("shared"), part("b-only"), part("lonely"), gadget("a"), gadget("b"))
    recording = Recording(reconcile)
    world.manager.controller(Gadget).watches(
        Part,
        lambda _context, _obj: [],
        locate=lambda obj: [
            ObjectName("default", name)
            for name in (["shared", "b-only"] if obj.metadata.name == "b" else ["shared", "none"])
        ],
    ).build(recording)
    with world.running():
        recording.wait_for_runs(2)
    assert seen == {"a": ["shared"], "b": ["b-only", "shared"]}


def touch(world: World, obj: Any) -> None:
    """Change an object without changing its generation."""
    world.patch(obj, {"metadata": {"labels": {"touched": "yes"}}})


def test_the_default_filter_can_be_dropped(make_world: Callable[..., World]) -> None:
    """OP-PRD-06: with it a label is no reason to run, without it is."""
    for options, runs in (
        ({}, 1),
        ({"generation_aware": False}, 2),
        ({"default_filter": False}, 2),
    ):
        world = make_world(gadget())
        recording = Recording()
        controller = world.register(recording, **options)
        with world.running():
            recording.wait_for_runs(1)
            touch(world, gadget())
            world.create(gadget("last"))
            recording.wait_for_runs(runs + 1)
            assert recording.runs.count(A) == runs
        assert controller.queue.statistics().running == 0


def test_a_predicate_is_asked_besides_the_default_filter(world: World) -> None:
    """OP-PRD-06: a predicate that passes everything does not let status updates through."""
    recording = Recording()
    builder = world.manager.controller().for_(Gadget, predicate=Predicate())
    builder.build(recording)
    world.create(gadget())
    with world.running():
        recording.wait_for_runs(1)
        touch(world, gadget())
        world.create(gadget("last"))
        assert recording.wait_for_runs(2) == [A, ObjectName("default", "last")]


def test_a_primary_that_is_gone_is_forgotten_and_not_run(world: World) -> None:
    """OP-PRD-10"""
    recording = Recording()
    controller = world.register(recording, max_interval=None)
    world.create(gadget(), gadget("other"))
    with world.running():
        recording.wait_for_runs(2)
        world.delete(gadget())
        world.create(gadget("last"))
        recording.wait_for_runs(3)
        world.clock.wait_for(lambda: controller.queue.statistics().known == 2)
        assert recording.runs.count(A) == 1


@pytest.mark.parametrize("known", [True, False])
def test_what_was_deleted_while_no_watch_was_open_has_not_left_the_labels(
    caplog: pytest.LogCaptureFixture, known: bool
) -> None:
    """OP-FIN-15: its finalizer may be gone, which only its last state would show."""
    routed = Routing(
        router=PrimaryRouter,
        by_key=False,
        on_deleted=False,
        deleting=lambda _: None,
        finalizers=("example.com/clean-up",),
    )
    obj = gadget("a", finalizers=("example.com/clean-up",))
    routed.router.emit(DeleteEvent(obj, final_state_known=known))
    routed.stop()
    assert ("has no longer the labels that are watched" in caplog.text) is known


def test_an_object_that_leaves_the_selection_of_a_cache_is_as_good_as_deleted(
    make_world: Callable[..., World],
) -> None:
    """OP-PRD-11: the event is a deletion whose final state is known."""
    selected = part("a", labels={"app": "web"})
    world = make_world(selected, cache_by_kind={Part: CacheScope(labels="app=web")})
    events: list[Any] = []

    class Noting(Predicate):
        def passes(self, event: Any) -> bool:
            events.append(event)
            return True

    recording = Recording()
    world.manager.controller(Gadget).source(
        watch(Part, mapper=by_name(), predicate=Noting())
    ).build(recording)
    world.create(gadget("a"))
    with world.running():
        recording.wait_for_runs(1)
        before = len(recording.runs)
        world.patch(selected, {"metadata": {"labels": {"app": "db"}}})
        recording.wait_for_runs(before + 1)
        gone = events[-1]
        assert isinstance(gone, DeleteEvent)
        assert gone.final_state_known
        assert world.manager.client.list(Part) == []
