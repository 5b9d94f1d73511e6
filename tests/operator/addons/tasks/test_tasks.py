"""Tasks that live as long as an object: timers and daemons, threads and coroutines."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from clientgo.api.coordination_v1 import Lease
from clientgo.meta import NotFoundError, ObjectName
from clientgo.observe.metrics.prometheus import PrometheusProvider
from clientgo.operator import Context, LeaderElection, TerminalError
from clientgo.operator.addons.tasks import daemon, timer
from clientgo.operator.addons.tasks.supervisor import ObjectTasks
from clientgo.operator.errors import (
    ConfigError,
    DeclarationError,
    LeadershipLostError,
    ShutdownTimeoutError,
)
from clientgo.util import process
from tests.background import Background
from tests.operator.world import Gadget, Part, World, gadget, part

A = ObjectName("default", "a")


class Base:
    """A reconciler that notes what happens, and lets tests wait for it."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        with self.changed:
            self.notes.append(text)
            self.changed.notify_all()

    def wait_for(self, *texts: str) -> None:
        """Block until these are the first notes."""
        with self.changed:
            expected = list(texts)
            seen = self.changed.wait_for(lambda: self.notes[: len(expected)] == expected, 30)
            assert seen, self.notes

    def reconcile(self, ctx: Context[Any], obj: Gadget) -> None: ...


class Timed(Base):
    @timer(interval=10)
    def measure(self, ctx: Context[Gadget], obj: Gadget) -> None:
        self.note(f"{ctx.clock.monotonic():g} {obj.spec.size}")


class TimedAsync(Base):
    @timer(interval=10)
    async def measure(self, ctx: Context[Gadget], obj: Gadget) -> None:
        await asyncio.sleep(0)
        self.note(f"{ctx.clock.monotonic():g} {obj.spec.size}")


class Followed(Base):
    @daemon()
    def follow(self, ctx: Context[Gadget], obj: Gadget) -> None:
        assert "gadgets.example.com/finalizer" in obj.metadata.finalizers
        self.note(f"begins {obj.spec.size}")
        assert ctx.cancelled.wait(60)
        self.note("ends")

    def cleanup(self, ctx: Context[Gadget], obj: Gadget) -> None:
        self.note("cleaned up")


class FollowedAsync(Base):
    @daemon()
    async def follow(self, ctx: Context[Gadget], obj: Gadget) -> None:
        assert "gadgets.example.com/finalizer" in obj.metadata.finalizers
        self.note(f"begins {obj.spec.size}")
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            self.note("ends")

    async def cleanup(self, ctx: Context[Gadget], obj: Gadget) -> None:
        self.note("cleaned up")


FOLLOWED: list[type[Base]] = [Followed, FollowedAsync]


@pytest.mark.parametrize("reconciler", [Timed, TimedAsync])
def test_a_timer_is_called_again_after_its_interval_with_the_newest_state(
    world: World, reconciler: type[Base]
) -> None:
    timed = reconciler()
    world.create(gadget())
    world.register(timed, max_interval=None)
    with world.running():
        timed.wait_for("1000 1")
        world.patch(gadget(), {"spec": {"size": 5}})
        world.clock.wait_for(lambda: size_in_cache(world) == 5)
        for _ in range(2):
            world.clock.wait_for(lambda: world.clock.next_deadline() is not None)
            world.clock.step(10)
        timed.wait_for("1000 1", "1010 5")


@pytest.mark.parametrize("reconciler", FOLLOWED)
def test_a_daemon_begins_after_the_finalizer_and_ends_before_it_goes(
    world: World, reconciler: type[Base]
) -> None:
    followed = reconciler()
    world.create(gadget())
    controller = world.register(followed)
    with world.running():
        followed.wait_for("begins 1")
        world.delete(gadget())
        followed.wait_for("begins 1", "ends", "cleaned up")
        world.clock.wait_for(lambda: not controller.queue.statistics().known)
        with pytest.raises(NotFoundError):
            world.get(Gadget)


@pytest.mark.parametrize("reconciler", FOLLOWED)
def test_the_stop_ends_tasks_and_leaves_the_finalizer(world: World, reconciler: type[Base]) -> None:
    followed = reconciler()
    world.create(gadget())
    world.register(followed)
    with world.running():
        followed.wait_for("begins 1")
    assert followed.notes == ["begins 1", "ends"]
    assert world.get(Gadget).metadata.finalizers


@pytest.mark.parametrize("reconciler", FOLLOWED)
def test_tasks_end_with_leadership(
    make_world: Callable[..., World], reconciler: type[Base]
) -> None:
    election = LeaderElection(id="x", namespace="default", lease=60, renew=40, retry=0.2)
    world = make_world(gadget(), leader_election=election, real_time=True)
    followed = reconciler()
    world.register(followed)
    life = Background(lambda: world.manager.run(signals=False))
    followed.wait_for("begins 1")
    world.patch(world.get(Lease, "x"), {"spec": {"holderIdentity": "somebody"}})
    with pytest.raises(LeadershipLostError):
        life.result()
    followed.wait_for("begins 1", "ends")


