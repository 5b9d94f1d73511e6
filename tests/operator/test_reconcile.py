"""One run from its key to what follows, against a server."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from clientgo.meta import ConflictError, ObjectName
from clientgo.operator import Context, ErrorResult, Result, TerminalError
from tests.operator.world import Gadget, GadgetStatus, Recording, World, gadget

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
        assert done.wait(5)
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
        assert go_on.wait(5)
        pending.append(ctx.rerun_pending)
        return Result.requeue(1000)

    recording = Recording(slow)
    controller = world.register(recording, workers=4)
    with world.running():
        assert in_hand.wait(5)
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
        assert changed.wait_for(lambda: seen == [(A, True)], 5)
        world.delete(gadget())
        assert changed.wait_for(lambda: seen == [(A, True), (A, False)], 5)


def test_a_result_that_is_none_of_ours_is_a_bug_that_is_not_retried(world: World) -> None:
    """OP-REC-07: a terminal failure, said once."""
    world.create(gadget())
    recording: Any = Recording(lambda _ctx, _obj: 42)  # type: ignore[arg-type,return-value]
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

    class Failing:
        def reconcile(self, ctx: Context[Any], obj: Gadget) -> None:
            raise TerminalError("the first")

        def on_error(self, ctx: Context[Any], obj: Gadget, error: Exception) -> None:
            raise ValueError("the second")

    controller = world.register(Failing())
    with world.running():
        world.clock.wait_for(lambda: controller.queue.statistics().exhausted == 1)
    state = controller.queue._states[A]
    assert str(state.last_error) == "the first"
