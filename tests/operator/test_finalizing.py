"""Finalizers: nothing goes before its clean-up is done."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from clientgo.meta import NotFoundError, ObjectName
from clientgo.operator import (
    Context,
    Result,
    add_finalizer,
    has_finalizer,
    remove_finalizer,
)
from clientgo.operator.errors import DeclarationError
from tests.operator.world import Gadget, GadgetStatus, Recording, World, gadget

A = ObjectName("default", "a")
OURS = "gadgets.example.com/finalizer"


class Cleaning(Recording):
    """Notes its clean-ups; ``answer_cleanup`` decides what each returns or raises."""

    def __init__(
        self, answer_cleanup: Callable[[Context[Any], Gadget], Result | None] | None = None
    ) -> None:
        super().__init__()
        self._answer_cleanup = answer_cleanup
        self.cleaned: list[Gadget] = []
        self.done = threading.Event()

    def cleanup(self, ctx: Context[Any], obj: Gadget) -> Result | None:
        self.cleaned.append(obj)
        self.done.set()
        return None if self._answer_cleanup is None else self._answer_cleanup(ctx, obj)


def gone(world: World, name: str = "a") -> bool:
    try:
        world.get(Gadget, name)
    except NotFoundError:
        return True
    return False


def test_a_reconciler_without_cleanup_gets_no_finalizer(world: World) -> None:
    """OP-FIN-01"""
    world.create(gadget())
    recording = Recording()
    world.register(recording)
    with world.running():
        recording.wait_for_runs(1)
        world.wait_for_timer()
    assert world.writes() == []


def test_the_finalizer_is_there_before_the_first_reconcile(world: World) -> None:
    """OP-FIN-02, OP-FIN-03, BP-07: one request adds it, and exactly one run follows."""
    world.create(gadget(finalizers=("example.com/theirs",)))
    cleaning = Cleaning()
    world.register(cleaning)
    with world.running():
        cleaning.wait_for_runs(1)
        world.wait_for_timer()
        assert len(cleaning.runs) == 1
    assert cleaning.objects[0].metadata.finalizers == ("example.com/theirs", OURS)
    assert world.writes() == ["patch gadgets default/a"]
    action = world.asked.writes()[0]
    assert action.body[0]["op"] == "test", "an object that has changed meanwhile is left alone"


def test_an_object_is_cleaned_up_and_goes(world: World) -> None:
    """OP-FIN-04, OP-FIN-07, OP-REC-06, BP-08: reconcile is not called for it any more."""
    world.create(gadget())
    cleaning = Cleaning()
    controller = world.register(cleaning)
    with world.running():
        cleaning.wait_for_runs(1)
        world.wait_for_timer()
        world.delete(gadget())
        assert cleaning.done.wait(5)
        world.clock.wait_for(lambda: controller.queue.statistics().known == 0)
    assert gone(world)
    assert len(cleaning.runs) == len(cleaning.cleaned) == 1


def test_an_object_deleted_while_nobody_was_there_is_cleaned_up(world: World) -> None:
    """OP-FIN-06, OP-QUE-03"""
    world.create(gadget(finalizers=(OURS,)))
    world.delete(gadget())
    cleaning = Cleaning()
    controller = world.register(cleaning)
    with world.running():
        assert cleaning.done.wait(5)
        world.clock.wait_for(lambda: controller.queue.statistics().known == 0)
    assert gone(world)
    assert cleaning.runs == []


def test_the_finalizers_of_others_are_left_alone(world: World) -> None:
    """OP-FIN-05, OP-FIN-04: without our own there is nothing to do, and nothing is added."""
    world.create(gadget(finalizers=("example.com/theirs",)))
    world.delete(gadget())
    cleaning = Cleaning()
    controller = world.register(cleaning)
    with world.running():
        controller.trigger(A)
        world.clock.wait_for(lambda: controller.queue.statistics().known == 0)
    assert (cleaning.runs, cleaning.cleaned, world.writes()) == ([], [], [])
    assert world.get(Gadget).metadata.finalizers == ("example.com/theirs",)


def test_ours_goes_and_theirs_stays(world: World) -> None:
    """OP-FIN-05"""
    world.create(gadget(finalizers=("example.com/theirs", OURS)))
    world.delete(gadget())
    cleaning = Cleaning()
    world.register(cleaning)
    with world.running():
        world.asked.wait_for(lambda actions: any(a.verb == "patch" for a in actions))
        world.clock.wait_for(world.at_rest)
    assert world.get(Gadget).metadata.finalizers == ("example.com/theirs",)


def test_a_clean_up_that_takes_its_time_keeps_the_finalizer(world: World) -> None:
    """OP-RES-11, OP-FIN-09: it is asked again when it wanted to be."""

    def slowly(_ctx: Context[Any], _obj: Gadget) -> Result:
        return Result.done().keep_finalizer().after(10) if len(cleaning.cleaned) < 2 else None  # type: ignore[return-value]

    world.create(gadget(finalizers=(OURS,)))
    world.delete(gadget())
    cleaning = Cleaning(slowly)
    controller = world.register(cleaning)
    with world.running():
        world.wait_for_timer()
        assert not gone(world)
        world.clock.step(10)
        world.clock.wait_for(lambda: controller.queue.statistics().known == 0)
    assert gone(world)
    assert len(cleaning.cleaned) == 2


@pytest.mark.parametrize(
    "answer",
    [
        lambda _ctx, _obj: Result.requeue(10),
        lambda _ctx, obj: Result.resource(obj),
    ],
)
def test_a_clean_up_that_is_done_can_ask_for_nothing_more(
    world: World, answer: Callable[..., Result]
) -> None:
    """OP-RES-11, OP-RES-12: that is an error, and the object stays."""
    world.create(gadget(finalizers=(OURS,)))
    world.delete(gadget())
    cleaning = Cleaning(answer)
    world.register(cleaning)
    with world.running():
        assert cleaning.done.wait(5)
        world.wait_for_timer()
    assert not gone(world)


def test_a_clean_up_may_write_while_it_keeps_the_finalizer(world: World) -> None:
    """OP-RES-12"""

    def write(_ctx: Context[Any], obj: Gadget) -> Result:
        obj.status = GadgetStatus(ready=-1)
        return Result.status(obj).keep_finalizer()

    world.create(gadget(finalizers=(OURS,)))
    world.delete(gadget())
    world.register(Cleaning(write))
    with world.running():
        world.asked.wait_for(lambda actions: any(a.subresource == "status" for a in actions))
        world.clock.wait_for(world.at_rest)
    assert world.get(Gadget).status.ready == -1


def test_a_failing_clean_up_is_tried_again_without_on_error(world: World) -> None:
    """OP-RTY-15, OP-FIN-09"""
    asked: list[Exception] = []

    class Failing(Cleaning):
        def cleanup(self, ctx: Context[Any], obj: Gadget) -> Result | None:
            super().cleanup(ctx, obj)
            if len(self.cleaned) < 2:
                raise ValueError("no")
            return None

        def on_error(self, ctx: Context[Any], obj: Gadget, error: Exception) -> None:
            asked.append(error)

    world.create(gadget(finalizers=(OURS,)))
    world.delete(gadget())
    failing = Failing()
    controller = world.register(failing)
    with world.running():
        world.wait_for_timer()
        world.clock.step(2)
        world.clock.wait_for(lambda: controller.queue.statistics().known == 0)
    assert gone(world)
    assert asked == []


def test_an_object_that_changed_meanwhile_is_read_anew(world: World) -> None:
    """OP-FIN-07: a conflict does not repeat the clean-up."""

    def change(_ctx: Context[Any], obj: Gadget) -> None:
        world.patch(obj, {"metadata": {"labels": {"changed": "yes"}}})

    world.create(gadget(finalizers=(OURS,)))
    world.delete(gadget())
    cleaning = Cleaning(change)  # type: ignore[arg-type]
    controller = world.register(cleaning)
    with world.running():
        assert cleaning.done.wait(5)
        world.clock.wait_for(lambda: controller.queue.statistics().known == 0)
    assert gone(world)
    assert len(cleaning.cleaned) == 1


@pytest.mark.parametrize(
    "name", ["plain", "example.com/", "Example.com/x", "example.com/" + "x" * 64]
)
def test_a_bad_finalizer_is_refused_when_the_controller_is_built(world: World, name: str) -> None:
    """OP-FIN-02"""
    with pytest.raises(DeclarationError, match="is no finalizer"):
        world.register(Cleaning(), finalizer=name)


def test_a_clean_up_needs_a_finalizer(world: World) -> None:
    """OP-FIN-02: None would mean that it is never called."""
    with pytest.raises(DeclarationError, match="would never be called"):
        world.register(Cleaning(), finalizer=None)


def test_two_controllers_cannot_share_a_finalizer(world: World) -> None:
    """OP-BLD-14: each would remove the other's."""
    world.register(Cleaning(), name="one")
    with pytest.raises(DeclarationError, match="one and two"):
        world.register(Cleaning(), name="two")
    world.register(Cleaning(), name="two", finalizer="example.com/two")


def test_the_helpers_say_whether_they_changed_anything() -> None:
    """OP-FIN-14"""
    obj = gadget()
    assert add_finalizer(obj, "example.com/x")
    assert not add_finalizer(obj, "example.com/x")
    assert has_finalizer(obj, "example.com/x")
    assert remove_finalizer(obj, "example.com/x")
    assert not remove_finalizer(obj, "example.com/x")
