"""A manager from its start to its end: what starts and stops when, and what ends it."""

from __future__ import annotations

import queue
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from clientgo.api.apiextensions_v1 import CustomResourceDefinition
from clientgo.cache import SharedIndexInformer
from clientgo.client import Client
from clientgo.meta import ForbiddenError, ObjectName
from clientgo.observe.metrics.prometheus import PrometheusProvider
from clientgo.operator import Context, Manager, ManagerConfig, watch
from clientgo.operator.cache.scope import ALL
from clientgo.operator.errors import (
    AlreadyStartedError,
    CacheSyncTimeoutError,
    ConfigError,
    DeclarationError,
    ManagerStoppedError,
    ShutdownTimeoutError,
)
from clientgo.operator.manager.life_cycle import RunnableGroup
from clientgo.operator.sources import inbound
from clientgo.rest import RestConfig, limiter_of
from clientgo.testcluster.server.faults import FailRequests, Requests
from clientgo.testing.fakes.actions import Action
from tests.leftover_threads import no_thread_left
from tests.operator.pages import ask
from tests.operator.world import (
    PATIENCE,
    Gadget,
    Part,
    Recording,
    World,
    gadget,
    give_up_waiting_when_refused,
)


class Told:
    """A runnable that notes when it starts and stops."""

    def __init__(self, name: str, notes: list[str]) -> None:
        self._name = name
        self._notes = notes
        self.runs = threading.Event()

    def run(self, stop: threading.Event) -> None:
        self._notes.append(f"{self._name} starts")
        self.runs.set()
        stop.wait()
        self._notes.append(f"{self._name} stops")


def test_the_defaults() -> None:
    """OP-MGR-01"""
    config = ManagerConfig()
    assert (config.namespaces, config.metrics, config.health) == (ALL, ":8080", "0")
    assert (config.graceful_shutdown, config.cache_sync_timeout) == (30, 120)
    assert (config.leader_election, config.check_crds, config.close_client_on_stop) == (
        None,
        False,
        True,
    )


@pytest.mark.parametrize(
    "settings",
    [
        {"metrics": "8080"},
        {"health": "nowhere"},
        {"workers": 0},
        {"cache_sync_timeout": 0},
        {"graceful_shutdown": "30s"},
        {"checks": ["caches", "moon"]},
        {"liveness_path": "healthz"},
        {"namespaces": []},
        {"controllers": {"gadget": {"worker": 2}}},
        {"worker": 2},
    ],
)
def test_a_setting_that_makes_no_sense_is_refused_when_the_manager_is_made(
    settings: dict[str, Any],
) -> None:
    """OP-CFG-06"""
    with pytest.raises(ConfigError):
        Manager("http://127.0.0.1:1", **{"metrics": "0", **settings})


def test_a_manager_makes_its_client_without_a_rate_limit() -> None:
    """OP-CFG-02: unless one is asked for; it says who it is."""
    manager = Manager("http://127.0.0.1:1", metrics="0", name="painter")
    assert limiter_of(manager.base.config) is None
    assert manager.base.config.user_agent.startswith("clientgo-operator/")
    assert manager.base.config.user_agent.endswith(" (painter)")
    own = Manager(RestConfig(server="http://127.0.0.1:1", user_agent="mine"), metrics="0")
    assert own.base.config.user_agent == "mine"
    slow = Manager(RestConfig(server="http://127.0.0.1:1", qps=2, burst=4), metrics="0")
    assert slow.base.config.qps == 2


def test_who_starts_a_manager_finds_its_caches_filled_and_its_workers_at_work(
    world: World,
) -> None:
    """OP-MGR-03"""
    world.create(gadget())
    recording = Recording()
    world.register(recording)
    with world.manager as manager:
        assert manager.client.get(Gadget, "a", "default").spec.size == 1
        assert manager.elected.is_set()
        recording.wait_for_runs(1)
    with pytest.raises(ManagerStoppedError, match="make a new one"):
        world.manager.start()


