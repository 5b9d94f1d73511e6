"""Sources of objects in the cluster: when they are ready, what they tell, and what they do not."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any, cast

import pytest

from clientgo.api.apiextensions_v1 import CustomResourceDefinition
from clientgo.api.apps_v1 import Deployment
from clientgo.codegen.crd import definitions_of
from clientgo.meta import ForbiddenError, ObjectName, deep_copy
from clientgo.operator import Context, Predicate, Source, watch
from clientgo.operator.change_events import (
    ChangeEvent,
    CreateEvent,
    DeleteEvent,
    GenericEvent,
    UpdateEvent,
)
from clientgo.operator.errors import AlreadyStartedError, CacheSyncTimeoutError
from clientgo.operator.mappers import by_name
from clientgo.operator.sources import channel
from clientgo.rest import RestConfig
from clientgo.testcluster.server.faults import FreezeWatches, Requests
from clientgo.testing.fakes.actions import Action
from clientgo.testing.faults import unobserved_state
from clientgo.testing.operator import eventually
from tests.background import Background
from tests.operator.world import (
    PATIENCE,
    Gadget,
    Part,
    Recording,
    World,
    gadget,
    give_up_waiting_when_refused,
    part,
)
from tests.testcluster.workloads.objects import deployment

A = ObjectName("default", "a")


class Noting(Predicate):
    """Lets everything pass, and notes it."""

    def __init__(self) -> None:
        self.events: queue.Queue[ChangeEvent] = queue.Queue()

    def passes(self, event: ChangeEvent) -> bool:
        self.events.put(event)
        return True

    def next(self) -> ChangeEvent:
        return self.events.get(timeout=30)


def watching(world: World, source: Source, recording: Recording | None = None) -> Any:
    return world.manager.controller(Gadget).source(source).build(recording or Recording())


def parts_of(controller: Any) -> Any:
    """The controller's own source of parts: what is declared is a pattern for it."""
    return next(source for source in controller.sources() if source.name == "part")


# Starting


def test_a_source_of_a_kind_starts_once(world: World) -> None:
    """OP-SRC-01"""
    controller = watching(world, watch(Part))
    source = parts_of(controller)
    assert isinstance(source, Source)
    assert source.healthy() == "not started"
    with world.running():
        assert source.healthy() is None
        with pytest.raises(AlreadyStartedError, match="source part runs already"):
            source.start(cast("Any", None), cast("Any", None))
        controller.remove_source("part")
        controller.add_source(source)
        assert source.wait_synced(PATIENCE)


def test_nothing_runs_before_every_source_has_told_what_is_there(world: World) -> None:
    """OP-SRC-04: that its cache is filled is not enough."""
    telling, go_on = threading.Event(), threading.Event()

    class Slow(Predicate):
        def passes(self, event: ChangeEvent) -> bool:
            telling.set()
            assert go_on.wait(30)
            return True

    world.create(gadget(), part("p"))
    recording = Recording()
    watching(world, watch(Part, mapper=by_name(), predicate=Slow()), recording)
    starting = threading.Thread(target=world.manager.start)
    starting.start()
    assert telling.wait(30)
    assert recording.runs == []
    assert starting.is_alive()
    go_on.set()
    starting.join(30)
    recording.wait_for_runs(1)


def test_some_sources_are_ready_before_the_others_start(world: World) -> None:
    """OP-SRC-19"""
    noting, started = Noting(), queue.Queue[str]()

    class Other(Source):
        name = "other"

        def start(self, context: Any, sink: Any) -> None:
            started.put(f"{noting.events.qsize()} events before")

        def stop(self) -> None: ...

    world.create(part("p"), part("q"))
    first = watch(Part, mapper=by_name(), predicate=noting, before_others=True)
    world.manager.controller(Gadget).source(Other()).source(first).build(Recording())
    with world.running():
        assert started.get(timeout=30) == "2 events before"


# What is told


