"""Runs that take too long, and runs that a stop cuts short."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

from clientgo.meta import ObjectName
from clientgo.operator import Context, ErrorResult, Result
from clientgo.operator.errors import CancelledError, ReconcileTimeoutError
from tests.operator.world import Gadget, GadgetStatus, Recording, World, gadget


class Waiting:
    """Waits in its first run, as ``wait`` does it, and notes what the run ended in."""

    def __init__(self, wait: Callable[[Context[Any]], object]) -> None:
        self._wait = wait
        self.begun = threading.Event()
        self.failed = threading.Event()
        self.runs = 0
        self.raised: list[BaseException] = []
        self.told: list[Exception] = []

    def reconcile(self, ctx: Context[Any], _obj: Gadget) -> None:
        self.runs += 1
        if self.runs > 1:
            return
        self.begun.set()
        try:
            self._wait(ctx)
        except BaseException as error:
            self.raised.append(error)
            raise

    def on_error(self, _ctx: Context[Any], obj: Gadget, error: Exception) -> ErrorResult:
        self.told.append(error)
        self.failed.set()
        obj.status = GadgetStatus(ready=-1)
        return ErrorResult.status(obj)


def read_slowly(world: World) -> Callable[[Context[Any]], object]:
    """A read that is on its way until the run is told to end."""

    def read(ctx: Context[Any]) -> object:
        def hold(action: Any) -> None:
            if action.verb == "get":
                assert ctx.cancelled.wait(30)

        world.asked.before = hold
        return ctx.client.live.get(Gadget, "a", "default")

    return read


def test_a_run_that_takes_too_long_has_failed(world: World) -> None:
    """OP-CTL-05: it is told so by ctx.cancelled, and is tried again like any failure."""
    world.create(gadget())
    waiting = Waiting(lambda ctx: ctx.cancelled.wait(30) and None)
    world.register(waiting, reconcile_timeout=30)
    with world.running():
        assert waiting.begun.wait(30)
        world.clock.wait_for_waiters()
        world.clock.step(30)
        assert waiting.failed.wait(30)
        world.wait_for_timer()
        world.clock.step(2)
        world.clock.wait_for(lambda: waiting.runs == 2)
    assert [type(error) for error in waiting.told] == [ReconcileTimeoutError]


def test_a_run_knows_by_when_it_has_to_end(world: World) -> None:
    """OP-CTL-05: ctx.deadline; without a timeout there is none."""
    world.create(gadget())
    seen: list[float | None] = []
    recording = Recording(lambda ctx, _obj: seen.append(ctx.deadline))
    world.register(recording, reconcile_timeout=30)
    other = Recording(lambda ctx, _obj: seen.append(ctx.deadline))
    world.register(other, name="other")
    with world.running():
        recording.wait_for_runs(1)
        other.wait_for_runs(1)
    assert sorted(seen, key=str) == [1030.0, None]


def test_a_run_that_ignores_its_end_is_reported_every_minute(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """OP-CTL-05: its object stays locked meanwhile."""
    world.create(gadget())
    go_on = threading.Event()
    waiting = Waiting(lambda _ctx: go_on.wait(30))
    controller = world.register(waiting, reconcile_timeout=30)
    with world.running():
        assert waiting.begun.wait(30)
        for pause in (30, 60, 60):
            world.clock.wait_for_waiters()
            controller.trigger(ObjectName("default", "a"))
            world.clock.step(pause)
        world.clock.wait_for(lambda: len(caplog.messages) >= 2)
        assert waiting.runs == 1
        go_on.set()
        assert waiting.failed.wait(30)
    stays = [line for line in caplog.messages if "stays locked" in line]
    assert [line.split("has lasted for ")[1].split(" s")[0] for line in stays] == ["90", "150"]


@pytest.mark.parametrize("way", ["wait", "check"])
def test_a_wait_ends_when_the_controller_stops(world: World, way: str) -> None:
    """OP-REC-14: ctx.wait tells so, ctx.check raises."""
    world.create(gadget())

    def wait(ctx: Context[Any]) -> None:
        if ctx.wait(3600):
            raise AssertionError("an hour cannot have passed")
        if way == "check":
            ctx.check()

    waiting = Waiting(wait)
    world.register(waiting)
    with world.running():
        assert waiting.begun.wait(30)
    assert [type(error) for error in waiting.raised] == [CancelledError] * (way == "check")


def test_a_request_under_way_ends_when_the_controller_stops(
    make_world: Callable[..., World], caplog: pytest.LogCaptureFixture
) -> None:
    """OP-REC-14, OP-CTL-08, OP-CTL-09: with CancelledError; nothing is written because of it, and
    nobody is told of a failure."""
    world = make_world(gadget(), graceful_shutdown=5.0)
    asked = threading.Event()

    def hold(action: Any) -> None:
        if action.verb == "create" and not asked.is_set():
            asked.set()
            assert stopping.wait(30)

    stopping = threading.Event()
    world.asked.before = hold
    waiting = Waiting(lambda ctx: ctx.client.create(gadget("b")))
    controller = world.register(waiting)
    with caplog.at_level(logging.INFO, "clientgo.operator.reconcile"), world.running():
        assert asked.wait(30)
        controller.begin_stop()
        stopping.set()
    assert [type(error) for error in waiting.raised] == [CancelledError]
    assert waiting.told == []
    assert [line for line in world.writes() if not line.startswith("create")] == []
    assert [r for r in caplog.records if r.name == "clientgo.operator.reconcile"] == []


def test_a_request_ends_with_the_time_of_its_run(world: World) -> None:
    """OP-CTL-05, OP-REC-14: and the run has failed for the time it took."""
    world.create(gadget())
    waiting = Waiting(read_slowly(world))
    world.register(waiting, reconcile_timeout=30)
    with world.running():
        assert waiting.begun.wait(30)
        world.clock.wait_for_waiters()
        world.clock.step(30)
        assert waiting.failed.wait(30)
    assert [type(error) for error in waiting.told] == [ReconcileTimeoutError]


def test_a_result_is_written_though_the_controller_stops(world: World) -> None:
    """OP-CTL-08: what a run in hand has decided is not lost."""
    world.create(gadget())
    begun = threading.Event()

    def report(ctx: Context[Any], obj: Gadget) -> Result:
        begun.set()
        assert ctx.cancelled.wait(30)
        obj.status = GadgetStatus(ready=7)
        return Result.status(obj)

    world.register(Recording(report))
    with world.running():
        assert begun.wait(30)
    assert world.get(Gadget).status.ready == 7


def test_a_stop_writes_nothing_of_its_own(world: World) -> None:
    """OP-CTL-09: no finalizer goes and no status changes."""

    class Cleaning(Recording):
        def cleanup(self, _ctx: Context[Any], _obj: Gadget) -> None:
            raise AssertionError("nothing is being deleted")

    world.create(gadget())
    recording = Cleaning()
    world.register(recording)
    with world.running():
        recording.wait_for_runs(1)
        world.wait_for_timer()
        world.asked.clear()
    assert world.writes() == []
    assert world.get(Gadget).metadata.finalizers == ("gadgets.example.com/finalizer",)
