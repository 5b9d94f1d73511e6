"""One run from its key to what follows, against a server."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from clientgo.meta import AlreadyExistsError, ConflictError, ObjectName
from clientgo.operator import Context, ErrorResult, Result, Retry, TerminalError
from clientgo.operator.client import Change
from clientgo.operator.errors import ConfigError, DeclarationError
from tests.operator.world import (
    PATIENCE,
    Gadget,
    GadgetStatus,
    Part,
    Recording,
    World,
    gadget,
    part,
    record_triggers,
)

A = ObjectName("default", "a")


def test_a_reconciler_is_given_the_object_as_it_is(world: World) -> None:
    """OP-REC-01: the current object, and no event."""
    world.create(gadget())
    recording = Recording()
    world.register(recording)
    with world.running():
        assert recording.wait_for_runs(1) == [A]
    assert recording.objects[0].spec.size == 1


def test_what_a_reconciler_does_to_its_object_stays_with_it(world: World) -> None:
    """OP-REC-02, OP-CCH-05: neither the cache nor a later run sees it."""

    def spoil(_ctx: Context[Any], obj: Gadget) -> None:
        obj.spec.size += 100
        obj.metadata.labels["spoiled"] = "yes"

    world.create(gadget())
    recording = Recording(spoil)
    controller = world.register(recording)
    with world.running():
        recording.wait_for_runs(1)
        controller.trigger(A)
        recording.wait_for_runs(2)
        cached = world.manager.client.get(Gadget, "a", "default")
    assert (cached.spec.size, cached.metadata.labels) == (1, {})
    assert recording.objects[1] is not recording.objects[0]


def test_nothing_is_written_where_nothing_has_changed(world: World) -> None:
    """OP-RES-06, OP-STS-08: a status that is as it was costs no request."""
    world.create(gadget())

    def report(_ctx: Context[Any], obj: Gadget) -> Result:
        obj.status = GadgetStatus(ready=3)
        return Result.status(obj)

    recording = Recording(report)
    controller = world.register(recording)
    with world.running():
        recording.wait_for_runs(1)
        world.wait_for_timer()
        controller.trigger(A)
        recording.wait_for_runs(2)
        world.wait_for_timer()
    assert world.writes() == ["patch gadgets/status default/a"]
    assert world.get(Gadget).status.ready == 3


def test_both_writes_the_object_then_its_status(world: World) -> None:
    """OP-RES-07: two requests in this order."""
    world.create(gadget())

    def write(_ctx: Context[Any], obj: Gadget) -> Result:
        obj.spec.colour = "red"
        obj.status = GadgetStatus(ready=1)
        return Result.both(obj)

    recording = Recording(write)
    world.register(recording)
    with world.running():
        world.asked.wait_for(lambda actions: sum("patch" in str(a) for a in actions) >= 2)
    assert world.writes()[:2] == ["patch gadgets default/a", "patch gadgets/status default/a"]
    stored = world.get(Gadget)
    assert (stored.spec.colour, stored.status.ready) == ("red", 1)


def test_a_write_that_was_decided_on_an_old_version_is_refused(world: World) -> None:
    """OP-RES-08, OP-RTY-13: a conflict is a failed run, and is tried again."""
    world.create(gadget())
    errors: list[Exception] = []

    class Late:
        def reconcile(self, ctx: Context[Any], obj: Gadget) -> Result:
            if not errors:
                world.patch(obj, {"spec": {"size": 9}})
            obj.spec.colour = "blue"
            return Result.resource(obj)

        def on_error(self, ctx: Context[Any], obj: Gadget, error: Exception) -> None:
            errors.append(error)
            done.set()

    done = threading.Event()
    world.register(Late())
    with world.running():
        assert done.wait(30)
        world.asked.wait_for(lambda actions: sum("patch" in str(a) for a in actions) >= 2)
        world.wait_for_timer()
    assert isinstance(errors[0], ConflictError)
    assert (world.get(Gadget).spec.size, world.get(Gadget).spec.colour) == (9, "blue")


def test_a_reconciler_may_write_its_object_on_the_way_and_go_on_with_the_answer(
    world: World,
) -> None:
    """OP-RES-08, OP-RES-10: the result is a change of what was written last."""
    world.create(gadget())

    def report(ctx: Context[Any], obj: Gadget) -> Result:
        obj = ctx.client.status.patch(obj, {"status": {"ready": 1}})
        obj.status = GadgetStatus(ready=2)
        return Result.status(obj)

    recording = Recording(report)
    world.register(recording)
    with world.running():
        recording.wait_for_runs(1)
        world.wait_for_timer()
    assert world.get(Gadget).status.ready == 2
    assert world.writes() == ["patch gadgets/status default/a"] * 2


def test_a_result_may_waive_the_version(world: World) -> None:
    """OP-RES-08: optimistic=False"""
    world.create(gadget())

    def write(_ctx: Context[Any], obj: Gadget) -> Result:
        if obj.spec.colour:
            return Result.done()
        world.patch(obj, {"spec": {"size": 9}})
        obj.spec.colour = "blue"
        return Result.resource(obj, optimistic=False)

    recording = Recording(write)
    world.register(recording)
    with world.running():
        recording.wait_for_runs(1)
        world.wait_for_timer()
    assert (world.get(Gadget).spec.size, world.get(Gadget).spec.colour) == (9, "blue")


def test_a_result_that_asks_to_be_looked_at_again_is(world: World) -> None:
    """OP-RES-01, OP-TST-03: after so many seconds of the manager's clock."""
    world.create(gadget())
    recording = Recording(lambda _ctx, _obj: Result.requeue(30))
    world.register(recording)
    with world.running():
        recording.wait_for_runs(1)
        world.wait_for_timer()
        world.clock.step(29.9)
        assert len(recording.runs) == 1
        world.clock.step(0.1)
        recording.wait_for_runs(2)


