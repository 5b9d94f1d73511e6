"""Which namespaces a controller looks after, and how that changes while it runs."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

from clientgo.api.core_v1 import Namespace
from clientgo.meta import ForbiddenError, ObjectMeta, ObjectName
from clientgo.operator import ALL, Context, Result, watch
from clientgo.operator.controller import namespace_changes as changes
from clientgo.operator.errors import CacheSyncTimeoutError, CancelledError, ConfigError
from clientgo.operator.finalizers import Finalizers
from clientgo.operator.mappers import by_name
from clientgo.operator.sources import Sink, Source, SourceContext, inbound
from clientgo.testing.fakes.actions import Action
from tests.background import Background
from tests.operator.world import (
    Gadget,
    Part,
    Planet,
    Recording,
    World,
    gadget,
    give_up_waiting_when_refused,
)

ONE, TWO, THREE = "one", "two", "three"


def in_namespaces(world: World) -> World:
    """With three namespaces."""
    for name in (ONE, TWO, THREE):
        world.create(Namespace(metadata=ObjectMeta(name=name)))
    return world


def keys(*texts: str) -> list[ObjectName]:
    return [ObjectName(*text.split("/")) for text in texts]


def informed(world: World, kind: str = "Gadget") -> set[str]:
    """The namespaces that a kind has informers for."""
    (cache,) = [c for c in world.manager.cache.caches() if c.resource.kind == kind]
    return set(cache.informers())


def test_a_controller_looks_after_its_own_namespaces(make_world: Callable[..., World]) -> None:
    """OP-NS-02: or those of the manager; a source may have others."""
    world = in_namespaces(make_world(namespaces=[ONE, TWO]))
    managers, own, elsewhere = Recording(), Recording(), Recording()
    world.register(managers)
    world.register(own, name="own", namespaces=TWO)
    world.manager.controller(Gadget).options(name="elsewhere", namespaces=ONE).source(
        watch(Part, mapper=by_name(), namespaces=THREE)
    ).build(elsewhere)
    world.create(*(gadget("a", namespace) for namespace in (ONE, TWO, THREE)))
    with world.running():
        assert sorted(managers.wait_for_runs(2)) == keys("one/a", "two/a")
        assert own.wait_for_runs(1) == keys("two/a")
        assert elsewhere.wait_for_runs(1) == keys("one/a")
        assert informed(world) == {ONE, TWO}
        assert informed(world, "Part") == {THREE}


def test_a_kind_without_namespaces_ignores_those_of_the_manager(
    make_world: Callable[..., World],
) -> None:
    """OP-NS-04: and cannot be given any, neither before nor while it runs."""
    world = make_world(namespaces=[ONE])
    recording = Recording()
    controller = world.register(recording, Planet)
    world.create(Planet(metadata=ObjectMeta(name="earth")))
    with world.running():
        assert recording.wait_for_runs(1) == [ObjectName("", "earth")]
        with pytest.raises(ConfigError, match="has no namespaces to choose from"):
            controller.change_namespaces(ONE)
    with pytest.raises(ConfigError, match="has no namespaces"):
        make_world().register(Recording(), Planet, namespaces=ONE)


def test_namespaces_change_while_the_controller_runs(world: World) -> None:
    """OP-NS-05, OP-NS-07: the new ones are there when the call returns, and are run once."""
    in_namespaces(world)
    world.create(gadget("a", ONE), gadget("a", TWO), gadget("b", TWO))
    recording = Recording()
    controller = world.register(recording, namespaces=ONE)
    with world.running():
        recording.wait_for_runs(1)
        controller.change_namespaces([ONE, TWO])
        assert world.manager.client.get(Gadget, "b", TWO)
        assert sorted(recording.wait_for_runs(3)[1:]) == keys("two/a", "two/b")
        assert controller.namespaces == {ONE, TWO}
        controller.change_namespaces(TWO)
        assert informed(world) == {TWO}
        world.create(gadget("late", ONE), gadget("late", TWO))
        assert recording.wait_for_runs(4)[3:] == keys("two/late")


def test_from_everywhere_to_one_namespace_and_back(world: World) -> None:
    """OP-NS-05: nothing goes on to be watched everywhere for the sake of one namespace."""
    in_namespaces(world)
    world.create(gadget("a", ONE), gadget("a", TWO))
    recording, told = Recording(), inbound()
    controller = world.manager.controller(Gadget).source(told).build(recording)
    with world.running():
        recording.wait_for_runs(2)
        controller.change_namespaces(ONE)
        assert informed(world) == {ONE}
        assert [obj.metadata.namespace for obj in world.manager.client.list(Gadget)] == [ONE]
        controller.change_namespaces(ALL)
        assert informed(world) == {""}
        world.create(gadget("late", TWO))
        recording.wait_for_runs(4)
        assert ObjectName(TWO, "late") in recording.wait_for_runs(5)


def test_a_namespace_that_stays_does_not_wait_for_one_that_comes(world: World) -> None:
    """OP-NS-05, OP-NS-07: what is in it runs while the new one is listed, and sees nothing of that
    before all of it is known; then what changed comes before what is new."""
    in_namespaces(world)
    world.create(gadget("a", ONE), gadget("a", TWO), gadget("b", TWO))
    listing, go_on, began = threading.Event(), threading.Event(), threading.Event()
    release = threading.Event()
    lists: list[int] = []

    def slow(action: Action) -> None:
        if action.namespace == TWO and action.resource.resource == "gadgets":
            listing.set()
            assert go_on.wait(30)

    def look(ctx: Context[Any], _obj: Gadget) -> None:
        lists.append(len(ctx.client.list(Gadget)))
        if ctx.key.namespace == TWO and not began.is_set():
            began.set()
            assert release.wait(30)

    recording = Recording(look)
    controller = world.register(recording, namespaces=ONE)
    with world.running():
        recording.wait_for_runs(1)
        world.asked.before = slow
        changing = threading.Thread(target=controller.change_namespaces, args=([ONE, TWO],))
        changing.start()
        assert listing.wait(30)
        world.patch(gadget("a", ONE), {"spec": {"size": 2}})
        assert recording.wait_for_runs(2)[1:] == keys("one/a")
        controller.trigger(ObjectName(TWO, "b"), priority=-200)
        world.clock.wait_for(world.at_rest)
        assert len(recording.runs) == 2, "not before its namespace is known"
        assert "paused" in [each.code for each in controller.explain("two/b").reasons]
        go_on.set()
        changing.join()
        assert began.wait(30)
        world.patch(gadget("a", ONE), {"spec": {"size": 3}})
        world.clock.wait_for(lambda: controller.queue.statistics().ready == 2)
        release.set()
        runs = recording.wait_for_runs(5)[2:]
        assert runs[1] == ObjectName(ONE, "a"), "before the second object of the new namespace"
        assert lists == [1, 1, 3, 3, 3]


@pytest.mark.parametrize("change", [([ONE], [TWO]), ([ONE], ALL)])
def test_nothing_runs_where_the_namespaces_change(world: World, change: Any) -> None:
    """OP-NS-05: what happens meanwhile is not forgotten."""
    in_namespaces(world)
    world.create(gadget("a", ONE), gadget("a", TWO))
    listing, go_on = threading.Event(), threading.Event()

    def hold(action: Action) -> None:
        if action.namespace != ONE and action.resource.resource == "gadgets":
            listing.set()
            assert go_on.wait(30)

    before, wanted = change
    recording = Recording()
    controller = world.register(recording, namespaces=before)
    with world.running():
        recording.wait_for_runs(1)
        world.asked.before = hold
        changing = threading.Thread(target=controller.change_namespaces, args=(wanted,))
        changing.start()
        assert listing.wait(30)
        controller.trigger(ObjectName(ONE, "a"))
        world.clock.wait_for(world.at_rest)
        assert len(recording.runs) == 1
        go_on.set()
        changing.join()
        expected = keys("one/a", "two/a") if wanted == ALL else keys("two/a")
        assert sorted(recording.wait_for_runs(1 + len(expected))[1:]) == expected


def test_namespaces_that_cannot_be_listed_change_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OP-NS-05: the old ones go on without having been listed again."""
    in_namespaces(world)
    world.create(gadget("a", ONE))
    recording = Recording()
    controller = world.register(recording, namespaces=ONE)

    def forbid(action: Action) -> None:
        if action.namespace == TWO:
            raise ForbiddenError.of("not here")

    with world.running():
        recording.wait_for_runs(1)
        world.asked.before = forbid
        world.asked.clear()
        give_up_waiting_when_refused(monkeypatch, "not here")
        with pytest.raises(CacheSyncTimeoutError, match=r"in two: .*not here"):
            controller.change_namespaces([TWO])
        assert controller.namespaces == {ONE}
        assert informed(world) == {ONE}
        assert all(action.namespace != ONE for action in world.asked.actions())
        world.create(gadget("b", ONE))
        assert recording.wait_for_runs(2)[1:] == keys("one/b")