@pytest.mark.parametrize("how", ["finalizers removed", "namespace left"])
def test_a_task_ends_when_its_controller_is_no_longer_concerned(world: World, how: str) -> None:
    followed = Followed()
    world.create(gadget())
    controller = world.register(followed)
    with world.running():
        followed.wait_for("begins 1")
        if how == "namespace left":
            controller.change_namespaces("elsewhere")
        else:
            controller.pause()
            world.patch(gadget(), {"metadata": {"finalizers": None}})
            world.delete(gadget())
        followed.wait_for("begins 1", "ends")


class Restarted(Followed):
    @daemon(restart_on_change=True)
    def follow(self, ctx: Context[Gadget], obj: Gadget) -> None:
        super().follow(ctx, obj)


@pytest.mark.parametrize(
    ("reconciler", "notes"),
    [(Followed, ["begins 1"]), (Restarted, ["begins 1", "ends", "begins 5"])],
)
def test_a_change_of_the_spec_starts_a_daemon_again_if_asked(
    world: World, reconciler: type[Base], notes: list[str]
) -> None:
    followed = reconciler()
    world.create(gadget())
    world.register(followed)
    with world.running():
        followed.wait_for("begins 1")
        world.patch(gadget(), {"status": {"ready": 1}}, subresource="status")
        world.patch(gadget(), {"spec": {"size": 5}})
        world.clock.wait_for(lambda: size_in_cache(world) == 5)
        followed.wait_for(*notes)
        world.clock.wait_for(world.at_rest)
        assert followed.notes == notes