def test_what_starts_first_stops_last(world: World) -> None:
    """OP-MGR-04, OP-MGR-06, OP-MGR-10, OP-MGR-14"""
    world.create(gadget())
    notes: list[str] = []
    always, leading = Told("always", notes), Told("leading", notes)
    world.manager.add_runnable(always, needs_leadership=False)
    world.manager.add_runnable(leading)
    told = inbound(name="told")
    start, stop = told.start, told.stop
    told.start = lambda *given: (notes.append("sources start"), start(*given))[1]  # type: ignore[method-assign]
    told.stop = lambda: (notes.append("sources stop"), stop())[1]  # type: ignore[method-assign]

    def run(ctx: Context[Any], _obj: Any) -> None:
        notes.append("run")
        ran.set()
        assert ctx.cancelled.wait(60)
        notes.append("run ends")

    ran = threading.Event()
    world.manager.controller(Gadget).source(told).build(Recording(run))
    events, close = world.manager.events.shutdown, world.manager.base.close
    world.manager.events.shutdown = lambda: (notes.append("events"), events())[1]  # type: ignore[method-assign]
    world.manager.base.close = lambda: (notes.append("client"), close())[1]  # type: ignore[method-assign]
    world.manager.start()
    assert ran.wait(PATIENCE)
    assert always.runs.wait(PATIENCE)
    assert leading.runs.wait(PATIENCE)
    world.manager.stop()

    assert notes[0] == "sources start"
    begun = notes.index("always stops")
    assert set(notes[1:begun]) == {"always starts", "leading starts", "run"}
    assert set(notes[begun + 1 : begun + 3]) == {"leading stops", "run ends"}
    assert notes[begun + 3 :] == ["sources stop", "events", "client"]


def test_probes_are_answered_while_the_caches_fill(make_world: Callable[..., World]) -> None:
    """OP-MGR-05, OP-HLT-06"""
    world = make_world(health="127.0.0.1:0", real_time=True)
    refuse_gadgets(world, 500)
    world.register(Recording())
    starting = threading.Thread(target=world.manager.start, daemon=True)
    starting.start()
    wait_for_gadgets(world)
    health = world.manager.bound.health
    status, body = ask(f"{health}/readyz?verbose")
    assert (status, "[-]caches failed" in body) == (500, True)
    assert ask(f"{health}/healthz") == (200, "ok")
    world.server.lift()
    starting.join(PATIENCE)
    assert ask(f"{health}/readyz") == (200, "ok")


def test_what_is_added_to_a_running_manager_starts_at_once(world: World) -> None:
    """OP-MGR-07"""
    world.create(gadget())
    notes: list[str] = []
    recording = Recording()
    with world.running():
        told = Told("late", notes)
        world.manager.add_runnable(told)
        assert told.runs.wait(PATIENCE)
        world.register(recording)
        recording.wait_for_runs(1)
    assert notes == ["late starts", "late stops"]
    with pytest.raises(ManagerStoppedError):
        world.manager.add_runnable(told)
    with pytest.raises(ManagerStoppedError):
        world.register(Recording(), name="other")


def test_a_runnable_that_raises_stops_the_manager(world: World) -> None:
    """OP-MGR-08, OP-MGR-18: run() raises it; what others raise then is noted on it."""
    both = threading.Barrier(2)

    def fails(stop: threading.Event) -> None:
        both.wait(PATIENCE)
        raise ValueError("first")

    def fails_too(stop: threading.Event) -> None:
        both.wait(PATIENCE)
        stop.wait()
        raise KeyError("second")

    world.manager.add_runnable(fails)
    world.manager.add_runnable(fails_too)
    with pytest.raises(ValueError, match="first") as caught:
        world.manager.run(signals=False)
    assert caught.value.__notes__ == ["then KeyError: 'second'"]


def test_an_exception_that_a_controller_does_not_recover_from_stops_the_manager(
    world: World,
) -> None:
    """OP-MGR-18"""
    world.create(gadget())

    def bug(_ctx: Context[Any], _obj: Any) -> None:
        raise ZeroDivisionError

    world.register(Recording(bug), recover=False)
    with pytest.raises(ZeroDivisionError):
        world.manager.run(signals=False)


