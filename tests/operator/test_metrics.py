"""What a manager reports: names, labels and numbers, as dashboards know them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, Counter

from clientgo.api.apiextensions_v1 import CustomResourceDefinition
from clientgo.client import Client
from clientgo.codegen.crd import definitions_of
from clientgo.meta import ObjectName
from clientgo.observe.metrics.prometheus import PrometheusProvider
from clientgo.observe.serving import Response
from clientgo.operator import Context, Manager, Predicate, Result, TerminalError
from clientgo.operator.controller import Controller
from clientgo.operator.errors import ConfigError
from clientgo.rest import RestConfig
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.server.faults import FreezeWatches
from tests.operator.pages import ask
from tests.operator.world import PATIENCE, Gadget, Part, Recording, World, gadget, part


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def measured(make_world: Callable[..., World], registry: CollectorRegistry) -> Callable[..., World]:
    """Makes a world whose manager reports to ``registry``."""

    def make(*objects: Any, **settings: Any) -> World:
        return make_world(*objects, metrics_provider=PrometheusProvider(registry), **settings)

    return make


def samples(registry: CollectorRegistry, name: str) -> dict[tuple[str, ...], float]:
    """The numbers of a metric by the values of its labels, in the order of these."""
    return {
        tuple(value for _, value in sorted(sample.labels.items())): sample.value
        for metric in registry.collect()
        for sample in metric.samples
        if sample.name == name
    }


def test_the_page_of_a_manager_shows_its_own_registry_and_more() -> None:
    """OP-MET-01, OP-MET-07, OP-MGR-02: at a port of its own, beside other pages."""
    with EmbeddedAPIServer() as server:
        manager = Manager(server.url, metrics="127.0.0.1:0")
        Counter("mine", "A user's own", registry=manager.metrics_provider.registry).inc()  # type: ignore[attr-defined]
        manager.add_metrics_path("/extra", lambda _request: Response(200, b"more"))
        manager.controller(Part).build(Recording())
        install_parts(server)
        with manager:
            status, page = ask(f"{manager.bound.metrics}/metrics")
            assert ask(f"{manager.bound.metrics}/extra") == (200, "more")
    assert status == 200
    assert "mine_total 1.0" in page
    assert 'controller_runtime_reconcile_total{controller="part",result="success"} 0.0' in page
    assert "rest_client_requests_total{" in page, "those of its own client"
    assert manager.bound.metrics == ""


def install_parts(server: Any) -> None:
    with Client(RestConfig(server=server.url, qps=-1)) as client:
        for definition in definitions_of([Part]):
            client.resource(CustomResourceDefinition).create(definition)


@pytest.mark.parametrize("address", ["8080", "host:port", ":99999", ""])
def test_an_address_is_checked_when_the_manager_is_made(address: str) -> None:
    """OP-MGR-02, OP-CFG-06"""
    with pytest.raises(ConfigError, match="no address"):
        Manager("http://127.0.0.1:1", metrics=address)


def test_runs_are_counted_by_how_they_ended(
    measured: Callable[..., World], registry: CollectorRegistry
) -> None:
    """OP-MET-02, OP-MET-03, OP-MET-10"""
    world = measured(gadget("a"), gadget("b"), gadget("c"), gadget("d"))

    def answer(ctx: Context[Any], _obj: Any) -> Result | None:
        match ctx.key.name:
            case "b":
                return Result.requeue(60.0)
            case "c":
                raise TerminalError("never")
            case "d":
                raise ZeroDivisionError
        return None

    recording = Recording(answer)
    world.register(recording)
    with world.running():
        recording.wait_for_runs(4)
        world.wait_for_timer()
        assert samples(registry, "controller_runtime_reconcile_total") == {
            ("gadget", "success"): 1,
            ("gadget", "requeue_after"): 1,
            ("gadget", "requeue"): 0,
            ("gadget", "error"): 2,
        }
        counted = {
            name: samples(registry, name)[("gadget",)]
            for name in (
                "controller_runtime_reconcile_errors_total",
                "controller_runtime_terminal_reconcile_errors_total",
                "controller_runtime_reconcile_panics_total",
                "controller_runtime_reconcile_timeouts_total",
                "operator_reconcile_retries_total",
                "operator_resources",
                "operator_retry_exhausted",
            )
        }
    assert list(counted.values()) == [2, 1, 1, 0, 1, 4, 1]


def test_the_time_until_the_workers_began_is_known_when_they_have(
    measured: Callable[..., World], registry: CollectorRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OP-MET-15: from the start of the process, whatever the workers had to wait for."""
    monkeypatch.setattr("clientgo.operator.metrics.process_age", lambda: 12.5)
    world = measured(gadget())
    recording = Recording()
    world.register(recording)
    assert samples(registry, "operator_startup_seconds") == {}, "no standby has started in 0 s"

    with world.running():
        recording.wait_for_runs(1)
        assert samples(registry, "operator_startup_seconds") == {("gadget",): 12.5}


