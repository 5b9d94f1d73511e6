"""Reconcilers, clean-ups and error handlers that are coroutines."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from clientgo.api.coordination_v1 import Lease
from clientgo.meta import NotFoundError, ObjectName
from clientgo.observe.logs import current_fields
from clientgo.operator import Context, ErrorResult, LeaderElection, Result, TerminalError
from clientgo.operator.errors import (
    DeclarationError,
    LeadershipLostError,
    ReconcileTimeoutError,
    ShutdownTimeoutError,
)
from clientgo.operator.finalizers import Finalizers
from clientgo.util.wait import call_when_set
from tests.background import Background
from tests.operator.world import Gadget, GadgetStatus, Part, World, gadget, part

A = ObjectName("default", "a")
FINALIZER = "example.com/first"


class Waiting:
    """A reconciler whose runs wait for ``release`` unless they are cancelled."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.release = asyncio.Event()
        self.waiting = 0
        self.most = 0
        self.ended: list[str] = []
        self.loop: asyncio.AbstractEventLoop | None = None

    async def reconcile(self, ctx: Context[Any], _obj: Gadget) -> None:
        self.loop = asyncio.get_running_loop()
        self._count(1)
        try:
            await self.release.wait()
            how = "done"
        except asyncio.CancelledError:
            how = "cancelled"
            raise
        finally:
            with self.changed:
                self.ended.append(f"{how} {ctx.key.name}")
            self._count(-1)

    def wait_for(self, waiting: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: self.waiting == waiting, 30)

    def let_go(self) -> None:
        assert self.loop is not None
        self.loop.call_soon_threadsafe(self.release.set)

    def _count(self, more: int) -> None:
        with self.changed:
            self.waiting += more
            self.most = max(self.most, self.waiting)
            self.changed.notify_all()


def test_a_coroutine_reconciles_and_its_result_is_written(world: World) -> None:
    async def reconcile(ctx: Context[Any], obj: Gadget) -> Result:
        await asyncio.sleep(0)
        obj.status = GadgetStatus(ready=1)
        return Result.status(obj)

    world.create(gadget())
    world.register(of(reconcile=reconcile))
    with world.running():
        world.wait_for_timer()
    assert world.get(Gadget).status.ready == 1


def test_as_many_runs_wait_as_there_are_workers_in_few_threads(
    make_world: Callable[..., World],
) -> None:
    world = make_world(*(gadget(f"g{number}") for number in range(30)))
    waiting = Waiting()
    controller = world.register(waiting, workers=20)
    with world.running():
        waiting.wait_for(20)
        assert controller.queue.statistics().running == 20
        names = [thread.name for thread in threading.enumerate()]
        assert sum(name.startswith("gadget-worker") for name in names) == 4
        waiting.let_go()
        world.clock.wait_for(lambda: len(waiting.ended) == 30)
        world.wait_for_timer()
    assert waiting.most == 20
    left = [thread.name for thread in threading.enumerate()]
    assert [name for name in left if name.startswith(("gadget-", "operator-"))] == []


def test_an_event_during_a_run_is_one_more_run_after_it(world: World) -> None:
    world.create(gadget())
    waiting = Waiting()
    controller = world.register(waiting, workers=5)
    with world.running():
        waiting.wait_for(1)
        for _ in range(3):
            controller.trigger(A)
        waiting.let_go()
        world.clock.wait_for(lambda: len(waiting.ended) == 2)
        world.wait_for_timer()
    assert waiting.ended == ["done a", "done a"]
    assert waiting.most == 1


@pytest.mark.parametrize("how", ["timeout", "deletion", "stop"])
def test_a_run_is_cancelled(world: World, how: str, caplog: pytest.LogCaptureFixture) -> None:
    """By its timeout, by the deletion of its object if asked, and by the stop."""
    world.create(gadget())
    waiting = Waiting()
    options: dict[str, Any] = {"cancel_on_deletion": True} if how == "deletion" else {}
    if how == "timeout":
        options = {"reconcile_timeout": 30}
    controller = world.register(waiting, **options)
    with caplog.at_level(logging.WARNING), world.running():
        waiting.wait_for(1)
        if how == "timeout":
            world.clock.wait_for_waiters()
            world.clock.step(30)
            world.wait_for_timer()
        elif how == "deletion":
            world.delete(gadget())
            waiting.wait_for(0)
            world.clock.wait_for(lambda: not controller.queue.statistics().known)
    assert waiting.ended == ["cancelled a"]
    assert [ReconcileTimeoutError.__name__ in line for line in caplog.messages] == (
        [True] if how == "timeout" else []
    )


