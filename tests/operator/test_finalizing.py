"""Finalizers: nothing goes before its clean-up is done."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from clientgo.api.events_v1 import Event
from clientgo.meta import (
    APIResource,
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    ObjectName,
    Status,
)
from clientgo.meta.status import StatusCause, StatusDetails
from clientgo.operator import Context, Result, retry
from clientgo.operator.client.object_writes import add_finalizers_now, remove_finalizers_now
from clientgo.operator.errors import DeclarationError, NamespaceTerminatingError
from clientgo.operator.finalizers import Finalizers, add_finalizer, has_finalizer, remove_finalizer
from clientgo.testcluster.server.faults import FailRequests, Requests
from tests.operator.world import Gadget, GadgetStatus, Recording, World, gadget, part

A = ObjectName("default", "a")
UNSTRUCTURED = APIResource(group="example.com", version="v1", kind="Gadget", plural="gadgets")
OURS = "gadgets.example.com/finalizer"
PATCHES = Requests(verbs=("patch",), resource="gadgets")
READS = Requests(verbs=("get",), resource="gadgets")


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
        assert cleaning.done.wait(30)
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
        assert cleaning.done.wait(30)
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
        assert cleaning.done.wait(30)
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
    cleaning = Cleaning(change)
    controller = world.register(cleaning)
    with world.running():
        assert cleaning.done.wait(30)
        world.clock.wait_for(lambda: controller.queue.statistics().known == 0)
    assert gone(world)
    assert len(cleaning.cleaned) == 1


@pytest.mark.parametrize(
    "failing",
    [FailRequests(requests=PATCHES, status=404), FailRequests(requests=READS, status=404)],
    ids=["removal", "read after a conflict"],
)
def test_an_object_is_gone_only_if_an_answer_names_it(world: World, failing: FailRequests) -> None:
    """OP-FIN-07, OP-RTY-06: a proxy, or a server that does not serve the kind yet, answers 404."""

    def fail(_ctx: Context[Any], obj: Gadget) -> None:
        if len(cleaning.cleaned) == 1:
            world.patch(obj, {"metadata": {"labels": {"changed": "yes"}}})
            world.server.inject(failing)

    world.create(gadget(finalizers=(OURS,)))
    world.delete(gadget())
    cleaning = Cleaning(fail)
    controller = world.register(cleaning)
    with world.running():
        world.wait_for_timer()
        assert world.server.struck(failing) == 1
        world.run_for(2)
        world.clock.wait_for(lambda: controller.queue.statistics().known == 0)
    assert gone(world)
    assert len(cleaning.cleaned) == 2


@pytest.mark.parametrize("kind", [Gadget, UNSTRUCTURED])
def test_finalizers_of_an_object_that_changed_since_it_was_read(world: World, kind: Any) -> None:
    """OP-FIN-03, OP-FIN-07: adding one is a conflict, removing one is tried again."""
    world.create(gadget(finalizers=("example.com/other",)))
    with world.running():
        client = world.manager.client
        read = client.live.get(kind, "a", "default")
        world.patch(gadget(), {"metadata": {"labels": {"changed": "yes"}}})
        with pytest.raises(ConflictError, match="a has changed since it was read"):
            add_finalizers_now(client, read, [OURS])
        with pytest.raises(InvalidError):
            add_finalizers_now(client, client.live.get(kind, "a", "default"), ["no name"])
        remove_finalizers_now(client, read, ["example.com/other"])
        assert world.get(Gadget, "a").metadata.finalizers == ()


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


def test_what_is_told_of_an_object_after_its_finalizer_went_is_ignored(world: World) -> None:
    """OP-FIN-08: others may keep it for long; nothing more is done for it."""
    obj = gadget(finalizers=("example.com/theirs", OURS))
    world.create(obj)
    world.delete(obj)
    cleaning = Cleaning()
    controller = world.register(cleaning)
    with world.running():
        world.asked.wait_for(lambda actions: any(a.verb == "patch" for a in actions))
        world.clock.wait_for(lambda: controller.queue.statistics().known == 0)
        world.patch(obj, {"metadata": {"labels": {"changed": "yes"}}})
        controller.trigger(A)
        world.clock.wait_for(lambda: controller.queue.statistics().known == 0)
    assert (len(cleaning.cleaned), cleaning.runs) == (1, [])
    assert world.writes() == ["patch gadgets default/a"]


def test_a_clean_up_that_keeps_failing_is_given_up(world: World) -> None:
    """OP-FIN-10: the object goes, and people are told."""

    def fail(_ctx: Context[Any], _obj: Gadget) -> None:
        raise ValueError("the bucket is locked")

    world.create(gadget(finalizers=(OURS,)))
    world.delete(gadget())
    cleaning = Cleaning(fail)
    controller = world.register(cleaning, retry=retry.none(), give_up_after=3600)
    # The server lives in real time; the manager's clock is at the deletion now.
    world.clock.step(time.time() - world.clock.time())
    with world.running():
        world.wait_for_timer()
        world.clock.step(3500)
        world.wait_for_timer()
        assert not gone(world)
        world.clock.step(200)
        world.clock.wait_for(lambda: controller.queue.statistics().known == 0)
    assert gone(world)
    assert len(cleaning.cleaned) == 2, "the second was when its time was over"
    events = world.client.resource(Event).namespace("default").list().items
    (event,) = [event for event in events if event.reason == "CleanupAbandoned"]
    assert (event.type, "the bucket is locked" in (event.note or "")) == ("Warning", True)


def test_a_clean_up_is_not_given_up_unless_that_was_asked_for(world: World) -> None:
    """OP-FIN-10: off by default; an object waits for years."""

    def fail(_ctx: Context[Any], _obj: Gadget) -> None:
        raise ValueError("no")

    world.create(gadget(finalizers=(OURS,)))
    world.delete(gadget())
    cleaning = Cleaning(fail)
    world.register(cleaning, retry=retry.none(), max_interval=1e9)
    with world.running():
        world.wait_for_timer()
        world.clock.step(1e9)
        world.clock.wait_for(lambda: len(cleaning.cleaned) == 2)
        world.wait_for_timer()
    assert not gone(world)


class TwoFold(Recording):
    """Has two finalizers; ``broken`` are those whose clean-up fails."""

    def __init__(self, *broken: str) -> None:
        super().__init__()
        self.broken = set(broken)
        self.cleaned: list[str] = []
        self.finalizers: Finalizers[Gadget] = Finalizers()
        for name in ("records", "bucket"):
            self.finalizers.register(f"example.com/{name}", partial(self._clean_up, name))

    def _clean_up(self, name: str, _ctx: Context[Any], _obj: Gadget) -> None:
        self.cleaned.append(name)
        if name in self.broken:
            raise ValueError(f"no {name}")


BOTH = ("example.com/records", "example.com/bucket")


def test_several_finalizers_are_added_by_one_request(world: World) -> None:
    """OP-FIN-11"""
    world.create(gadget(finalizers=("example.com/bucket",)))
    reconciler = TwoFold()
    world.register(reconciler)
    with world.running():
        reconciler.wait_for_runs(1)
        world.wait_for_timer()
    assert sorted(world.get(Gadget).metadata.finalizers) == sorted(BOTH)
    assert world.writes() == ["patch gadgets default/a"]


def test_each_finalizer_goes_when_its_own_clean_up_is_done(world: World) -> None:
    """OP-FIN-11, OP-FIN-09: whatever the others do; those that are off are not called again."""
    world.create(gadget(finalizers=BOTH))
    world.delete(gadget())
    reconciler = TwoFold("records")
    controller = world.register(reconciler)
    with world.running():
        world.wait_for_timer()
        assert world.get(Gadget).metadata.finalizers == ("example.com/records",)
        reconciler.broken.clear()
        world.clock.step(2)
        world.clock.wait_for(lambda: controller.queue.statistics().known == 0)
    assert gone(world)
    assert reconciler.cleaned.count("bucket") == 1


def test_what_failed_is_told_together(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """OP-FIN-11"""
    world.create(gadget(finalizers=BOTH))
    world.delete(gadget())
    world.register(TwoFold("records", "bucket"))
    with world.running():
        world.wait_for_timer()
    told = "example.com/bucket: no bucket; example.com/records: no records"
    assert sum(told in line for line in caplog.messages) == 1


def test_a_name_is_registered_once(world: World) -> None:
    """OP-FIN-11, OP-FIN-02"""
    finalizers: Finalizers[Gadget] = Finalizers()
    finalizers.register("example.com/a", lambda _ctx, _obj: None)
    with pytest.raises(DeclarationError, match="already"):
        finalizers.register("example.com/a", lambda _ctx, _obj: None)
    with pytest.raises(DeclarationError, match="no finalizer"):
        finalizers.register("a", lambda _ctx, _obj: None)

    class Both(TwoFold):
        def cleanup(self, _ctx: Context[Any], _obj: Gadget) -> None: ...

    with pytest.raises(DeclarationError, match="that of cleanup"):
        world.register(Both(), finalizer="example.com/bucket")


def test_nothing_is_tried_again_in_a_namespace_that_goes(world: World) -> None:
    """OP-FIN-12, BP-27: the pass has failed for good; only an event runs it again."""
    raised: list[Exception] = []

    def create(ctx: Context[Any], _obj: Gadget) -> None:
        try:
            ctx.client.create(part("b", "default"))
        except Exception as error:
            raised.append(error)
            raise

    details = StatusDetails(causes=[StatusCause(reason="NamespaceTerminating")])
    refusal = ForbiddenError(Status(reason="Forbidden", code=403, details=details))

    def refuse(action: Any) -> None:
        if action.matches("create", "parts"):
            raise refusal

    world.asked.before = refuse
    world.create(gadget())
    recording = Recording(create)
    controller = world.register(recording)
    with world.running():
        recording.wait_for_runs(1)
        world.wait_for_timer()
        assert controller.queue.statistics().exhausted == 1
        world.clock.step(3600)
        world.clock.wait_for(world.at_rest)
    assert len(recording.runs) == 1
    assert [type(error) for error in raised] == [NamespaceTerminatingError]


# Finalizers that nothing removes


def stuck_lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]


def test_a_finalizer_of_an_earlier_release_is_told_of_once(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """OP-FIN-15: of each object that is being deleted, with the way out, to its user too."""
    world.create(*(gadget(name, finalizers=(OURS, "example.com/theirs")) for name in "ab"))
    world.create(gadget("c", finalizers=(OURS,)), gadget("d", finalizers=("other.org/theirs",)))
    controller = world.register(Recording())
    for name in ("a", "b", "d"):
        world.delete(gadget(name))

    def sees(size: int) -> bool:
        return bool(controller.read_primary(A).spec.size == size)  # type: ignore[union-attr]

    with world.running():
        world.wait_for_timer()
        for size in (2, 3):
            world.patch(gadget("a"), {"spec": {"size": size}})
            world.clock.wait_for(partial(sees, size))
            world.clock.wait_for(world.at_rest)
    lines = stuck_lines(caplog)
    assert sorted(line.partition(":")[0] for line in lines) == ["default/a", "default/b"]
    patch = '--type=merge -p \'{"metadata":{"finalizers":["example.com/theirs"]}}\''
    assert f"{OURS}, which nothing in this operator removes" in lines[0]
    assert all(
        f"kubectl patch gadgets.example.com {line[8]} -n default {patch}" in line for line in lines
    )
    events = world.client.resource(Event).namespace("default").list().items
    about = [each.regarding.name or "" for each in events if each.regarding]
    assert (sorted(about), {each.reason for each in events}) == (["a", "b"], {"FinalizerAbandoned"})


def test_what_another_controller_of_the_manager_removes_is_not_abandoned(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """OP-FIN-15: nor is what has a name of its own, which may be that of another program."""
    cleaning = Cleaning(lambda _ctx, _obj: Result.done().keep_finalizer())
    world.register(Recording())
    world.register(cleaning, name="other")
    world.create(gadget("a", finalizers=(OURS,)), gadget("b", finalizers=("example.com/old",)))
    for name in "ab":
        world.delete(gadget(name))
    with world.running():
        world.wait_for_timer()
    assert cleaning.cleaned
    assert stuck_lines(caplog) == []


def test_an_object_that_leaves_the_labels_with_a_finalizer_is_told_of(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """OP-FIN-15: and one that is deleted is not."""
    cleaning = Cleaning()
    controller = world.register(cleaning, labels="team=red")
    world.create(*(gadget(name, labels={"team": "red"}) for name in "abc"))
    with world.running():
        cleaning.wait_for_runs(3)
        world.clock.wait_for(lambda: not controller.primary_cache.own_writes.keys())
        world.delete(gadget("b"))
        world.patch(gadget("a"), {"metadata": {"labels": {"team": "blue"}}})
        world.clock.wait_for(lambda: controller.queue.statistics().known == 1)
    (line,) = stuck_lines(caplog)
    assert line.startswith("gadget: default/a has no longer the labels that are watched")
    assert "kubectl patch gadgets.example.com a -n default --type=merge -p" in line