def test_runs_are_timed_and_workers_counted(
    measured: Callable[..., World], registry: CollectorRegistry
) -> None:
    """OP-MET-04, OP-MET-05"""
    world = measured(gadget())
    began, release = threading.Event(), threading.Event()

    def wait(_ctx: Context[Any], _obj: Any) -> None:
        began.set()
        release.wait(PATIENCE)

    world.register(Recording(wait), workers=3)
    with world.running():
        assert began.wait(PATIENCE)
        assert samples(registry, "controller_runtime_active_workers") == {("gadget",): 1}
        assert samples(registry, "controller_runtime_max_concurrent_reconciles") == {("gadget",): 3}
        release.set()
    assert samples(registry, "controller_runtime_active_workers") == {("gadget",): 0}
    buckets = samples(registry, "controller_runtime_reconcile_time_seconds_bucket")
    bounds = [bound for _, bound in buckets]
    assert bounds[:3] == ["0.005", "0.01", "0.025"]
    assert bounds[-2:] == ["60.0", "+Inf"]
    assert buckets["gadget", "+Inf"] == 1


def test_a_queue_is_measured_under_the_names_of_controller_runtime(
    measured: Callable[..., World], registry: CollectorRegistry
) -> None:
    """OP-MET-06: what waits is counted by priority."""
    world = measured(gadget("a"), gadget("b"), gadget("c"))
    registered = world.register(Recording())
    registered.pause()
    with world.running():
        registered.resume()
        labels = ("gadget", "gadget")
        names = {
            "workqueue_adds_total",
            "workqueue_retries_total",
            "workqueue_unfinished_work_seconds",
            "workqueue_longest_running_processor_seconds",
            "workqueue_queue_duration_seconds_count",
            "workqueue_work_duration_seconds_count",
        }
        assert {name for name in names if labels in samples(registry, name)} == names
        assert ("gadget", "gadget", "0") in samples(registry, "workqueue_depth")
        buckets = samples(registry, "workqueue_work_duration_seconds_bucket")
        bounds = [bound for _controller, bound, _name in buckets]
        assert len(bounds) == 13
        assert float(bounds[0]) == pytest.approx(1e-8)
        assert float(bounds[-2]) == pytest.approx(1e3)


@contextmanager
def held_in_a_run(world: World) -> Iterator[Controller[Any]]:
    """Run a controller whose only worker is in its first run until the end of the block."""
    began, release = threading.Event(), threading.Event()

    def wait(_ctx: Context[Any], _obj: Any) -> None:
        began.set()
        release.wait(PATIENCE)

    registered = world.register(Recording(wait))
    with world.running():
        assert began.wait(PATIENCE)
        yield registered
        release.set()


def test_what_waits_is_counted_by_priority(
    measured: Callable[..., World], registry: CollectorRegistry
) -> None:
    """OP-MET-06"""
    with held_in_a_run(measured(gadget("a"))) as registered:
        registered.trigger(ObjectName("default", "x"), priority=7)
        registered.trigger(ObjectName("default", "y"), priority=7)
        depths = samples(registry, "workqueue_depth")
    assert depths == {("gadget", "gadget", "0"): 0, ("gadget", "gadget", "7"): 2}


def test_priorities_beyond_the_25th_are_counted_together(
    measured: Callable[..., World], registry: CollectorRegistry
) -> None:
    """OP-QUE-07"""
    with held_in_a_run(measured(gadget("a"))) as registered:
        for priority in range(1, 31):
            registered.trigger(ObjectName("default", f"x{priority}"), priority=priority)
        depths = samples(registry, "workqueue_depth")
    by_priority = {priority: depth for (_, _, priority), depth in depths.items()}
    assert by_priority.pop("exceeded_cardinality_limit") == 6
    assert by_priority.pop("0") == 0
    assert by_priority == {str(priority): 1 for priority in range(1, 25)}