def test_nothing_is_kept_of_a_namespace_that_is_left(world: World) -> None:
    """OP-NS-06: no timer, no failure, nothing in the queue; no clean-up, and no write."""
    in_namespaces(world)
    cleaned: list[Any] = []

    class Cleaning(Recording):
        def cleanup(self, ctx: Context[Any], obj: Any) -> None:
            cleaned.append(obj)

    def answer(ctx: Context[Any], obj: Gadget) -> Result:
        if obj.metadata.name == "failing":
            raise RuntimeError("no")
        return Result.requeue(60)

    recording = Cleaning(answer)
    controller = world.register(recording, namespaces=[ONE, TWO])
    world.create(gadget("failing", ONE), gadget("waiting", ONE), gadget("waiting", TWO))
    with world.running():
        recording.wait_for_runs(3)
        world.clock.wait_for(lambda: controller.queue.statistics().waiting == 3)
        # The watch has brought back the finalizers, so that no read depends on their writes.
        world.clock.wait_for(lambda: not controller.primary_cache.own_writes.keys())
        world.asked.clear()
        controller.change_namespaces(TWO)
        statistics = controller.queue.statistics()
        assert (statistics.known, statistics.waiting, statistics.ready) == (1, 1, 0)
        assert world.manager.client.list(Gadget, namespace=TWO)
        world.clock.step(61)
        assert recording.wait_for_runs(4)[3:] == keys("two/waiting")
        assert cleaned == []
        assert world.writes() == []