def test_the_safety_timer_runs_what_nobody_asked_for(world: World) -> None:
    """OP-RTY-20, OP-PRD-07: ten hours after the last run."""
    world.create(gadget())
    recording = Recording()
    world.register(recording)
    with world.running():
        recording.wait_for_runs(1)
        world.wait_for_timer()
        world.clock.step(36_000)
        recording.wait_for_runs(2)


def test_an_event_during_a_run_makes_one_more(world: World) -> None:
    """OP-CTL-02, OP-REC-11, OP-REC-12: it runs at once, and the delay asked for is dropped."""
    world.create(gadget())
    in_hand, go_on = threading.Event(), threading.Event()
    pending: list[bool] = []

    def slow(ctx: Context[Any], _obj: Gadget) -> Result | None:
        if len(recording.runs) > 1:
            return None
        in_hand.set()
        assert go_on.wait(30)
        pending.append(ctx.rerun_pending)
        return Result.requeue(1000)

    recording = Recording(slow)
    controller = world.register(recording, workers=4)
    with world.running():
        assert in_hand.wait(30)
        for _ in range(3):
            controller.trigger(A)
        go_on.set()
        assert recording.wait_for_runs(2) == [A, A]
        world.wait_for_timer()
        assert len(recording.runs) == 2
    assert pending == [True]


def test_an_object_that_is_gone_is_not_reconciled(world: World) -> None:
    """OP-REC-04, BP-31: nothing is remembered of it either."""
    world.create(gadget())
    recording = Recording()
    controller = world.register(recording)
    with world.running():
        recording.wait_for_runs(1)
        controller.trigger(ObjectName("default", "never"))
        world.clock.wait_for(world.at_rest)
        world.delete(gadget())
        world.clock.wait_for(lambda: controller.queue.statistics().known == 0)
    assert recording.runs == [A]


def test_a_key_reconciler_is_told_of_what_is_gone(world: World) -> None:
    """OP-REC-04, OP-REC-01: once, with the name."""
    seen: list[tuple[ObjectName, bool]] = []
    changed = threading.Condition()

    class ByKey:
        def reconcile_key(self, ctx: Context[Any], key: ObjectName) -> None:
            with changed:
                seen.append((key, ctx.client.find(Gadget, key.name, key.namespace) is not None))
                changed.notify_all()

    world.create(gadget())
    world.register(ByKey())
    with world.running(), changed:
        assert changed.wait_for(lambda: seen == [(A, True)], PATIENCE)
        world.delete(gadget())
        assert changed.wait_for(lambda: seen == [(A, True), (A, False)], PATIENCE)


@pytest.mark.parametrize("answer", [42, Result.done().keep_finalizer()])
def test_a_result_that_is_none_of_ours_is_a_bug_that_is_not_retried(
    world: World, answer: Any
) -> None:
    """OP-REC-07: a terminal failure, said once; so is a result that only a clean-up has."""
    world.create(gadget())
    recording: Any = Recording(lambda _ctx, _obj: answer)
    controller = world.register(recording)
    with world.running():
        recording.wait_for_runs(1)
        world.clock.wait_for(lambda: controller.queue.statistics().exhausted == 1)


