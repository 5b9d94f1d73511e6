"""What users with the defaults see of an API server, or anything else, that fails for a while."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from clientgo.api.events_v1 import Event
from clientgo.meta import (
    ConflictError,
    ObjectMeta,
    ServiceUnavailableError,
    StatusError,
    TooManyRequestsError,
)
from clientgo.meta.status import Status, StatusDetails
from clientgo.operator import Context, Result, TerminalError, retry
from clientgo.rest import ServerRefusedError
from clientgo.testcluster.server.faults import CloseWatches, ExpireHistory, FailRequests, Requests
from tests.operator.world import (
    PATIENCE,
    Gadget,
    GadgetStatus,
    Part,
    Recording,
    Watcher,
    World,
    gadget,
    part,
)


def refuse(world: World, error: Exception, *, resource: str, subresource: str = "") -> None:
    """Let the manager's writes of a resource fail until ``recover``."""

    def before(action: Any) -> None:
        if action.verb not in ("get", "list", "watch") and (
            (action.resource.resource, action.subresource) == (resource, subresource)
        ):
            raise error

    world.asked.before = before


def recover(world: World) -> None:
    world.asked.before = None


def advance_until(world: World, condition: Callable[[], object]) -> None:
    """Let time go on, a second at a time, until a condition holds."""
    pause, give_up = threading.Event(), time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < give_up
        world.clock.step(1)
        pause.wait(0.02)


def throttled(seconds: int) -> StatusError:
    return TooManyRequestsError(
        Status(
            status="Failure",
            reason="TooManyRequests",
            code=429,
            details=StatusDetails(retry_after_seconds=seconds),
        )
    )


REFUSED = ServerRefusedError("PATCH", "https://server/apis", "connection refused")


@pytest.mark.parametrize("policy", [None, retry.generic(), retry.none()], ids=str)
def test_a_poll_goes_on_after_an_outage(world: World, policy: Any) -> None:
    """OP-RTY-01, OP-RTY-06: 45 s without an API server end no ``Result.requeue``, whatever the
    retry policy; afterwards the poll has its period again."""
    world.create(gadget())
    counts: list[int] = []

    def poll(_ctx: Context[Any], obj: Gadget) -> Result:
        counts.append(1)
        obj.status = GadgetStatus(ready=len(counts))
        return Result.status(obj).after(2)

    recording = Recording(poll)
    world.register(recording, **({} if policy is None else {"retry": policy}))
    with world.running():
        recording.wait_for_runs(1)
        world.wait_for_timer()
        refuse(world, REFUSED, resource="gadgets", subresource="status")
        world.run_for(45)
        recover(world)
        world.run_for(31)
        before = len(counts)
        world.run_for(20)
        assert len(counts) - before == 10


def test_a_secondary_is_created_after_an_outage(world: World) -> None:
    """OP-RTY-01: 503 for 33 s on the creation of the only secondary."""
    world.create(gadget())

    def create(ctx: Context[Any], _obj: Gadget) -> None:
        if ctx.client.find(Part, "p", "default") is None:
            ctx.client.create(ctx.own(part("p")))

    recording = Recording(create)
    world.manager.controller(Gadget).owns(Part).build(recording)
    refuse(world, ServiceUnavailableError.of("no"), resource="parts")
    with world.running():
        recording.wait_for_runs(1)
        world.wait_for_timer()
        world.run_for(33)
        recover(world)
        world.run_for(30)
        assert world.get(Part, "p")


def test_a_clean_up_that_fails_for_long_is_done_in_the_end(world: World) -> None:
    """OP-RTY-01: by default the retries have no end, so no object stays terminating for ever."""

    class Cleaning(Recording):
        def cleanup(self, _ctx: Context[Any], _obj: Gadget) -> None:
            if world.clock.monotonic() < back_at:
                raise RuntimeError("the registry is away")

    back_at = world.clock.monotonic() + 3600
    world.create(gadget())
    recording = Cleaning()
    controller = world.register(recording)
    with world.running():
        recording.wait_for_runs(1)
        world.wait_for_timer()
        world.delete(gadget())
        world.clock.wait_for(lambda: controller.queue.statistics().running == 0)
        world.run_for(3600 + 300)
        world.clock.wait_for(lambda: controller.queue.statistics().known == 0)
    assert world.client.resource(Gadget).namespace("default").list().items == []