def test_what_was_told_about_a_namespace_that_is_left_is_forgotten(world: World) -> None:
    """OP-NS-06: items of sources outside of the cluster too."""
    in_namespaces(world)
    world.create(gadget("a", ONE), gadget("a", TWO))
    recording, told = Recording(), inbound(cached=True)
    controller = (
        world.manager.controller(Gadget).options(namespaces=[ONE, TWO]).source(told)
    ).build(recording)
    with world.running():
        recording.wait_for_runs(2)
        for key in keys("one/a", "two/a"):
            told.put(key, "item")
        controller.change_namespaces(TWO)
        assert told.secondaries(ObjectName(ONE, "a")) == []
        assert told.secondaries(ObjectName(TWO, "a")) == ["item"]


def test_owned_kinds_follow_and_watched_ones_if_they_are_told_to(world: World) -> None:
    """OP-NS-08"""
    in_namespaces(world)
    builder = world.manager.controller(Gadget).options(namespaces=ONE).owns(Part, name="owned")
    builder.watches(Planet, by_name())
    controller = builder.build(Recording())
    other = (
        world.manager.controller(Gadget)
        .options(name="other", namespaces=ONE)
        .source(watch(Part, mapper=by_name(), follow_namespaces=True))
        .build(Recording())
    )
    fixed = world.manager.controller(Gadget).options(name="fixed", namespaces=ONE)
    third = fixed.source(watch(Part, mapper=by_name(), namespaces=TWO)).build(Recording())
    with world.running():
        assert informed(world, "Part") == {ONE, TWO}
        for changing in (controller, other, third):
            changing.change_namespaces(THREE)
        assert informed(world, "Part") == {TWO, THREE}
        assert informed(world) == {THREE}