def test_a_clean_up_follows_a_run_that_the_deletion_has_cancelled(world: World) -> None:
    waiting = Waiting()

    async def cleanup(_ctx: Context[Any], _obj: Gadget) -> None:
        await asyncio.sleep(0)
        waiting.ended.append("cleaned up")

    world.create(gadget())
    world.register(of(reconcile=waiting.reconcile, cleanup=cleanup), cancel_on_deletion=True)
    with world.running():
        waiting.wait_for(1)
        world.delete(gadget())
        world.clock.wait_for(lambda: "cleaned up" in waiting.ended)
        world.clock.wait_for(lambda: not world.manager.controllers()[0].queue.statistics().known)
    assert waiting.ended == ["cancelled a", "cleaned up"]
    with pytest.raises(NotFoundError):
        world.get(Gadget)


def test_without_being_asked_a_deletion_lets_a_run_end(world: World) -> None:
    world.create(gadget(finalizers=("example.com/other",)))
    waiting = Waiting()
    controller = world.register(waiting)
    with world.running():
        waiting.wait_for(1)
        world.delete(gadget())
        world.clock.wait_for(lambda: deleting(controller))
        waiting.let_go()
        waiting.wait_for(0)
    assert waiting.ended[0] == "done a"


def test_a_run_that_waits_is_cancelled_with_the_loss_of_leadership(
    make_world: Callable[..., World],
) -> None:
    election = LeaderElection(id="x", namespace="default", lease=60, renew=40, retry=0.2)
    world = make_world(gadget(), leader_election=election, real_time=True)
    waiting = Waiting()
    world.register(waiting)
    life = Background(lambda: world.manager.run(signals=False))
    waiting.wait_for(1)
    world.patch(world.get(Lease, "x"), {"spec": {"holderIdentity": "somebody"}})
    with pytest.raises(LeadershipLostError):
        life.result()
    waiting.wait_for(0)
    assert waiting.ended == ["cancelled a"]


def test_a_coroutine_that_does_not_end_is_named_at_the_stop(
    make_world: Callable[..., World],
) -> None:
    world = make_world(gadget(), graceful_shutdown=0.2)
    waiting, ignored = Waiting(), asyncio.Event()

    async def reconcile(ctx: Context[Any], obj: Gadget) -> None:
        try:
            await waiting.reconcile(ctx, obj)
        except asyncio.CancelledError:
            await ignored.wait()

    world.register(of(reconcile=reconcile))
    world.manager.start()
    waiting.wait_for(1)
    with pytest.raises(ShutdownTimeoutError, match="gadget default/a"):
        world.manager.stop()


def test_a_stop_loses_nothing_that_a_coroutine_has_decided(world: World) -> None:
    waiting = Waiting()

    async def reconcile(ctx: Context[Any], obj: Gadget) -> Result:
        try:
            await waiting.reconcile(ctx, obj)
        except asyncio.CancelledError:
            obj.status = GadgetStatus(ready=7)
        return Result.status(obj)

    world.create(gadget())
    world.register(of(reconcile=reconcile))
    with world.running():
        waiting.wait_for(1)
    assert world.get(Gadget).status.ready == 7


def test_on_error_may_await_after_a_timeout(world: World) -> None:
    waiting, told = Waiting(), []

    async def on_error(_ctx: Context[Any], obj: Gadget, error: Exception) -> ErrorResult:
        await asyncio.sleep(0)
        told.append(type(error))
        obj.status = GadgetStatus(ready=-1)
        return ErrorResult.status(obj).no_retry()

    world.create(gadget())
    world.register(of(reconcile=waiting.reconcile, on_error=on_error), reconcile_timeout=30)
    with world.running():
        waiting.wait_for(1)
        world.clock.wait_for_waiters()
        world.clock.step(30)
        world.clock.wait_for(lambda: bool(told))
        world.wait_for_timer()
    assert told == [ReconcileTimeoutError]
    assert world.get(Gadget).status.ready == -1