def test_events_of_sources_are_counted_by_their_type(
    measured: Callable[..., World], registry: CollectorRegistry
) -> None:
    """OP-MET-10"""
    world = measured(gadget(), part("a"))
    recording = Recording()
    world.manager.controller(Gadget).owns(Part).build(recording)
    with world.running():
        recording.wait_for_runs(1)
        counted = samples(registry, "operator_events_received_total")
    assert counted == {
        ("gadget", "primary", "create"): 1,
        ("gadget", "part", "create"): 1,
    }


def test_failures_of_sources_are_counted(
    measured: Callable[..., World], registry: CollectorRegistry
) -> None:
    """OP-MET-10"""
    world, recording = measured(gadget()), Recording()
    broken = Predicate.of(lambda _obj: 1 / 0)  # type: ignore[arg-type, return-value]
    world.manager.controller(Gadget).with_predicate(broken).build(recording)
    with world.running():
        recording.wait_for_runs(1)
        assert samples(registry, "operator_source_errors_total") == {("gadget", "primary"): 1}


def test_how_long_deletions_wait_for_their_clean_up_is_measured(
    measured: Callable[..., World], registry: CollectorRegistry
) -> None:
    """OP-MET-10"""
    world = measured(gadget())
    done = threading.Event()

    class Cleaning(Recording):
        def cleanup(self, ctx: Context[Any], obj: Any) -> None:
            done.set()

    recording = Cleaning()
    world.register(recording)
    with world.running():
        recording.wait_for_runs(1)
        world.delete(gadget())
        assert done.wait(PATIENCE)
    assert samples(registry, "operator_finalizer_wait_seconds_count") == {("gadget",): 1}


def test_no_label_names_an_object_or_a_namespace(
    measured: Callable[..., World], registry: CollectorRegistry
) -> None:
    """OP-MET-11"""
    world = measured(gadget("extraordinary", namespace="default"))
    recording = Recording()
    world.register(recording)
    with world.running():
        recording.wait_for_runs(1)
        values = {
            value
            for metric in registry.collect()
            for sample in metric.samples
            for value in sample.labels.values()
        }
    assert not values & {"extraordinary", "default", "default/extraordinary"}


def test_runs_may_be_counted_by_namespace(
    measured: Callable[..., World], registry: CollectorRegistry
) -> None:
    """OP-MET-11"""
    world = measured(gadget(), metrics_per_namespace=True)
    recording = Recording()
    world.register(recording)
    with world.running():
        recording.wait_for_runs(1)
    counted = samples(registry, "operator_reconcile_total")
    assert counted == {("gadget", "default", "success"): 1}


def test_reads_that_a_write_of_our_own_answered_are_counted(
    measured: Callable[..., World], registry: CollectorRegistry
) -> None:
    """OP-MET-14"""
    world = measured()
    world.manager.controller(Gadget).reads(Part).build(Recording())
    with world.running():
        world.server.inject(FreezeWatches())
        world.manager.client.create(part("mine"))
        assert world.manager.client.get(Part, "mine", "default")
        counted = samples(registry, "operator_cache_stale_reads_total")
        assert counted["parts.example.com",] >= 1
        assert (
            samples(registry, "operator_cache_own_writes_expired_total")["parts.example.com",] == 0
        )
        world.server.lift()


class Sink:
    """Notes what it is told, and fails."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Callable[..., None]:
        def tell(*args: Any) -> None:
            self.told.append((name, *args))
            raise ValueError("a sink that fails")

        return tell


def test_a_sink_is_told_and_may_fail(
    make_world: Callable[..., World], caplog: pytest.LogCaptureFixture
) -> None:
    """OP-MET-13"""
    sink = Sink()
    world = make_world(gadget(), sink=sink)

    class Failing(Recording):
        def cleanup(self, ctx: Context[Any], obj: Any) -> None: ...

    def fail_once(_ctx: Context[Any], _obj: Any) -> None:
        if len(recording.runs) == 1:
            raise ValueError

    recording = Failing(fail_once)
    world.register(recording)
    key = ObjectName("default", "a")
    with world.running():
        recording.wait_for_runs(1)
        world.wait_for_timer()
        world.clock.step(2.0)
        recording.wait_for_runs(2)
    assert ("event", "gadget", "primary", "create") in sink.told
    told = [entry for entry in sink.told if entry[0] != "event"]
    names = [entry[0] for entry in told]
    assert names[-5:] == [
        "run_started",
        "retry",
        "run_finished",
        "run_started",
        "run_finished",
    ]
    assert ("retry", "gadget", key, 1, 2.0) in told
    assert told[-1][3] == "success"
    assert "the metrics sink failed" in caplog.text