def test_events_say_what_happened(world: World) -> None:
    """OP-SRC-05"""
    noting = Noting()
    world.create(part("p"))
    told = channel(lambda _context, _obj: [], predicate=noting)
    world.manager.controller(Gadget).source(watch(Part, mapper=by_name(), predicate=noting)).source(
        told
    ).build(Recording())
    with world.running():
        listed = noting.next()
        assert isinstance(listed, CreateEvent)
        assert listed.initial
        world.create(part("q"))
        created = noting.next()
        assert isinstance(created, CreateEvent)
        assert not created.initial
        world.patch(part("q"), {"spec": {"size": 4}})
        updated = noting.next()
        assert isinstance(updated, UpdateEvent)
        assert (updated.old.spec.size, updated.new.spec.size, updated.resync) == (0, 4, False)
        world.delete(part("q"))
        deleted = noting.next()
        assert isinstance(deleted, DeleteEvent)
        assert (deleted.obj.spec.size, deleted.final_state_known) == (4, True)
        told.put(part("x"))
        assert isinstance(noting.next(), GenericEvent)


def test_what_vanished_while_nobody_watched_is_told_of(world: World) -> None:
    """OP-SRC-17: by a deletion of which the final state is not known."""
    noting = Noting()
    world.create(part("p"), part("stays"))
    watching(world, watch(Part, mapper=by_name(), predicate=noting))
    with world.running():
        noting.next(), noting.next()
        with unobserved_state(world.server, "parts"):
            world.patch(part("p"), {"spec": {"size": 9}})
            world.delete(part("p"))
        pass_the_pause(world)
        event = noting.next()
        assert isinstance(event, DeleteEvent)
        assert (event.obj.metadata.name, event.final_state_known) == ("p", False)


def test_an_object_of_the_same_name_that_was_created_in_a_gap_is_a_new_one(world: World) -> None:
    """OP-SRC-17: its generation is that of the old one, which no predicate must compare."""
    noting = Noting()
    world.create(part("p"))
    watching(world, watch(Part, mapper=by_name(), predicate=noting))
    with world.running():
        old = noting.next().obj
        with unobserved_state(world.server, "parts"):
            world.delete(part("p"))
            world.create(part("p"))
        pass_the_pause(world)
        deleted, created = noting.next(), noting.next()
        assert isinstance(deleted, DeleteEvent)
        assert (deleted.obj.metadata.uid, deleted.final_state_known) == (old.metadata.uid, False)
        assert isinstance(created, CreateEvent)
        assert created.obj.metadata.uid != old.metadata.uid


def test_what_was_written_and_vanished_in_a_gap_is_no_ghost(world: World) -> None:
    """OP-SRC-17: the own write is not waited for, once the list has come that lacks it."""
    noting = Noting()
    watching(world, watch(Part, mapper=by_name(), predicate=noting))
    client = world.manager.client
    with world.running():
        with unobserved_state(world.server, "parts"):
            client.create(part("p"))
            assert client.find(Part, "p", "default") is not None
            world.delete(part("p"))
            world.create(part("after"))
        pass_the_pause(world)
        created = noting.next()
        assert created.obj.metadata.name == "after"
        assert client.find(Part, "p", "default") is None


def the_pause(world: World, longest: float = 5.0) -> float:
    """Block until an informer pauses before it asks again; returns how long it is going to."""

    def pause() -> float:
        due = world.clock.next_deadline()
        return float("inf") if due is None else due - world.clock.monotonic()

    world.clock.wait_for(lambda: pause() <= longest)
    return pause()


def pass_the_pause(world: World, longest: float = 5.0) -> float:
    """Let time go on to the end of that pause; returns its length."""
    length = the_pause(world, longest)
    world.clock.step(length)
    return length


# A kind that is not there


def make_parts(world: World) -> None:
    for definition in definitions_of((Part,)):
        world.client.resource(CustomResourceDefinition).create(definition)


def test_a_kind_that_is_missing_is_asked_for_until_it_is_there(
    make_world: Callable[..., World], caplog: pytest.LogCaptureFixture
) -> None:
    """OP-SRC-08: every ten seconds in the end, with one line in the log; the start waits."""
    world = make_world(kinds=(Gadget,))
    world.create(gadget("p"))
    recording = Recording()
    controller = watching(world, watch(Part, mapper=by_name()), recording)
    starting = Background(world.manager.start)
    primary, source = controller.sources()
    # The manager starts them in its own thread; until then `wait_synced` returns False immediately.
    world.clock.wait_for(lambda: "not started" not in (primary.healthy(), source.healthy()))
    assert primary.wait_synced(PATIENCE)
    waits = [pass_the_pause(world, 12.0) for _ in range(8)]
    assert all(10 <= wait <= 12 for wait in waits[-3:])
    assert "no list of parts.example.com" in (source.healthy() or "")
    lines = [r.message for r in caplog.records if "trying again until it works" in r.message]
    assert len(lines) == 1
    assert starting.is_running
    the_pause(world, 12.0)
    make_parts(world)
    world.create(part("p"))
    pass_the_pause(world, 12.0)
    starting.result()
    assert recording.wait_for_runs(1) == [ObjectName("default", "p")]
    assert source.healthy() is None