def test_what_a_coroutine_raises_is_the_failure_of_its_run(world: World) -> None:
    async def reconcile(_ctx: Context[Any], _obj: Gadget) -> None:
        raise TerminalError("never")

    world.create(gadget())
    controller = world.register(of(reconcile=reconcile))
    with world.running():
        world.wait_for_timer()
        assert controller.queue.statistics().exhausted == 1


@pytest.mark.thread_failure
def test_a_task_that_raises_system_exit_does_not_end_the_loop(world: World) -> None:
    """The loss of leadership is one."""
    seen: list[str] = []

    async def leave() -> None:
        raise LeadershipLostError("another process leads")

    async def reconcile(_ctx: Context[Any], _obj: Gadget) -> None:
        try:
            await asyncio.gather(leave())
        except LeadershipLostError:
            await asyncio.sleep(0)
            seen.append("goes on")

    world.create(gadget())
    world.register(of(reconcile=reconcile))
    with world.running():
        world.wait_for_timer()
    assert seen == ["goes on"]


def test_several_clean_ups_may_await(world: World) -> None:
    done: list[str] = []
    finalizers: Finalizers[Gadget] = Finalizers()

    async def first(_ctx: Context[Any], _obj: Gadget) -> None:
        await asyncio.sleep(0)
        done.append("first")

    def reconcile(_ctx: Context[Any], _obj: Gadget) -> None: ...

    finalizers.register(FINALIZER, first)
    finalizers.register("example.com/second", lambda _ctx, _obj: done.append("second"))
    world.create(gadget(finalizers=(FINALIZER, "example.com/second")))
    world.delete(gadget())
    world.register(of(reconcile=reconcile, finalizers=finalizers))
    with world.running():
        world.clock.wait_for(lambda: len(done) == 2)
        world.clock.wait_for(lambda: not world.manager.controllers()[0].queue.statistics().known)
    assert sorted(done) == ["first", "second"]


def test_log_lines_of_a_coroutine_name_its_object(world: World) -> None:
    seen: list[Any] = []

    async def reconcile(ctx: Context[Any], _obj: Gadget) -> None:
        await asyncio.sleep(0)
        seen.append(current_fields()["objectName"])
        await ctx.aclient.live.list(Part)
        seen.append(current_fields()["objectName"])

    world.create(gadget())
    world.register(of(reconcile=reconcile))
    with world.running():
        world.wait_for_timer()
    assert seen == ["a", "a"]


def test_methods_that_nothing_waits_for_cannot_be_coroutines(world: World) -> None:
    async def validate(_obj: Any, _old: Any, _operation: Any) -> None: ...

    with pytest.raises(DeclarationError, match="nothing can wait"):
        world.register(of(reconcile=lambda _ctx, _obj: None, validate=validate))


def test_a_coroutine_that_was_not_declared_is_refused(world: World) -> None:
    waiting = Waiting()
    world.create(gadget())
    controller = world.register(of(reconcile=lambda ctx, obj: waiting.reconcile(ctx, obj)))
    with world.running():
        world.wait_for_timer()
        assert controller.queue.statistics().exhausted == 1
    assert waiting.ended == []


# The client