def test_a_result_cannot_write_another_object(world: World) -> None:
    """OP-RES-13: an error, and nothing is sent."""
    world.create(gadget(), gadget("b"))

    def write(ctx: Context[Any], obj: Gadget) -> Result:
        other = ctx.client.get(Gadget, "b", "default")
        other.spec.size = 50
        return Result.resource(other) if obj.metadata.name == "a" else Result.done()

    recording = Recording(write)
    controller = world.register(recording)
    with world.running():
        recording.wait_for_runs(2)
        world.clock.wait_for(lambda: controller.queue.statistics().exhausted == 1)
    assert world.writes() == []


def test_a_failing_run_is_tried_again_as_the_policy_says(world: World) -> None:
    """OP-CTL-04, OP-RTY-02: a failure ends no worker."""
    world.create(gadget())

    def fail(_ctx: Context[Any], _obj: Gadget) -> None:
        if len(recording.runs) < 3:
            raise ValueError("no")

    recording = Recording(fail)
    world.register(recording)
    with world.running():
        recording.wait_for_runs(1)
        world.wait_for_timer()
        world.clock.step(2)
        recording.wait_for_runs(2)
        world.wait_for_timer()
        world.clock.step(3)
        recording.wait_for_runs(3)


def test_a_failing_object_does_not_hold_up_others(make_world: Callable[..., World]) -> None:
    """OP-QUE-06: what waits for a retry occupies no worker."""
    world = make_world(*(gadget(name) for name in "abc"))

    def fail(_ctx: Context[Any], obj: Gadget) -> None:
        if obj.metadata.name == "a":
            raise ValueError("no")

    recording = Recording(fail)
    world.register(recording, workers=1)
    with world.running():
        assert sorted(key.name for key in recording.wait_for_runs(3)) == ["a", "b", "c"]


def test_on_error_sees_every_failure_and_decides(world: World) -> None:
    """OP-RTY-11, OP-RTY-12, OP-RTY-14: the first with attempt 0; it may end the retries."""
    world.create(gadget())
    attempts: list[int] = []

    class Failing:
        def reconcile(self, ctx: Context[Any], obj: Gadget) -> None:
            raise ValueError("no")

        def on_error(self, ctx: Context[Any], obj: Gadget, error: Exception) -> ErrorResult:
            attempts.append(ctx.retry.attempt)
            obj.status = GadgetStatus(ready=-1)
            answer = ErrorResult.status(obj)
            return answer.no_retry() if ctx.retry.attempt else answer

    controller = world.register(Failing())
    with world.running():
        world.wait_for_timer()
        world.clock.step(2)
        world.clock.wait_for(lambda: controller.queue.statistics().exhausted == 1)
    assert attempts == [0, 1]
    assert world.writes() == ["patch gadgets/status default/a"]


def test_what_on_error_raises_does_not_replace_the_error(world: World) -> None:
    """OP-RTY-11"""
    world.create(gadget())

    errors: list[Exception | None] = []

    class Failing:
        def reconcile(self, ctx: Context[Any], obj: Gadget) -> None:
            errors.append(ctx.retry.last_error)
            raise TerminalError("the first")

        def on_error(self, ctx: Context[Any], obj: Gadget, error: Exception) -> None:
            raise ValueError("the second")

    controller = world.register(Failing())
    with world.running():
        world.clock.wait_for(lambda: controller.queue.statistics().exhausted == 1)
        controller.trigger(A)
        world.clock.wait_for(lambda: len(errors) == 2)
    assert str(errors[1]) == "the first"