@pytest.mark.parametrize(
    "error",
    [REFUSED, ServiceUnavailableError.of("no"), ConflictError.of("changed"), throttled(0)],
    ids=lambda error: type(error).__name__,
)
def test_a_transient_failure_is_no_attempt(world: World, error: Exception) -> None:
    """OP-RTY-03, OP-RTY-06: also if it is wrapped, and where the policy has no retries at all."""
    world.create(gadget())
    attempts: list[tuple[int, str]] = []

    def fail(ctx: Context[Any], _obj: Gadget) -> None:
        attempts.append((ctx.retry.attempt, type(ctx.retry.last_error).__name__))
        if len(attempts) == 1:
            raise error
        if len(attempts) <= 12:
            raise RuntimeError("could not write") from error

    recording = Recording(fail)
    world.register(recording, retry=retry.none())
    with world.running():
        recording.wait_for_runs(1)
        world.wait_for_timer()
        world.run_for(300)
        recording.wait_for_runs(13)
    assert attempts[0][0] == attempts[-1][0] == 0
    assert attempts[-1][1] == "RuntimeError"


def test_a_server_that_asks_to_wait_is_obeyed(world: World) -> None:
    """OP-RTY-25: Retry-After is a lower bound of every delay, of a wrapped error, too."""
    world.create(gadget())
    instants: list[float] = []

    def fail(_ctx: Context[Any], _obj: Gadget) -> Result:
        instants.append(world.clock.monotonic())
        if len(instants) == 2:
            raise RuntimeError("could not write") from throttled(17)
        return Result.requeue(2)

    recording = Recording(fail)
    world.register(recording)
    with world.running():
        recording.wait_for_runs(1)
        world.wait_for_timer()
        world.run_for(25)
    waits = [later - sooner for sooner, later in pairwise(instants)]
    assert waits[:4] == [2, 17, 2, 2]


def test_a_conflict_storm_is_slowed_down_and_survived(world: World) -> None:
    """OP-RTY-13: conflicts are retried soon at first, then less often, and without end."""
    world.create(gadget())
    refuse(world, ConflictError.of("changed"), resource="gadgets", subresource="status")

    def report(_ctx: Context[Any], obj: Gadget) -> Result:
        obj.status = GadgetStatus(ready=1)
        return Result.status(obj)

    recording = Recording(report)
    world.register(recording)
    with world.running():
        recording.wait_for_runs(1)
        world.wait_for_timer()
        world.run_for(1)
        assert 3 <= len(recording.runs) <= 6
        world.run_for(299)
        assert len(recording.runs) <= 20
        recover(world)
        world.run_for(30)
    assert world.get(Gadget).status.ready == 1


def test_a_requeue_survives_failures_that_are_not_retried(world: World) -> None:
    """OP-RES-05, OP-RTY-06: a policy that gives up ends the retries and not the poll."""
    world.create(gadget())
    recording = Recording(lambda _ctx, _obj: succeed_or_fail())

    def succeed_or_fail() -> Result:
        if 1 < len(recording.runs) < 6:
            raise RuntimeError("the bucket is away")
        return Result.requeue(60)

    world.register(recording, retry=retry.none())
    with world.running():
        recording.wait_for_runs(1)
        world.wait_for_timer()
        world.run_for(600)
    assert len(recording.runs) == 11


def test_only_a_terminal_failure_ends_a_poll(world: World) -> None:
    """OP-RTY-14: it says that nothing but a change of the object can help."""
    world.create(gadget())

    def fail(_ctx: Context[Any], obj: Gadget) -> Result:
        if len(recording.runs) == 2:
            raise TerminalError("the spec is wrong")
        return Result.requeue(60)

    recording = Recording(fail)
    world.register(recording)
    with world.running():
        recording.wait_for_runs(1)
        world.wait_for_timer()
        world.run_for(600)
        assert len(recording.runs) == 2
        world.patch(gadget(), {"spec": {"size": 5}})
        recording.wait_for_runs(3)