def test_the_client_of_a_coroutine_reads_the_caches_and_writes(world: World) -> None:
    seen: list[Any] = []

    async def reconcile(ctx: Context[Any], obj: Gadget) -> None:
        client = ctx.aclient
        if seen:
            return
        new = await client.create(ctx.own(part("made")))
        seen.append(new.metadata.name)
        seen.append((await client.get(Part, "made", "default")).metadata.uid == new.metadata.uid)
        seen.append(await client.find(Part, "other", "default"))
        seen.append(len(await client.list(Part, namespace="default")))
        await client.patch(new, {"spec": {"colour": "red"}})
        _, change = await client.create_or_update(part("made"))
        seen.append(change.value)
        await client.status.patch(obj, {"status": {"ready": 3}})
        seen.append((await client.live.get(Part, "made", "default")).spec.colour)
        await client.delete(new)

    world.create(gadget())
    world.manager.controller(Gadget).owns(Part).build(of(reconcile=reconcile))
    with world.running():
        world.wait_for_timer()
    assert seen == ["made", True, None, 1, "updated", ""]
    assert world.get(Gadget).status.ready == 3
    assert world.writes()[:2] == ["create parts default/made", "patch parts default/made"]


def test_a_read_from_a_cache_needs_no_thread(world: World) -> None:
    seen: list[bool] = []

    async def reconcile(ctx: Context[Any], obj: Gadget) -> None:
        reading = ctx.aclient.get(Gadget, "a", "default")
        with pytest.raises(StopIteration):  # it is there at the first step
            reading.send(None)
        seen.append(True)

    world.create(gadget())
    world.register(of(reconcile=reconcile))
    with world.running():
        world.wait_for_timer()
    assert seen == [True]


@pytest.mark.parametrize("how", ["stop", "own"])
def test_a_request_ends_before_the_coroutine_that_waited_for_it_goes_on(
    make_world: Callable[..., World], how: str
) -> None:
    """Whether its run is cancelled, or the coroutine itself gives up."""
    world = make_world(gadget(), graceful_shutdown=20.0)
    asked, cancelled, ended = threading.Event(), threading.Event(), threading.Event()
    seen: list[tuple[type[BaseException], bool]] = []

    def hold(action: Any) -> None:
        if action.verb == "create" and not asked.is_set():
            asked.set()
            assert cancelled.wait(30)
            ended.set()

    async def reconcile(ctx: Context[Any], _obj: Gadget) -> None:
        registration = call_when_set(ctx.cancelled, cancelled.set)
        creating = asyncio.create_task(ctx.aclient.create(gadget("b")))
        if how == "own":
            await asyncio.to_thread(asked.wait, 30)
            creating.cancel()
            asyncio.get_running_loop().call_soon(cancelled.set)
        try:
            await creating
        except BaseException as error:
            seen.append((type(error), ended.is_set()))
            raise
        finally:
            registration.cancel()

    world.asked.before = hold
    world.register(of(reconcile=reconcile))
    with world.running():
        assert asked.wait(30)
        if how == "own":
            world.clock.wait_for(lambda: bool(seen))
    assert seen == [(asyncio.CancelledError, True)]


def test_a_write_of_a_coroutine_does_not_run_its_object_again(world: World) -> None:
    runs: list[str] = []

    async def reconcile(ctx: Context[Any], _obj: Gadget) -> None:
        runs.append(ctx.key.name)
        await ctx.aclient.create_or_update(ctx.own(part("made")))

    world.create(gadget())
    world.manager.controller(Gadget).owns(Part).build(of(reconcile=reconcile))
    with world.running():
        world.wait_for_timer()
    assert runs == ["a"]


# Not used, not there


def test_nothing_of_it_is_imported_unless_it_is_used() -> None:
    """AIO-12."""
    program = (
        "import sys, clientgo.operator\n"
        "class Plain:\n"
        "    def reconcile(self, ctx, obj): ...\n"
        "from clientgo.api.core_v1 import ConfigMap\n"
        "manager = clientgo.operator.Manager('http://127.0.0.1:9', metrics='0')\n"
        "manager.controller(ConfigMap).build(Plain())\n"
        "print(*[name for name in ('asyncio', 'clientgo.aio', "
        "'clientgo.operator.addons.coroutines', 'clientgo.operator.addons.tasks') "
        "if name in sys.modules])"
    )
    printed = subprocess.check_output([sys.executable, "-c", program], text=True)
    assert printed.strip() == ""


# Helpers


def of(**methods: Any) -> Any:
    """A reconciler of these functions."""
    return SimpleNamespace(**methods)


def deleting(controller: Any) -> bool:
    return bool(controller.read_primary(A).metadata.deletion_timestamp)