def test_the_same_namespaces_again_are_no_change(world: World) -> None:
    """OP-NS-09"""
    in_namespaces(world)
    recording = Recording()
    controller = world.register(recording, namespaces=[ONE, TWO])
    world.create(gadget("a", ONE))
    with world.running():
        recording.wait_for_runs(1)
        world.asked.clear()
        controller.change_namespaces([TWO, ONE])
        assert world.asked.actions() == []


def test_changes_come_one_after_the_other(world: World) -> None:
    """OP-NS-09: whatever the order, the last one counts and nothing of the others is left."""
    in_namespaces(world)
    controller = world.register(Recording(), namespaces=ONE)
    with world.running():
        threads = [
            threading.Thread(target=controller.change_namespaces, args=(namespaces,))
            for namespaces in ([ONE, TWO], [TWO, THREE], [THREE], [ONE], [TWO])
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert informed(world) == set(controller.namespaces)
        assert not controller.queue.statistics().paused


def test_a_controller_that_was_paused_stays_so(world: World) -> None:
    """OP-NS-05"""
    in_namespaces(world)
    controller = world.register(Recording(), namespaces=ONE)
    with world.running():
        controller.pause()
        controller.change_namespaces(TWO)
        assert controller.queue.statistics().paused


def test_namespaces_may_change_before_the_start(world: World) -> None:
    """OP-NS-05"""
    in_namespaces(world)
    world.create(gadget("a", ONE), gadget("a", TWO))
    recording = Recording()
    controller = world.register(recording, namespaces=ONE)
    controller.change_namespaces(TWO)
    with world.running():
        assert recording.wait_for_runs(1) == keys("two/a")


def test_namespaces_may_change_while_the_controller_starts(world: World) -> None:
    """OP-NS-05: and the health may be asked for, though not all sources have begun."""
    in_namespaces(world)
    world.create(gadget("a", ONE), gadget("a", TWO))
    recording = Recording()
    synced: dict[str, bool] = {}

    class First(Source):
        name = "first"
        before_others = True

        def start(self, context: SourceContext, sink: Sink) -> None:
            """Do nothing."""

        def stop(self) -> None:
            """Do nothing."""

        def wait_synced(self, timeout: float, stop: threading.Event | None = None) -> bool:
            if timeout and not synced:
                controller.change_namespaces(TWO)
                (health,) = world.manager.health()
                synced.update((source.name, source.synced) for source in health.sources)
            return True

    controller = (
        world.manager.controller(Gadget).options(namespaces=ONE).source(First()).build(recording)
    )
    with world.running():
        assert recording.wait_for_runs(1) == keys("two/a")
        assert informed(world) == {TWO}
    assert synced == {"first": True, "primary": False}


def test_a_change_of_namespaces_ends_when_the_controller_stops(world: World) -> None:
    """OP-NS-05"""
    in_namespaces(world)
    controller = world.register(Recording(), namespaces=ONE)
    asked = threading.Event()

    def forbid(action: Action) -> None:
        if action.namespace == TWO:
            asked.set()
            raise ForbiddenError.of("not here")

    with world.running():
        world.asked.before = forbid
        changing = Background(lambda: controller.change_namespaces(TWO))
        assert asked.wait(30)
    with pytest.raises(CancelledError, match="stopped before its sources were synced"):
        changing.result()


def test_what_two_controllers_watch_ends_with_the_last_of_them(world: World) -> None:
    """OP-NS-12"""
    in_namespaces(world)
    first, second = Recording(), Recording()
    leaving = world.register(first, namespaces=[ONE, TWO])
    staying = world.register(second, name="second", namespaces=[ONE, TWO])
    with world.running():
        leaving.change_namespaces(TWO)
        assert informed(world) == {ONE, TWO}
        world.create(gadget("a", ONE))
        assert second.wait_for_runs(1) == keys("one/a")
        staying.change_namespaces(TWO)
        assert informed(world) == {TWO}
        assert first.runs == []


def test_a_namespace_is_left_when_nothing_in_it_needs_cleaning_up(world: World) -> None:
    """OP-NS-13"""
    in_namespaces(world)
    cleaned, go_on = threading.Event(), threading.Event()

    class Cleaning(Recording):
        def cleanup(self, ctx: Context[Any], obj: Any) -> None:
            cleaned.set()
            assert go_on.wait(30)

    recording = Cleaning()
    controller = world.register(recording, namespaces=[ONE, TWO])
    world.create(gadget("a", ONE))
    with world.running():
        recording.wait_for_runs(1)
        changing = threading.Thread(
            target=controller.change_namespaces, args=(TWO,), kwargs={"drain": True}
        )
        changing.start()
        world.delete(gadget("a", ONE))
        assert cleaned.wait(30)
        assert controller.namespaces == {ONE, TWO}
        go_on.set()
        changing.join()
        assert controller.namespaces == {TWO}
        assert world.client.resource(Gadget).namespace(ONE).list().items == []


def test_finalizers_are_not_waited_for_for_ever(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """OP-NS-13"""
    monkeypatch.setattr(changes, "DRAIN_LIMIT", 0.05)
    in_namespaces(world)

    class Cleaning(Recording):
        def cleanup(self, ctx: Context[Any], obj: Any) -> None: ...

    recording = Cleaning()
    controller = world.register(recording, namespaces=[ONE, TWO])
    world.create(gadget("a", ONE))
    with world.running():
        recording.wait_for_runs(1)
        controller.change_namespaces(TWO, drain=True)
        assert controller.namespaces == {TWO}
    assert "leaves 1 objects with its finalizer behind, one/a among them" in caplog.text


def test_what_the_labels_of_a_controller_leave_out_is_not_its_own_to_leave_behind(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """OP-NS-13, OP-FIN-15: the cache has it for another controller of the kind."""
    in_namespaces(world)

    class Cleaning(Recording):
        def cleanup(self, ctx: Context[Any], obj: Any) -> None: ...

    recording = Cleaning()
    controller = world.register(recording, labels="team=red", namespaces=[ONE, TWO])
    world.register(Recording(), name="other")
    (ours,) = controller.parts.finalizers
    world.create(
        gadget("blue", ONE, finalizers=(ours,)), gadget("red", TWO, labels={"team": "red"})
    )
    with world.running():
        recording.wait_for_runs(1)
        controller.change_namespaces(TWO)
    assert "finalizer behind" not in caplog.text


@pytest.mark.parametrize("registered", [False, True])
def test_what_keeps_a_finalizer_in_a_namespace_that_is_left_is_named(
    world: World, caplog: pytest.LogCaptureFixture, registered: bool
) -> None:
    """OP-FIN-15: once, with the way out; a finalizer that is registered counts like that of
    cleanup, also when a namespace is drained."""
    in_namespaces(world)

    class Cleaning(Recording):
        def cleanup(self, ctx: Context[Any], obj: Any) -> None: ...

    class Registered(Recording):
        def __init__(self) -> None:
            super().__init__()
            self.finalizers = Finalizers[Gadget]()
            self.finalizers.register("example.com/records", lambda _ctx, _obj: None)

    recording = Registered() if registered else Cleaning()
    controller = world.register(recording, namespaces=[ONE, TWO])
    world.create(*(gadget(f"g{number:02}", ONE) for number in range(12)), gadget("a", TWO))
    with world.running():
        recording.wait_for_runs(13)
        world.clock.wait_for(lambda: not controller.primary_cache.own_writes.keys())
        controller.change_namespaces(TWO)
        controller.change_namespaces([ONE, TWO])
    (line,) = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert line.startswith("gadget: leaves 12 objects with its finalizer behind, one/g00, one/g01")
    assert "one/g09 and others among them" in line
    assert "kubectl patch gadgets.example.com g00 -n one --type=merge" in line