@pytest.mark.parametrize("expires", [False, True], ids=["watch", "relist"])
def test_the_end_of_an_outage_wakes_what_failed(world: World, expires: bool) -> None:
    """OP-RTY-06: the watch is back, or a new list came, so objects run whose last run failed; even
    those whose retries are used up and that changed in a way that no predicate lets through."""
    world.create(gadget())

    def fail(_ctx: Context[Any], _obj: Gadget) -> None:
        if not healed.is_set():
            raise RuntimeError("no")

    healed = threading.Event()
    recording = Recording(fail)
    controller = world.register(recording, retry=retry.none())
    with world.running():
        recording.wait_for_runs(1)
        world.clock.wait_for(lambda: controller.queue.statistics().exhausted == 1)
        healed.set()
        down = FailRequests(requests=Requests(verbs=("watch", "list")), status=503, times=None)
        world.server.inject(down)
        world.server.inject(CloseWatches(abruptly=True))
        advance_until(world, lambda: world.server.struck(down))
        world.patch(gadget(), {"metadata": {"annotations": {"touched": "yes"}}})
        if expires:
            world.server.inject(ExpireHistory())
        assert len(recording.runs) == 1
        world.server.lift(down)
        advance_until(world, lambda: len(recording.runs) > 1)


def test_a_new_list_leaves_alone_what_did_not_fail(world: World) -> None:
    """OP-RTY-06: beyond what its own events ask for."""
    world.create(gadget())
    recording = Recording()
    controller = world.register(recording)
    with world.running():
        recording.wait_for_runs(1)
        world.wait_for_timer()
        due = controller.queue.statistics().next_due
        controller.queue.wake_failed(1.0)
        assert controller.queue.statistics().next_due == due


def test_an_outage_is_one_line_and_a_count(
    make_world: Callable[..., World], caplog: pytest.LogCaptureFixture
) -> None:
    """OP-RTY-26: and one object has an Event; what fails for itself is told all the same."""
    names = [f"g{number}" for number in range(20)]
    world = make_world(*(gadget(name) for name in names), part("own"))
    away = threading.Event()
    away.set()

    def answer(ctx: Context[Any], obj: Gadget) -> Result | None:
        if obj.metadata.name == "g19":
            raise ValueError("no disk")
        if away.is_set():
            raise ServerRefusedError("PATCH", f"https://server/{obj.metadata.name}", "refused")
        return None

    recording = Recording(answer)
    world.register(recording, workers=1)
    with caplog.at_level(logging.WARNING, "clientgo.operator.reconcile"), world.running():
        recording.wait_for_runs(len(names))
        world.clock.wait_for(world.at_rest)
        (line,) = [line for line in caplog.messages if "ServerRefusedError" in line]
        assert sum("ValueError: no disk" in line for line in caplog.messages) == 1
        away.clear()
        world.run_for(5)
    first = line.partition(":")[0]
    told = [line for line in caplog.messages if "ValueError" not in line]
    assert told == [line, f"{first}: succeeds again; 18 runs of other objects failed like it"]
    events = world.client.resource(Event).list().items
    about = sorted(f"default/{event.regarding.name}" for event in events if event.regarding)
    assert about == sorted(["default/g19", first])


def test_a_status_that_cannot_be_written_for_many_is_told_once(
    make_world: Callable[..., World], caplog: pytest.LogCaptureFixture
) -> None:
    """OP-RTY-26: of runs that succeeded, and have it to write only."""
    names = [f"w{number}" for number in range(9)]
    world = make_world(
        *(Watcher(metadata=ObjectMeta(name=name, namespace="default")) for name in names)
    )
    refuse(world, REFUSED, resource="watchers", subresource="status")
    recording = Recording()
    world.register(recording, Watcher, workers=1)
    with caplog.at_level(logging.WARNING, "clientgo.operator.reconcile"), world.running():
        recording.wait_for_runs(len(names))
        world.clock.wait_for(world.at_rest)
        assert sum("was not written" in line for line in caplog.messages) == 1
