"""What the framework keeps in a status, and the helpers for the rest."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.meta import ObjectMeta, ObjectName, Resource, resource
from clientgo.operator import Context, Result
from clientgo.operator.errors import DeclarationError, TerminalError
from clientgo.operator.status import (
    Condition,
    Conditioned,
    ObservedGeneration,
    condition,
    object_reference,
    set_condition,
)
from clientgo.operator.status_report import StatusNotes
from clientgo.testing import FakeClock
from clientgo.testing.operator import replay
from tests.operator.world import (
    Gadget,
    GadgetSpec,
    Part,
    Recording,
    WatchedStatus,
    Watcher,
    World,
    gadget,
    part,
)

A = ObjectName("default", "a")


class Demanding(ObservedGeneration, kw_only=True):
    needed: int


class Judged(Conditioned):
    more: int = 0


@resource(group="example.com", version="v1", plural="judges")
class Judge(Resource):
    status: Judged | None = None


@resource(group="example.com", version="v1", plural="demanders")
class Demander(Resource):
    """A kind whose status cannot be made of nothing."""

    status: Demanding | None = None


def watcher() -> Watcher:
    return Watcher(metadata=ObjectMeta(name="a", namespace="default"), spec=GadgetSpec(size=1))


def test_the_generation_is_noted_after_a_run_that_writes_nothing(world: World) -> None:
    """OP-STS-01, OP-STS-02, OP-STS-03: in one request, and only if it differs."""
    world.create(watcher())
    recording = Recording()
    controller = world.register(recording, Watcher)
    with world.running():
        recording.wait_for_runs(1)
        world.wait_for_timer()
        assert world.get(Watcher).status.observed_generation == 1
        controller.trigger(A)
        recording.wait_for_runs(2)
        world.wait_for_timer()
    assert world.writes() == ["patch watchers/status default/a"]


def test_the_generation_goes_with_the_status_that_is_written_anyhow(world: World) -> None:
    """OP-STS-04: one request; and of the object that was handed in, not of a later one."""
    world.create(watcher())

    def report(_ctx: Context[Any], obj: Watcher) -> Result:
        obj.status = WatchedStatus(ready=5)
        return Result.status(obj, optimistic=False)

    recording = Recording(report)
    world.register(recording, Watcher)
    with world.running():
        recording.wait_for_runs(1)
        world.wait_for_timer()
    assert world.writes() == ["patch watchers/status default/a"]
    status = world.get(Watcher).status
    assert (status.ready, status.observed_generation) == (5, 1)


def test_a_status_with_conditions_has_the_generation_too() -> None:
    """OP-STS-01, OP-STS-07"""
    judge = Judge(metadata=ObjectMeta(name="a", namespace="default"))
    notes = StatusNotes(Judge, "judge", None, generation_aware=True)
    notes.succeeded(Context.__new__(Context), judge, 3)
    assert judge.status == Judged(observed_generation=3)


def test_after_a_failure_the_generation_is_not_noted(world: World) -> None:
    """OP-STS-04"""
    world.create(watcher())

    def fail(_ctx: Context[Any], _obj: Watcher) -> None:
        raise TerminalError("no")

    controller = world.register(Recording(fail), Watcher)
    with world.running():
        world.clock.wait_for(lambda: controller.queue.statistics().exhausted == 1)
    assert world.writes() == []


def test_a_controller_may_go_without(world: World) -> None:
    """OP-STS-05: generation_aware=False"""
    world.create(watcher())
    recording = Recording()
    world.register(recording, Watcher, generation_aware=False)
    with world.running():
        recording.wait_for_runs(1)
        world.wait_for_timer()
    assert world.writes() == []


def test_a_status_that_cannot_be_made_is_refused_when_the_controller_is_built(world: World) -> None:
    """OP-STS-03"""

    with pytest.raises(DeclarationError, match="give each of its fields a default"):
        world.register(Recording(), Demander)


def test_a_kind_without_a_status_cannot_have_one_written(world: World) -> None:
    """OP-STS-06"""
    world.create(part())
    recording = Recording(lambda _ctx, obj: Result.status(obj))
    controller = world.register(recording, Part)
    with world.running():
        world.clock.wait_for(lambda: controller.queue.statistics().exhausted == 1)
    assert world.writes() == []


def test_a_status_write_touches_nothing_else(world: World) -> None:
    """OP-STS-06"""
    world.create(watcher())

    def confuse(_ctx: Context[Any], obj: Watcher) -> Result:
        obj.spec.size = 99
        obj.metadata.labels["x"] = "y"
        obj.status = WatchedStatus(ready=1)
        return Result.status(obj)

    recording = Recording(confuse)
    world.register(recording, Watcher)
    with world.running():
        recording.wait_for_runs(1)
        world.wait_for_timer()
    stored = world.get(Watcher)
    assert (stored.spec.size, stored.metadata.labels, stored.status.ready) == (1, {}, 1)


def test_a_condition_moves_its_time_only_when_it_changes() -> None:
    """OP-STS-07"""
    clock, conditions = FakeClock(wall=1_000_000_000), list[Condition]()
    assert set_condition(conditions, "Ready", False, "Waiting", "for parts", clock=clock)
    began = conditions[0].last_transition_time
    clock.step(60)
    assert not set_condition(conditions, "Ready", False, "Waiting", "for parts", clock=clock)
    assert set_condition(conditions, "Ready", False, "Waiting", "still", clock=clock)
    assert conditions[0].last_transition_time == began
    assert set_condition(conditions, "Ready", True, "Done", generation=4, clock=clock)
    assert conditions[0].last_transition_time > began
    assert (conditions[0].status, conditions[0].observed_generation) == ("True", 4)
    assert len(conditions) == 1


def test_a_run_sets_conditions_with_its_clock_and_its_generation() -> None:
    """OP-STS-07"""
    clock, conditions, changes = FakeClock(wall=1_000_000_000), list[Condition](), []

    class Setting:
        def reconcile(self, ctx: Context[Gadget], obj: Gadget) -> None:
            changes.append(ctx.set_condition(conditions, "Ready", True, "Done", "for now"))

    for record in replay(Setting(), gadget(), clock=clock):
        assert record.obj.metadata.generation == 1
    assert changes == [True, False]
    (ready,) = conditions
    assert (ready.observed_generation, ready.message) == (1, "for now")
    assert ready.last_transition_time == "2001-09-09T01:46:40Z"


def test_conditions_are_found_by_their_type() -> None:
    """OP-STS-07"""
    conditions: list[Condition] = []
    set_condition(conditions, "Ready", None, "Unknown")
    set_condition(conditions, "Degraded", False, "AsExpected")
    found = condition(conditions, "Ready")
    assert found is not None
    assert found.status == "Unknown"
    assert condition(conditions, "Missing") is None


@pytest.mark.parametrize(
    ("reason", "message"), [("two words", ""), ("", ""), ("R" * 1025, ""), ("Fine", "m" * 32769)]
)
def test_what_the_server_would_refuse_is_refused_here(reason: str, message: str) -> None:
    """OP-STS-07"""
    with pytest.raises(ValueError, match=r"a reason is|a message has"):
        set_condition([], "Ready", True, reason, message)


@pytest.mark.parametrize(
    ("conditions", "status", "hint"),
    [
        (gadget(), True, "the list to change, as obj.status.conditions, not <Gadget default/a"),
        ([], "False", "the status of a condition is True, False or None, not 'False'"),
    ],
)
def test_an_argument_of_another_type_is_refused_with_a_hint(
    conditions: Any, status: Any, hint: str
) -> None:
    """OP-STS-07"""
    with pytest.raises(TypeError, match=hint):
        set_condition(conditions, "Ready", status, "Done")


def test_a_reference_to_an_object() -> None:
    """OP-STS-09"""
    assert object_reference(part(uid="1", resource_version="2")) == {
        "apiVersion": "example.com/v1",
        "kind": "Part",
        "namespace": "default",
        "name": "p",
        "uid": "1",
        "resourceVersion": "2",
    }
