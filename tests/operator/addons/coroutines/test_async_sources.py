"""Pollers, other sources, webhooks and single runs with coroutines."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from clientgo.meta import ObjectName
from clientgo.operator import Context, Result
from clientgo.operator.addons.polling import poll
from clientgo.operator.errors import DeclarationError
from clientgo.operator.sources import Sink, SourceContext, func
from clientgo.operator.webhooks import AdmissionContext, Denied, validate
from clientgo.operator.webhooks.declarations import webhooks_of
from clientgo.operator.webhooks.endpoint import CallLimiter
from clientgo.testing.operator import run_once
from tests.operator.webhooks.reviews import Foo, body, foo, review, verdict_in
from tests.operator.webhooks.serving import call_of
from tests.operator.world import Gadget, GadgetStatus, Recording, World, gadget

A = ObjectName("default", "a")


class Outside:
    """What a poller asks; as many answers at a time as ``most``."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.items: dict[str, list[str]] = {}
        self.asked = 0
        self.waiting = 0
        self.most = 0
        self.release: asyncio.Event | None = None

    async def all(self) -> dict[ObjectName, list[str]]:
        await asyncio.sleep(0)
        return {ObjectName("default", name): found for name, found in self.items.items()}

    async def of(self, primary: Gadget) -> list[str]:
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        try:
            await asyncio.sleep(0)
            if self.release is not None:
                await self.release.wait()
        finally:
            self.waiting -= 1
        self.asked += 1
        return self.items.get(primary.metadata.name, [])


def seeing(world: World, source: Any, **options: Any) -> tuple[Recording, list[Any]]:
    seen: list[Any] = []

    def reconcile(ctx: Context[Any], _obj: Gadget) -> None:
        seen.append(sorted(ctx.secondaries(str)))

    recording = Recording(reconcile)
    world.manager.controller(Gadget).options(**options).source(source).build(recording)
    return recording, seen


def test_a_poll_for_all_may_await(world: World) -> None:
    outside = Outside()
    outside.items["a"] = ["x"]
    recording, seen = seeing(world, poll(outside.all, period=10, kind=str))
    world.create(gadget())
    with world.running():
        recording.wait_for_runs(1)
        outside.items["a"] = ["x", "y"]
        world.clock.wait_for(lambda: world.clock.next_deadline() == 1010.0)
        world.clock.step(10)
        recording.wait_for_runs(2)
    assert seen == [["x"], ["x", "y"]]


def test_polls_of_each_primary_await_side_by_side_in_one_thread(
    make_world: Callable[..., World],
) -> None:
    world = make_world(*(gadget(f"g{number}") for number in range(20)))
    outside = Outside()
    outside.release = asyncio.Event()
    source = poll(outside.of, period=10, per_resource=True, kind=str, concurrency=15)
    recording = Recording()
    world.manager.controller(Gadget).source(source).build(recording)
    with world.running():
        world.clock.wait_for(lambda: outside.waiting == 15)
        names = [thread.name for thread in threading.enumerate()]
        assert sum(name.startswith("source-poll") for name in names) == 1
        loop = world.manager.controllers()[0].services.event_loop()

        async def release() -> None:
            assert outside.release is not None
            outside.release.set()

        loop.run("release", release())
        world.clock.wait_for(lambda: outside.asked == 20)
    assert outside.most == 15


def test_polls_end_with_the_source(world: World) -> None:
    outside = Outside()
    outside.release = asyncio.Event()
    source = poll(outside.of, period=10, per_resource=True, kind=str)
    world.manager.controller(Gadget).source(source).build(Recording())
    world.create(gadget())
    with world.running():
        world.clock.wait_for(lambda: outside.waiting == 1)
    assert outside.waiting == 0


def test_a_coroutine_that_needs_the_first_answer_runs_again(world: World) -> None:
    """It cannot wait for another coroutine of its own loop without awaiting."""
    outside = Outside()
    outside.items["a"] = ["x"]
    seen: list[Any] = []

    class Reconciler:
        async def reconcile(self, ctx: Context[Any], _obj: Gadget) -> None:
            seen.append(ctx.secondaries(str))

    source = poll(
        outside.of, period=10, per_resource=True, kind=str, when=lambda _: bool(outside.asked)
    )
    controller = world.manager.controller(Gadget).source(source).build(Reconciler())
    world.create(gadget())
    with world.running():
        world.wait_for_timer()
        assert seen == []
        outside.asked = 1
        world.patch(gadget(), {"spec": {"size": 5}})
        world.clock.wait_for(lambda: source.cache.known(A))
        controller.trigger(A)
        world.clock.wait_for(lambda: bool(seen))
    assert seen[-1] == ["x"]


def test_a_source_may_be_a_coroutine(world: World) -> None:
    ended: list[str] = []
    begun = threading.Event()

    async def source(_context: SourceContext, sink: Sink) -> None:
        sink.enqueue(A)
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    recording = Recording()
    world.manager.controller(Gadget).source(func(source)).build(recording)
    world.create(gadget())
    with world.running():
        assert begun.wait(60)
        recording.wait_for_runs(1)
        world.clock.wait_for(lambda: world.at_rest())
    assert ended == ["cancelled"]


def test_a_webhook_may_await(world: World) -> None:
    @validate(Foo)
    async def check(obj: Foo, _old: Foo | None, _ctx: AdmissionContext) -> None:
        await asyncio.sleep(0)
        raise Denied(f"{obj.metadata.name} is refused")

    with world.running():
        world.manager.webhook(check)
        (endpoint,) = world.manager.webhooks.endpoints(CallLimiter()).values()
        verdict = verdict_in(endpoint(call_of(body(review("CREATE", foo())))).body)
    assert not verdict.allowed
    assert verdict.status.message == "a is refused"


def test_a_webhook_without_a_manager_cannot_await() -> None:
    @validate(Gadget)
    async def check(_obj: Gadget, _old: Gadget | None, _ctx: AdmissionContext) -> None: ...

    with pytest.raises(DeclarationError, match=r"manager\.webhook"):
        webhooks_of(check)


def test_a_single_run_may_await() -> None:
    class Reconciler:
        async def reconcile(self, ctx: Context[Gadget], obj: Gadget) -> Result:
            await ctx.aclient.create(gadget("made"))
            obj.status = GadgetStatus(ready=1)
            return Result.status(obj).after(30)

        async def cleanup(self, _ctx: Context[Gadget], _obj: Gadget) -> None:
            await asyncio.sleep(0)

    run = run_once(Reconciler(), gadget())
    assert run.obj.status.ready == 1
    assert run.next_look == 30
    assert [action.verb for action in run.actions] == ["patch", "create", "patch"]