@pytest.mark.parametrize("error", [ValueError("broken"), TerminalError("for ever")])
def test_a_daemon_that_fails_starts_again_with_back_off(
    world: World, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    """And tells users by an Event; a terminal error ends it."""

    class Failing(Base):
        @daemon()
        def follow(self, ctx: Context[Gadget], obj: Gadget) -> None:
            self.note(f"{ctx.clock.monotonic():g} retry {ctx.retry.attempt}")
            raise error

    failing = Failing()
    world.create(gadget())
    world.register(failing, max_interval=None)
    with world.running():
        failing.wait_for("1000 retry 0")
        world.clock.wait_for(lambda: "gadget-follow default/a: failed" in caplog.text)
        world.clock.wait_for(world.at_rest)
        if isinstance(error, TerminalError):
            assert "does not start again" in caplog.text
            return
        world.clock.wait_for(lambda: world.clock.next_deadline() == 1002.0)
        world.clock.step(2)
        failing.wait_for("1000 retry 0", "1002 retry 1")
    assert "starts in 2 s: ValueError: broken" in caplog.text
    assert any("events" in str(action) for action in world.asked.writes())


def test_a_daemon_that_returns_is_done(world: World) -> None:
    class Short(Base):
        @daemon()
        def follow(self, ctx: Context[Gadget], obj: Gadget) -> None:
            self.note("done")

        def reconcile(self, ctx: Context[Any], obj: Gadget) -> None:
            self.note("reconciled")

    short = Short()
    world.create(gadget())
    controller = world.register(short)
    with world.running():
        world.clock.wait_for(lambda: sorted(short.notes) == ["done", "reconciled"])
        controller.trigger(A)
        world.clock.wait_for(lambda: short.notes.count("reconciled") == 2)
    assert short.notes.count("done") == 1


class Stubborn(Base):
    def __init__(self) -> None:
        super().__init__()
        self.release = threading.Event()

    @daemon(stop_timeout=60)
    def follow(self, ctx: Context[Gadget], obj: Gadget) -> None:
        self.note("begins")
        self.release.wait(30)
        self.note("ends")


def test_at_the_stop_all_tasks_that_do_not_end_are_reported_after_the_same_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """OP-MGR-11: the manager does not wait for long after that."""
    now = 0.0
    reported: list[float] = []

    class Stuck:
        def start(self) -> None: ...

        def begin_stop(self) -> None: ...

        def wait_stopped(self, timeout: float | None) -> bool:
            nonlocal now
            if timeout is not None:
                now += timeout
                reported.append(now)
            return False

    monkeypatch.setattr(process.threads, "time", SimpleNamespace(monotonic=lambda: now))
    tasks, stop = ObjectTasks("gadget", ()), threading.Event()
    monkeypatch.setattr(tasks, "_tasks", [Stuck(), Stuck(), Stuck()])
    stop.set()
    tasks.run(stop)
    assert reported == [10.0, 10.0, 10.0]


def test_a_deletion_does_not_wait_for_ever(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """The log has the stack of the task that is left behind."""
    stubborn = Stubborn()
    world.create(gadget())
    controller = world.register(stubborn)
    with world.running():
        stubborn.wait_for("begins")
        world.delete(gadget())
        world.clock.wait_for(lambda: controller.queue.statistics().next_due == 1060.0)
        world.clock.wait_for(world.at_rest)
        assert world.get(Gadget).metadata.finalizers
        world.clock.step(60)
        world.clock.wait_for(lambda: not controller.queue.statistics().known)
        with pytest.raises(NotFoundError):
            world.get(Gadget)
        stubborn.release.set()
    assert "gadget-follow default/a: has not ended within 60 s" in caplog.text
    assert "self.release.wait(30)" in caplog.text


def test_a_task_that_does_not_end_is_named_at_the_stop(make_world: Callable[..., World]) -> None:
    world = make_world(gadget(), graceful_shutdown=0.2)
    stubborn = Stubborn()
    world.register(stubborn)
    world.manager.start()
    stubborn.wait_for("begins")
    with pytest.raises(ShutdownTimeoutError, match="gadget-tasks"):
        world.manager.stop()
    stubborn.release.set()
    stubborn.wait_for("begins", "ends")


def test_what_a_task_writes_wakes_the_reconciler(world: World) -> None:
    """It is not an echo of a run."""

    class Writing(Base):
        def __init__(self) -> None:
            super().__init__()
            self.reconciled = threading.Event()

        @daemon()
        async def follow(self, ctx: Context[Gadget], obj: Gadget) -> None:
            await asyncio.to_thread(self.reconciled.wait, 30)
            await ctx.aclient.create(ctx.own(part("made")))

        def reconcile(self, ctx: Context[Any], obj: Gadget) -> None:
            self.note(f"sees {len(ctx.secondaries(Part))}")
            self.reconciled.set()

    writing = Writing()
    world.create(gadget())
    world.manager.controller(Gadget).owns(Part).build(writing)
    with world.running():
        writing.wait_for("sees 0", "sees 1")


def test_a_task_has_the_metrics_of_a_queue(make_world: Callable[..., World]) -> None:
    """Its retries among them; the label is the name of the task."""

    class Failing(Base):
        @timer(interval=10)
        def measure(self, ctx: Context[Gadget], obj: Gadget) -> None:
            self.note("called")
            raise ValueError

    failing, provider = Failing(), PrometheusProvider(registry := CollectorRegistry())
    world = make_world(gadget(), metrics_provider=provider)
    world.register(failing)
    with world.running():
        failing.wait_for("called")
        world.clock.wait_for(
            lambda: (
                registry.get_sample_value(
                    "workqueue_work_duration_seconds_count",
                    {"name": "gadget-measure", "controller": "gadget-measure"},
                )
                == 1.0
            )
        )


def test_tasks_need_few_threads_unless_they_are_daemons_in_threads(
    make_world: Callable[..., World],
) -> None:
    world = make_world(*(gadget(f"g{number}") for number in range(50)))
    followed = FollowedAsync()
    world.register(followed)
    with world.running():
        world.clock.wait_for(lambda: len(followed.notes) == 50)
        names = [thread.name for thread in threading.enumerate()]
        assert sum(name.startswith("gadget-follow") for name in names) == 1
    assert followed.notes.count("ends") == 50


def test_tasks_that_cannot_work_are_refused(world: World) -> None:
    class ByKey:
        def reconcile_key(self, ctx: Any, key: Any) -> None: ...

        @daemon()
        def follow(self, ctx: Any, obj: Any) -> None: ...

    class TooFew(Base):
        @daemon()
        def follow(self, ctx: Any) -> None: ...

    for reconciler, message in ((ByKey(), "live as long as an object"), (TooFew(), "ctx and the")):
        with pytest.raises(DeclarationError, match=message):
            world.register(reconciler)
    with pytest.raises(ConfigError):
        timer(interval=0)
    with pytest.raises(ConfigError):
        timer(interval=1, workers=0)


def test_a_failure_at_the_stop_is_no_failure_of_the_task(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    class Failing(Base):
        @daemon()
        def follow(self, ctx: Context[Gadget], obj: Gadget) -> None:
            self.note("begins")
            assert ctx.cancelled.wait(60)
            ctx.check()

    failing = Failing()
    world.create(gadget())
    world.register(failing)
    with caplog.at_level(logging.WARNING), world.running():
        failing.wait_for("begins")
    assert caplog.messages == []


def size_in_cache(world: World) -> int:
    found = world.manager.controllers()[0].read_primary(A)
    assert found is not None
    size: int = found.spec.size
    return size