def test_a_kind_that_may_not_be_listed_is_named_when_the_start_gives_up(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OP-SRC-08, OP-MGR-16: with the server's reason."""

    def forbid(action: Action) -> None:
        if action.resource.resource == "parts":
            raise ForbiddenError.of("parts are not for you")

    world.asked.before = forbid
    watching(world, watch(Part))
    give_up_waiting_when_refused(monkeypatch, "parts are not for you")
    with pytest.raises(
        CacheSyncTimeoutError, match=r"part: no list of parts.example.com: .*parts are not for you"
    ):
        world.manager.start()


def test_a_kind_that_is_optional_may_come_and_go(make_world: Callable[..., World]) -> None:
    """OP-SRC-08: nobody waits for it, and it is no trouble; once it is there it is told of."""
    world = make_world(kinds=(Gadget,))
    world.create(gadget())
    recording, noting = Recording(), Noting()
    optional = watch(Part, mapper=by_name(), predicate=noting, optional=True)
    source = parts_of(watching(world, optional, recording))
    with world.running():
        recording.wait_for_runs(1)
        assert source.healthy() is None
        assert world.manager.client.list(Part) == []
        make_parts(world)
        world.create(part("a"))
        pass_the_pause(world, 12.0)
        created = noting.next()
        assert isinstance(created, CreateEvent)
        recording.wait_for_runs(2)
        world.client.resource(CustomResourceDefinition).delete("parts.example.com")
        assert isinstance(noting.next(), DeleteEvent)
        pass_the_pause(world, 12.0)
        assert source.healthy() is None


# Echoes of own writes


class Child:
    """A reconciler that makes a part for each gadget, and tells what its runs saw."""

    def __init__(self) -> None:
        self.seen: queue.Queue[int | None] = queue.Queue()

    def reconcile(self, ctx: Context[Any], obj: Gadget) -> None:
        child = ctx.secondary(Part)
        self.seen.put(None if child is None else child.spec.size)
        if child is None:
            made = ctx.client.create(ctx.own(part("child")))
            made.spec.size = 1
            ctx.client.update(made)
            child = ctx.secondary(Part)
            assert child is not None
            assert child.spec.size == 1


def owned_parts(world: World) -> tuple[Child, Any]:
    reconciler = Child()
    controller = (
        world.manager.controller(Gadget).options(max_interval=None).owns(Part).build(reconciler)
    )
    return reconciler, controller


def test_the_echo_of_an_own_write_wakes_nobody_and_a_foreign_change_does(world: World) -> None:
    """OP-SRC-16"""
    reconciler, controller = owned_parts(world)
    world.create(gadget())
    with world.running():
        assert reconciler.seen.get(timeout=30) is None
        (cache,) = [c for c in world.manager.cache.caches() if c.resource.kind == "Part"]
        seen_by_cache(world, 1)
        world.patch(part("child"), {"spec": {"size": 5}})
        assert reconciler.seen.get(timeout=30) == 5
        world.clock.wait_for(world.at_rest)
        assert reconciler.seen.empty()
        assert cache.own_writes.statistics().entries == 0
        assert controller.queue.statistics().known == 1


def seen_by_cache(world: World, size: int) -> None:
    """Block until the watch has brought a part of a size."""
    (cache,) = [c for c in world.manager.cache.caches() if c.resource.kind == "Part"]
    brought = threading.Event()
    (informer,) = cache.informers().values()

    def look(obj: Any) -> None:
        if obj.spec.size == size:
            brought.set()

    informer.add_event_handler(on_add=look, on_update=lambda _old, new: look(new))
    assert brought.wait(30)


def test_an_echo_that_is_faster_than_the_answer_wakes_nobody(world: World) -> None:
    """OP-SRC-16: the watch brings the object while the answer to its creation is on its way."""
    reconciler, controller = owned_parts(world)
    world.create(gadget())
    inner = world.asked._inner
    send = inner.send

    def late(method: str, url: str, **options: Any) -> Any:
        answer = send(method, url, **options)
        if method in ("POST", "PUT") and "/parts" in url:
            seen_by_cache(world, 0 if method == "POST" else 1)
        return answer

    inner.send = late  # type: ignore[method-assign]
    with world.running():
        assert reconciler.seen.get(timeout=30) is None
        world.clock.wait_for(lambda: controller.queue.statistics().running == 0)
        world.clock.wait_for(world.at_rest)
        assert reconciler.seen.empty()
        world.patch(part("child"), {"spec": {"size": 2}})
        assert reconciler.seen.get(timeout=30) == 2


def test_what_the_server_adds_to_a_new_object_is_part_of_the_echo(world: World) -> None:
    """OP-SRC-16: an apply of a Deployment sends a few of the fields that it has then."""
    obj = deployment()

    def write(ctx: Context[Any], _gadget: Gadget) -> None:
        ctx.client.apply(ctx.own(deep_copy(obj)))

    world.create(gadget())
    recording = Recording(write)
    world.manager.controller(Gadget).owns(Deployment).build(recording)
    with world.running():
        recording.wait_for_runs(1)
        (cache,) = [c for c in world.manager.cache.caches() if c.resource.kind == "Deployment"]
        eventually(lambda: cache.stored(ObjectName("default", "web")) is not None)
        world.clock.wait_for(world.at_rest)
        assert world.get(Deployment, "web").spec.strategy.type == "RollingUpdate"
    assert len(recording.runs) == 1


def test_a_write_that_changed_nothing_hides_no_change_of_others(world: World) -> None:
    """OP-SRC-16: its answer has the version of the last change, which may be anyone's."""
    obj = part("child", labels={"app": "web"})

    def write(ctx: Context[Any], _gadget: Gadget) -> None:
        if len(recording.runs) == 1:
            ctx.client.create(ctx.own(deep_copy(obj)))
        else:
            ctx.client.patch(obj, {"metadata": {"labels": {"app": "web"}}})

    world.create(gadget())
    recording = Recording(write)
    controller = world.manager.controller(Gadget).owns(Part).build(recording)
    with world.running():
        seen_by_cache(world, 0)
        world.clock.wait_for(world.at_rest)
        runs = len(recording.runs)
        world.server.inject(FreezeWatches(requests=Requests(resource="parts")))
        world.patch(obj, {"spec": {"size": 5}})
        controller.trigger(A)
        recording.wait_for_runs(runs + 1)
        world.clock.wait_for(world.at_rest)
        world.server.lift()
        recording.wait_for_runs(runs + 2)


def test_another_controller_is_woken_by_what_is_an_echo_to_one(world: World) -> None:
    """OP-SRC-16"""
    other = Recording()
    world.manager.controller(Gadget).options(name="other").owns(Part).build(other)
    world.create(gadget())
    with world.running():
        other.wait_for_runs(1)
        reconciler, _ = owned_parts(world)  # it creates the part, so the other sees that later
        assert reconciler.seen.get(timeout=30) is None
        other.wait_for_runs(2)


@pytest.mark.parametrize(
    ("change", "subresource", "runs"),
    [({"spec": {"size": 5}}, "", 2), ({"status": {"ready": 5}}, "status", 1)],
)
def test_an_own_write_of_the_primary_is_for_its_predicates_to_judge(
    world: World, change: dict[str, Any], subresource: str, runs: int
) -> None:
    """OP-SRC-16: a change of the spec wakes it, a change of the status does not."""
    done = threading.Event()

    def reconcile(ctx: Context[Any], obj: Gadget) -> None:
        ctx.client.patch(obj, change, subresource=subresource)
        done.set()

    world.create(gadget())
    recording = Recording(reconcile)
    world.register(recording)
    with world.running():
        assert done.wait(30)
        recording.wait_for_runs(runs)
        world.create(gadget("last"))
        recording.wait_for_runs(runs + 1)
        assert recording.runs.count(A) == runs


def test_a_watch_that_outlasts_its_time_is_cut() -> None:
    """OP-SRC-18: half a minute after the server should have ended it."""
    assert RestConfig(server="http://x").watch_grace == 30.0
