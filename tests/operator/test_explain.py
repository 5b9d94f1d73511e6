"""Why is nothing happening? What a controller says of one object."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from clientgo.api.coordination_v1 import Lease, LeaseSpec
from clientgo.meta import ObjectMeta, ObjectName
from clientgo.meta.timestamps import format_micro_time
from clientgo.operator import CacheScope, Context, LeaderElection, Predicate, RateLimit, retry
from clientgo.operator.errors import TerminalError
from clientgo.operator.predicates import (
    annotations_changed,
    data_changed,
    generation_or_finalizers_changed,
    label_selector,
    labels_changed,
)
from tests.operator.world import PATIENCE, Gadget, Recording, World, gadget

A = ObjectName("default", "a")


def reason(controller: Any, key: Any, code: str) -> str:
    """The text of one reason, which must be given."""
    explanation = controller.explain(key)
    (found,) = [each.text for each in explanation.reasons if each.code == code]
    assert explanation.has(code)
    assert found in str(explanation)
    return str(found)


def codes(controller: Any, key: Any = A) -> list[str]:
    return [each.code for each in controller.explain(key).reasons]


@contextmanager
def at_rest_after(world: World, recording: Recording, runs: int = 1) -> Iterator[None]:
    with world.running():
        recording.wait_for_runs(runs)
        world.clock.wait_for(world.at_rest)
        yield


class Blocking(Recording):
    """Runs that wait until the test lets them end."""

    def __init__(self) -> None:
        self.end = threading.Event()
        super().__init__(self._wait)

    def _wait(self, _ctx: Context[Any], _obj: Any) -> None:
        self.end.wait(PATIENCE)


# The object and the queue


def test_an_object_that_is_reconciled_waits_for_an_event(world: World) -> None:
    world.create(gadget())
    recording = Recording()
    controller = world.register(recording, max_interval=3600.0)
    with at_rest_after(world, recording):
        world.wait_for_timer()
        world.clock.step(600)
        assert codes(controller) == ["safety", "idle", "generation"]
        assert reason(controller, "default/a", "safety") == (
            "without an event it runs in 50 min (max_interval)"
        )


def test_a_run_is_told_with_its_age_and_who_waits_for_it(world: World) -> None:
    world.create(gadget(), gadget("b"))
    blocking = Blocking()
    controller = world.register(blocking)
    with world.running():
        (running,) = blocking.wait_for_runs(1)
        (waiting,) = {A, ObjectName("default", "b")} - {running}
        world.clock.step(7)
        assert reason(controller, running, "running") == "it has been running for 7 s"
        ready = reason(controller, waiting, "ready")
        assert ready == f"it is ready to run; every worker is busy: {running} for 7 s"
        controller.trigger(running)
        assert codes(controller, running) == ["running", "pending"]
        blocking.end.set()
        blocking.wait_for_runs(3)


def test_a_failed_object_waits_for_its_retry(world: World) -> None:
    world.create(gadget())

    def fail(_ctx: Context[Any], _obj: Any) -> None:
        raise ValueError("no disk")

    recording = Recording(fail)
    controller = world.register(recording, retry=retry.fixed(30.0))
    with at_rest_after(world, recording):
        world.wait_for_timer()
        world.clock.step(10)
        assert reason(controller, A, "retry") == "its last run failed; retry 1 follows in 20 s"
        assert reason(controller, A, "error") == "its last run failed: ValueError: no disk"


def test_an_object_without_retries_says_so(world: World) -> None:
    world.create(gadget())

    def fail(_ctx: Context[Any], _obj: Any) -> None:
        raise TerminalError("no")

    recording = Recording(fail)
    controller = world.register(recording)
    with at_rest_after(world, recording):
        world.clock.wait_for(lambda: controller.queue.statistics().exhausted == 1)
        assert codes(controller) == ["safety", "exhausted", "error"]


def test_a_rate_limit_and_a_debounce_are_told_with_their_rest(world: World) -> None:
    world.create(gadget())
    recording = Recording()
    controller = world.register(recording, rate_limit=RateLimit(1, 60.0, 5.0))
    with world.running():
        world.clock.wait_for(lambda: controller.explain(A).has("debounce"))
        assert reason(controller, A, "debounce") == "debounce: its events are gathered for 5 s"
        world.run_for(5)
        recording.wait_for_runs(1)
        world.wait_for_timer()
        assert not controller.explain(A).has("rate-limit")
        controller.trigger(A)
        assert codes(controller) == ["debounce", "rate-limit"]
        world.clock.step(20)
        assert reason(controller, A, "rate-limit") == "rate limit: the next run may begin in 40 s"


def test_failures_that_follow_each_other_hold_the_next_run(world: World) -> None:
    world.create(gadget())

    def fail(_ctx: Context[Any], _obj: Any) -> None:
        raise ValueError("no")

    recording = Recording(fail)
    controller = world.register(recording, retry=retry.fixed(100.0))
    with world.running():
        for count in range(1, 11):
            recording.wait_for_runs(count)
            world.wait_for_timer()
            controller.trigger(A)
        assert reason(controller, A, "failures").endswith("the next one waits 100 s")


def test_a_pause_is_told(world: World) -> None:
    recording = Recording()
    controller = world.register(recording)
    with world.running():
        controller.pause()
        assert "paused" in codes(controller)


# The cache and the process


def test_an_unknown_object_is_told_with_the_limits_of_the_cache(
    make_world: Callable[..., World],
) -> None:
    world = make_world(cache_by_kind={Gadget: CacheScope(labels="app=web")})
    world.create(gadget())
    controller = world.register(Recording(), namespaces=["default", "shop"])
    with world.running():
        assert codes(controller) == ["unknown", "narrowed"]
        limits = reason(controller, A, "narrowed")
        assert limits == "the cache has only gadgets with labels app=web"
        elsewhere = reason(controller, "other/a", "namespace")
        assert elsewhere == "namespace other is not watched, but default, shop"
        assert reason(controller, "a", "kind") == "a key of gadgets is written NAMESPACE/NAME"


def test_a_predicate_that_stops_the_object_is_named(world: World) -> None:
    world.create(gadget())

    def is_big(obj: Gadget) -> bool:
        return obj.spec.size > 5

    def fails(_obj: Any) -> bool:
        raise ValueError

    controller = (
        world.manager.controller(Gadget)
        .with_predicate(label_selector("app=web"))
        .with_predicate(Predicate.of(is_big) | label_selector({"big": "yes"}))
        .with_predicate(Predicate.of(fails))
        .build(Recording())
    )
    with world.running():
        found = [r.text for r in controller.explain(A).reasons if r.code == "predicate"]
    prefix = "its events are stopped by a predicate: "
    assert found[0] == prefix + "label_selector('app=web')"
    assert found[1].endswith("is_big) | label_selector('big=yes'))")
    assert len(found) == 2  # one that raises lets events pass


def test_an_idle_object_shows_what_updates_have_to_pass(world: World) -> None:
    world.create(gadget())
    recording = Recording()
    builder = world.manager.controller(Gadget).with_predicate(data_changed("spec", "size"))
    controller = builder.build(recording)
    with at_rest_after(world, recording):
        world.wait_for_timer()
        filters = reason(controller, A, "filters")
        assert filters == "an event runs it only if it passes data_changed('spec', 'size')"


def test_predicates_say_what_they_are() -> None:
    assert repr(~generation_or_finalizers_changed) == "~(generation_changed | finalizers_changed)"
    assert repr(labels_changed & annotations_changed("a")) == (
        "(labels_changed & annotations_changed('a'))"
    )
    assert repr(data_changed("data", "x")) == "data_changed('data', 'x')"
    assert repr(Predicate()) == "Predicate"


def test_before_the_start_nothing_is_synced_or_works(world: World) -> None:
    controller = world.register(Recording())
    assert codes(controller) == ["not-synced", "unknown", "not-started"]


def test_a_process_that_does_not_lead_says_who_does(make_world: Callable[..., World]) -> None:
    world = make_world(leader_election=LeaderElection(id="ops", namespace="default", identity="me"))
    spec = LeaseSpec(
        holder_identity="other",
        lease_duration_seconds=15,
        acquire_time=format_micro_time(world.clock.time()),
        renew_time=format_micro_time(world.clock.time()),
    )
    world.create(gadget(), Lease(metadata=ObjectMeta(name="ops", namespace="default"), spec=spec))
    controller = world.register(Recording())
    with world.running():
        world.clock.wait_for(lambda: "held by other" in str(controller.explain(A)))
        assert reason(controller, A, "not-leader") == (
            "this process (me) does not lead: lease default/ops is held by other"
        )


def test_an_object_that_is_being_deleted_shows_whose_finalizers_are_left(world: World) -> None:
    world.create(gadget(finalizers=("example.com/other",)))
    recording = Recording()
    controller = world.register(recording)
    with at_rest_after(world, recording):
        world.delete(gadget())
        world.clock.wait_for(lambda: controller.explain(A).has("deleting"))
        assert reason(controller, A, "deleting") == (
            "it is being deleted; its finalizers: example.com/other; none is of this controller"
        )


def test_a_key_that_names_nothing_is_refused(world: World) -> None:
    controller = world.register(Recording())
    with pytest.raises(ValueError, match="expected namespace/name"):
        controller.explain("a/b/c")