def test_every_object_is_reconciled_once_at_the_start(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OP-CTL-06, OP-CTL-03: of either generation, as work that can wait; not before every source
    has told of what is there."""
    names = ["a", "b", "c"]
    world.create(*(gadget(name) for name in names), part("p"))
    seen: list[int] = []

    def look(ctx: Context[Any], _obj: Gadget) -> None:
        seen.append(len(ctx.client.list(Part, namespace="default")))

    recording = Recording(look)
    controller = world.manager.controller(Gadget).owns(Part).build(recording)
    triggers = record_triggers(monkeypatch, controller)
    with world.running():
        runs = recording.wait_for_runs(3)
        world.wait_for_timer()
        assert len(recording.runs) == 3
    assert sorted(key.name for key in runs) == names
    assert sorted(triggers) == [(name, -100) for name in names]
    assert seen == [1] * 3


def test_a_run_has_everything_it_needs(make_world: Callable[..., World]) -> None:
    """OP-REC-08, OP-CTL-07, OP-REC-13: in its context."""
    world = make_world(gadget(), part("p"), values={"region": "north"})
    seen: dict[str, Any] = {}

    def look(ctx: Context[Any], obj: Gadget) -> None:
        seen.update(
            key=ctx.key,
            found=ctx.client.get(Gadget, "a", "default").metadata.name,
            secondary=ctx.secondary(Part, name="p"),
            missing=ctx.secondary(Part, name="other"),
            attempt=ctx.retry.attempt,
            cancelled=ctx.cancelled.is_set(),
            deadline=ctx.deadline,
            now=ctx.now().isoformat(),
            region=ctx.values["region"],
            id=ctx.reconcile_id == ctx.reconcile_id and len(ctx.reconcile_id),
            deleted=ctx.deleted,
        )
        ctx.log.info("looked", obj=obj)
        ctx.events.normal("Looked", "ok")

    recording = Recording(look)
    world.manager.controller(Gadget).watches(Part, lambda _ctx, _part: [A]).build(recording)
    with world.running():
        recording.wait_for_runs(1)
        world.wait_for_timer()
    assert seen.pop("secondary").metadata.name == "p"
    assert seen == {
        "key": A,
        "found": "a",
        "missing": None,
        "attempt": 0,
        "cancelled": False,
        "deadline": None,
        "now": "2000-01-01T00:00:00+00:00",
        "region": "north",
        "id": 36,
        "deleted": False,
    }


def test_of_two_sources_of_a_kind_one_has_to_be_named(world: World) -> None:
    """OP-REC-13"""
    world.create(gadget(), part("p"))
    raised: list[str] = []

    def look(ctx: Context[Any], _obj: Gadget) -> None:
        try:
            ctx.secondaries(Part)
        except LookupError as error:
            raised.append(str(error))
        raised.append(str(len(ctx.secondaries(Part, source="others"))))

    recording = Recording(look)
    builder = world.manager.controller(Gadget).owns(Part, name="own")
    builder.watches(Part, lambda _ctx, _part: [A], name="others").build(recording)
    with world.running():
        recording.wait_for_runs(1)
    assert raised[0].endswith("own, others; pass source=")
    assert raised[1] == "1"


def test_what_happened_often_runs_at_least_once_and_the_last_run_sees_it_all(world: World) -> None:
    """OP-REC-09: delivery is merged and never lost; a run more does no harm."""
    world.create(gadget())
    recording = Recording()
    controller = world.register(recording)
    with world.running():
        recording.wait_for_runs(1)
        world.wait_for_timer()
        for size in range(2, 12):
            world.patch(gadget(), {"spec": {"size": size}})
        world.clock.wait_for(lambda: recording.objects[-1].spec.size == 11)
        controller.trigger(A)
        world.clock.wait_for(world.at_rest)
    assert 3 <= len(recording.runs) <= 12


@pytest.mark.parametrize("after", [0, -1, 0.0])
def test_an_immediate_repetition_cannot_be_asked_for(after: float) -> None:
    """OP-RES-03, BP-26: it is a busy loop; so is one of no length after an error."""
    with pytest.raises(ConfigError):
        Result.requeue(after)
    with pytest.raises(ConfigError):
        Result.done().after(after)
    with pytest.raises(ConfigError):
        ErrorResult.default().after(after)
    with pytest.raises(ConfigError):
        Retry(after=after)


@pytest.mark.parametrize(
    ("mode", "optimistic"),
    # An API server takes no update of a custom resource that names no version.
    [("patch", True), ("patch", False), ("update", True), ("apply", True), ("apply", False)],
)
def test_a_result_may_be_written_in_three_ways(world: World, mode: Any, optimistic: bool) -> None:
    """OP-RES-09, OP-RES-07, OP-RES-08: what differs, the whole, or by server-side apply the whole
    as this controller's fields."""
    world.create(gadget())

    def write(_ctx: Context[Any], obj: Gadget) -> Result:
        obj.spec.colour = "green"
        obj.status = GadgetStatus(ready=2)
        return Result.both(obj, mode=mode, optimistic=optimistic)

    recording = Recording(write)
    world.register(recording, name="painter")
    with world.running():
        recording.wait_for_runs(1)
        world.asked.wait_for(lambda actions: any(a.subresource == "status" for a in actions))
        world.wait_for_timer()
    verb = "update" if mode == "update" else "patch"
    assert world.writes() == [f"{verb} gadgets default/a", f"{verb} gadgets/status default/a"]
    first = next(action for action in world.asked.writes() if action.matches(verb, "gadgets"))
    assert first.options["fieldManager"] == "painter"
    assert first.options.get("force") == ("true" if mode == "apply" else None)
    stored = world.get(Gadget)
    assert (stored.spec.size, stored.spec.colour, stored.status.ready) == (1, "green", 2)


def test_what_was_written_is_what_is_reconciled_next(world: World) -> None:
    """OP-RES-10, OP-REC-03: though the watch has not brought it back."""
    world.create(gadget())

    def paint(_ctx: Context[Any], obj: Gadget) -> Result:
        obj.spec.colour += "x"
        return Result.resource(obj).after(1) if len(obj.spec.colour) < 3 else Result.done()

    recording = Recording(paint)
    world.register(recording)
    with world.running():
        for _ in range(3):
            world.wait_for_timer()
            world.clock.step(1)
        world.clock.wait_for(lambda: len(recording.runs) >= 3)
    colours = [obj.metadata.resource_version for obj in recording.objects]
    assert len(set(colours)) == len(colours) or colours == sorted(colours, key=int)
    assert world.get(Gadget).spec.colour == "xx"


def test_a_controller_may_hear_of_what_is_gone(world: World) -> None:
    """OP-REC-15: with the last state, until a run of it succeeds; nothing is left afterwards."""
    world.create(gadget())
    deleted: list[tuple[bool, int]] = []

    def look(ctx: Context[Any], obj: Gadget) -> None:
        deleted.append((ctx.deleted, obj.spec.size))
        if len(deleted) == 2:
            raise ValueError("not yet")

    recording = Recording(look)
    controller = world.register(recording, on_deleted=True)
    with world.running():
        recording.wait_for_runs(1)
        world.wait_for_timer()
        world.delete(gadget())
        recording.wait_for_runs(2)
        world.wait_for_timer()
        world.clock.step(2)
        recording.wait_for_runs(3)
        world.clock.wait_for(lambda: controller.queue.statistics().known == 0)
    assert deleted == [(False, 1), (True, 1), (True, 1)]
    assert world.writes() == []


def test_hearing_of_what_is_gone_and_cleaning_up_exclude_each_other(world: World) -> None:
    """OP-REC-15"""

    class Cleaning(Recording):
        def cleanup(self, _ctx: Context[Any], _obj: Gadget) -> None: ...

    with pytest.raises(DeclarationError, match="on_deleted"):
        world.register(Cleaning(), on_deleted=True)


def test_a_child_that_is_there_already_is_a_success(world: World) -> None:
    """BP-28: its name is made from its owner's, so a cache that lags behind makes no second."""
    world.create(gadget())
    changes: list[Any] = []

    def create(ctx: Context[Any], obj: Gadget) -> None:
        child = ctx.own(part(f"{obj.metadata.name}-part"))
        with suppress(AlreadyExistsError):
            ctx.client.create(child)
        changes.append(ctx.client.create_or_update(child)[1])

    recording = Recording(create)
    controller = world.manager.controller(Gadget).owns(Part).build(recording)
    with world.running():
        recording.wait_for_runs(1)
        world.wait_for_timer()
        controller.trigger(A)
        recording.wait_for_runs(2)
        world.wait_for_timer()
    assert len(world.client.resource(Part).namespace("default").list().items) == 1
    assert set(changes) == {Change.UNCHANGED}


def test_several_watches_of_a_kind_are_one_request(world: World) -> None:
    """BP-22, OP-CCH-01: of one controller or of several."""
    world.create(gadget())
    recording, other = Recording(), Recording()
    builder = world.manager.controller(Gadget).owns(Part, name="own")
    builder.watches(Part, lambda _ctx, _part: [A], name="others").build(recording)
    world.manager.controller(Gadget).options(name="second").owns(Part).build(other)
    with world.running():
        recording.wait_for_runs(1)
        other.wait_for_runs(1)
        world.wait_for_timer()
        watches = [str(action) for action in world.asked.actions() if action.verb == "watch"]
    assert sorted(watches) == ["watch gadgets", "watch parts"]