def test_an_informer_that_ends_because_of_a_bug_stops_the_manager(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    """OP-MGR-18: it is counted, and told to who runs the manager."""
    registry = CollectorRegistry()
    world = make_world(metrics_provider=PrometheusProvider(registry))

    def bug(_informer: Any, _stop: threading.Event) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(SharedIndexInformer, "run", bug)
    world.register(Recording())
    with pytest.raises(ZeroDivisionError):
        world.manager.run(signals=False)
    labels = {"kind": "gadgets.example.com"}
    assert registry.get_sample_value("operator_informer_crashes_total", labels) == 1


def test_a_manager_runs_once(world: World) -> None:
    """OP-MGR-09"""
    with world.running():
        for again in (world.manager.start, lambda: world.manager.run(signals=False)):
            with pytest.raises(AlreadyStartedError):
                again()
        assert not world.manager._life.ending.is_set(), "and it still runs"


def test_a_stop_that_takes_too_long_names_what_still_runs(make_world: Callable[..., World]) -> None:
    """OP-MGR-11"""
    world = make_world(graceful_shutdown=0.05)
    release = stubborn(world)
    try:
        with pytest.raises(ShutdownTimeoutError, match="gadget-worker-1") as caught:
            world.manager.stop()
        assert caught.value.threads == ["forever", "gadget-worker-1"], "and nothing else"
    finally:
        release.set()


def test_a_stop_of_no_length_waits_for_nothing(make_world: Callable[..., World]) -> None:
    """OP-MGR-11: and does not complain."""
    world = make_world(graceful_shutdown=0)
    release = stubborn(world)
    world.manager.stop()
    release.set()


@pytest.mark.parametrize("grace", [None, -1])
def test_a_stop_may_wait_for_ever(make_world: Callable[..., World], grace: float | None) -> None:
    """OP-MGR-11"""
    world = make_world(graceful_shutdown=grace)
    release = stubborn(world)
    stopping = threading.Thread(target=world.manager.stop, daemon=True)
    stopping.start()
    stopping.join(0.1)
    assert stopping.is_alive()
    release.set()
    stopping.join(PATIENCE)
    assert not stopping.is_alive()


def stubborn(world: World) -> threading.Event:
    """Start a manager with a run and a runnable that end when the event is set."""
    world.create(gadget())
    release, runs = threading.Event(), threading.Event()

    def run(_ctx: Context[Any], _obj: Any) -> None:
        runs.set()
        release.wait()

    world.register(Recording(run))
    world.manager.add_runnable(lambda _stop: release.wait(), name="forever")
    world.manager.start()
    assert runs.wait(PATIENCE)
    return release


def test_a_stop_while_it_starts_ends_the_start(world: World) -> None:
    """OP-MGR-03: it need not wait until the caches give up."""
    refuse_gadgets(world, 500)
    world.register(Recording())
    raised: list[BaseException] = []

    def start() -> None:
        try:
            world.manager.start()
        except ManagerStoppedError as error:
            raised.append(error)

    starting = threading.Thread(target=start, daemon=True)
    starting.start()
    wait_for_gadgets(world)
    world.manager.stop()
    starting.join(PATIENCE)
    assert "while it started" in str(raised[0])


def refuse_gadgets(world: World, status: int) -> None:
    world.server.inject(
        FailRequests(requests=Requests(resource="gadgets"), times=None, status=status)
    )


def wait_for_gadgets(world: World) -> None:
    """Block until the manager has asked for gadgets."""
    world.asked.wait_for(lambda actions: any("gadgets" in str(action) for action in actions))


def run_program(script: str) -> subprocess.CompletedProcess[str]:
    """Run a program with ``manager``, on a server of its own."""
    head = """
        import signal, threading, time
        from clientgo.testcluster.server import EmbeddedAPIServer
        from clientgo.operator import Manager

        server = EmbeddedAPIServer()
        server.start()
        manager = Manager(server.url, metrics="0")

        def interrupt(number):
            signal.pthread_kill(threading.main_thread().ident, number)
    """
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(head) + textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=Path(__file__).parents[2],
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_it_gracefully(number: signal.Signals) -> None:
    """OP-MGR-13, OP-MGR-25: and the manager that follows it in the same process."""
    result = run_program(f"""
        def once(manager):
            def told(stop):
                interrupt({int(number)})
                stop.wait()
                print("stopped")

            manager.add_runnable(told)
            manager.run()

        once(manager)
        once(Manager(server.url, metrics="0"))
    """)
    assert (result.stdout, result.returncode) == ("stopped\nstopped\n", 0), result.stderr


def test_a_second_signal_ends_the_process() -> None:
    """OP-MGR-13"""
    result = run_program("""
        def stubborn(stop):
            interrupt(signal.SIGTERM)
            stop.wait()
            while True:  # Python misses one that comes just before its main thread waits
                interrupt(signal.SIGTERM)
                time.sleep(0.05)

        manager.add_runnable(stubborn)
        manager.run()
    """)
    assert (result.stdout, result.returncode) == ("", 1), result.stderr


def test_a_lost_lease_ends_a_program_with_one_line() -> None:
    """OP-LE-06: status 1, the reason, and no traceback."""
    result = run_program("""
        from clientgo.api.coordination_v1 import Lease
        from clientgo.client import Client
        from clientgo.operator import LeaderElection

        election = LeaderElection(id="x", namespace="default", lease=60, renew=40, retry=0.2)
        manager = Manager(server.url, metrics="0", leader_election=election)
        leases = Client(server.url).resource(Lease).namespace("default")
        manager.add_runnable(lambda stop: leases.patch("x", {"spec": {"holderIdentity": "other"}}))
        manager.run()
    """)
    assert result.returncode == 1
    assert "this process does not lead any more" in result.stderr.splitlines()[-1]
    assert "Traceback" not in result.stderr


def test_signals_need_the_main_thread(world: World) -> None:
    """OP-MGR-13"""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            world.manager.run()
        except RuntimeError as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(PATIENCE)
    assert "main thread only" in str(raised[0])


def test_checks_and_pages_are_declared_before_the_start(make_world: Callable[..., World]) -> None:
    """OP-MGR-15"""
    world = make_world()
    manager = world.manager
    with pytest.raises(DeclarationError, match="built-in"):
        manager.add_readyz("caches", lambda: None)
    with pytest.raises(DeclarationError, match="/metrics"):
        manager.add_metrics_path("/metrics", lambda _: None)  # type: ignore[arg-type, return-value]
    with world.running():
        with pytest.raises(DeclarationError, match="too late"):
            manager.add_healthz("late", lambda: None)
        with pytest.raises(DeclarationError, match="too late"):
            manager.add_metrics_path("/late", lambda _: None)  # type: ignore[arg-type, return-value]


def test_caches_that_do_not_fill_in_time_are_named(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    """OP-MGR-16: with their kind, their namespace and why."""
    world = make_world(namespaces=["red"])
    refuse_gadgets(world, 403)
    give_up_waiting_when_refused(monkeypatch, "the request fails by command")
    world.manager.controller(Gadget).owns(Part).build(Recording())
    with pytest.raises(CacheSyncTimeoutError) as caught:
        world.manager.start()
    message = str(caught.value)
    assert "gadgets.example.com in red" in message
    assert "the request fails by command" in message
    assert "part" not in message, "which is synced"


@pytest.mark.parametrize("before_others", [False, True])
def test_a_stop_ends_the_wait_for_caches_at_once(world: World, before_others: bool) -> None:
    """OP-MGR-16: it does not take the time that the caches are given."""
    asked = threading.Event()

    def refuse(action: Action) -> None:
        if action.resource.resource == "parts":
            asked.set()
            raise ForbiddenError.of("parts are not for you")

    world.asked.before = refuse
    parts = watch(Part, before_others=before_others)
    world.manager.controller(Gadget).source(parts).build(Recording())
    outcome = queue.SimpleQueue[BaseException]()

    def start() -> None:
        with pytest.raises(ManagerStoppedError) as caught:
            world.manager.start()
        outcome.put(caught.value)

    threading.Thread(target=start).start()
    assert asked.wait(PATIENCE)
    world.manager.stop()
    outcome.get(timeout=PATIENCE)


def test_missing_kinds_are_told_all_at_once(make_world: Callable[..., World]) -> None:
    """OP-MGR-20"""
    world = make_world(check_crds=True)
    definitions = world.client.resource(CustomResourceDefinition)
    for name in ("gadgets.example.com", "parts.example.com"):
        definitions.delete(name)
    world.register(Recording())
    world.register(Recording(), Part)
    with pytest.raises(ConfigError, match=r"gadgets\.example\.com, parts\.example\.com"):
        world.manager.start()


def test_what_a_registration_returns_steers_the_controller(world: World) -> None:
    """OP-MGR-21"""
    world.create(gadget())
    recording = Recording()
    registered = world.register(recording, workers=2)
    assert (registered.name, registered.config.workers) == ("gadget", 2)
    assert registered.namespaces == frozenset([""])
    with world.running():
        recording.wait_for_runs(1)
        registered.pause()
        assert registered.health().queue.paused
        registered.trigger(ObjectName("default", "a"))
        registered.resume()
        recording.wait_for_runs(2)
        registered.change_namespaces(["elsewhere"])
        assert registered.namespaces == frozenset(["elsewhere"])


def test_two_managers_do_not_disturb_each_other(make_world: Callable[..., World]) -> None:
    """OP-MGR-25, OP-MGR-19: of one process, with controllers of one name; no thread outlives
    them."""
    first = make_world(gadget(), metrics_per_namespace=True)
    with no_thread_left():
        second = Manager(Client(RestConfig(server=first.server.url, qps=-1)), metrics="0")
        one, other = Recording(), Recording()
        first.register(one)
        second.controller(Gadget).build(other)
        with first.running(), second:
            one.wait_for_runs(1)
            other.wait_for_runs(1)
            names = {thread.name for thread in threading.enumerate()}
            assert {"gadget-worker-1", "informer-gadgets.example.com"} <= names
            first.manager.stop()
            assert second.client.get(Gadget, "a", "default")


def test_a_group_waits_for_its_threads_and_not_for_itself() -> None:
    """OP-MGR-10: a runnable may stop the manager that runs it."""
    group = RunnableGroup(lambda error: pytest.fail(str(error)))
    ended = threading.Event()

    def stops(_stop: threading.Event) -> None:
        assert group.stop(None) == []
        ended.set()

    group.add("stops", stops)
    group.start()
    assert ended.wait(PATIENCE)
