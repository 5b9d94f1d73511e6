"""Managers of the operator layer, with one controller of Foos each."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from typing import Any

from clientgo.api.core_v1 import ConfigMap, Pod
from clientgo.leaderelection import WorkStillRunningError
from clientgo.meta import ObjectMeta, ObjectName
from clientgo.operator import (
    ALL,
    Context,
    LeaderElection,
    Manager,
    Result,
    controller,
    retry,
    watch,
)
from clientgo.operator.addons.dependents import Dependent
from clientgo.operator.errors import CacheSyncTimeoutError, LeadershipLostError, OperatorError
from clientgo.operator.mappers import MapContext
from sample_controller.types import Foo, FooStatus
from tests.soak.clients import STOP_BOUND, SoakClient, stop_threads
from tests.soak.findings import DeliberateError, Findings
from tests.soak.world import NAMESPACES, World


def wanted_config_map(foo: Foo, prefix: str) -> ConfigMap:
    metadata = ObjectMeta(name=f"{prefix}{foo.metadata.name}", namespace=foo.metadata.namespace)
    return ConfigMap(metadata=metadata, data={"replicas": str(foo.spec.replicas)})


class FooConfig(Dependent[ConfigMap, Foo]):
    """The ConfigMap of a Foo, declared."""

    kind = ConfigMap

    def desired(self, ctx: Context[Foo], foo: Foo) -> ConfigMap:
        return wanted_config_map(foo, "of-")


class _Reconciler:
    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._rng = random.Random(1)

    def reconcile(self, ctx: Context[Foo], foo: Foo) -> Result:
        self._findings.count("reconciles")
        if self._rng.random() < 0.05:
            raise DeliberateError("the reconciler fails")
        self.write(ctx, foo)
        foo.status = FooStatus(available_replicas=foo.spec.replicas or 0)
        return Result.status(foo)

    def write(self, ctx: Context[Foo], foo: Foo) -> None:
        """Bring what the Foo needs into being."""


@controller(Foo, owns=[ConfigMap], name="soak-writer")
class WritingReconciler(_Reconciler):
    def write(self, ctx: Context[Foo], foo: Foo) -> None:
        ctx.client.create_or_update(ctx.own(wanted_config_map(foo, "of-")))


@controller(Foo, owns=[ConfigMap], name="soak-cleaner")
class CleaningReconciler(WritingReconciler):
    def cleanup(self, ctx: Context[Foo], foo: Foo) -> Result:
        self._findings.count("cleanups")
        return Result.done()


@controller(Foo, dependents=[FooConfig], name="soak-dependents")
class DependentReconciler(_Reconciler):
    pass


@controller(Foo, owns=[ConfigMap], name="soak-async", workers=20)
class AsyncReconciler(_Reconciler):
    """Awaits its requests; objects wait for each other's answers no longer than they have to."""

    async def reconcile(self, ctx: Context[Foo], foo: Foo) -> Result:  # type: ignore[override]
        self._findings.count("reconciles")
        if self._rng.random() < 0.05:
            raise DeliberateError("the reconciler fails")
        await asyncio.sleep(0.001)
        await ctx.aclient.create_or_update(ctx.own(wanted_config_map(foo, "of-")))
        foo.status = FooStatus(available_replicas=foo.spec.replicas or 0)
        return Result.status(foo)


def _foo_of(_context: MapContext, pod: Any) -> list[ObjectName]:
    return [ObjectName(pod.metadata.namespace, pod.metadata.name.replace("pod", "foo"))]


@controller(Foo, sources=[watch(Pod, mapper=_foo_of)], name="soak-mapped")
class MappedReconciler(_Reconciler):
    """Writes about the Pod of the same number, which it does not own."""

    def reconcile(self, ctx: Context[Foo], foo: Foo) -> Result:
        self._findings.count("reconciles")
        pod = ctx.client.find(Pod, foo.metadata.name.replace("foo", "pod"), foo.metadata.namespace)
        foo.status = FooStatus(available_replicas=running_pods(pod))
        return Result.status(foo)


def running_pods(pod: Pod | None) -> int:
    return int(pod is not None and pod.status is not None and pod.status.phase == "Running")


_RECONCILERS: tuple[type[_Reconciler], ...] = (
    WritingReconciler,
    CleaningReconciler,
    DependentReconciler,
    AsyncReconciler,
    MappedReconciler,
)


_REPLICAS: tuple[tuple[int, int | None], ...] = ((1, None), (2, 0), (2, 8))
"""How many managers there are, and their shards: 0 if one leads, None without an election."""


class Operator(SoakClient):
    """One or two managers with one controller of Foos."""

    def __init__(self, world: World) -> None:
        self._world = world
        rng = self._rng = random.Random(world.rng.random())
        self._reconciler = rng.choice(_RECONCILERS)
        replicas, self._shards = rng.choice(_REPLICAS)
        self._number = 0
        self._running: list[tuple[threading.Event, threading.Thread]] = []
        self._controllers: dict[str, Any] = {}
        self._narrowed: set[str] = set()
        """The managers that do not reconcile all namespaces."""
        self._read_at = 0.0
        """When the server's state was last read, on the real monotonic clock."""
        for _ in range(replicas):
            self._start()

    def _start(self) -> None:
        self._number += 1
        name = f"manager-{self._number}"
        election = None
        if self._shards is not None:
            election = LeaderElection(
                id="soak-operator", namespace="default", shards=self._shards,
                lease=4.0, renew=2.5, retry=0.5,
            )  # fmt: skip
        stop = threading.Event()

        def run() -> None:
            while not stop.is_set():
                try:
                    self._run_one(name, election, stop)
                except (
                    LeadershipLostError,
                    CacheSyncTimeoutError,
                    WorkStillRunningError,
                ) as error:
                    self._world.findings.count(f"managers that ended: {type(error).__name__}")
                except BaseException as error:
                    self._world.findings.fail(
                        f"a manager failed: {type(error).__name__}", f"{name}: {error!r}"
                    )
                    stop.wait(0.2)

        thread = threading.Thread(target=run, name=name, daemon=True)
        thread.start()
        self._running.append((stop, thread))

    def _run_one(self, name: str, election: LeaderElection | None, stop: threading.Event) -> None:
        manager = Manager(
            self._world.client(name),
            name=name,
            metrics="0",
            workers=2,
            leader_election=election,
            cache_sync_timeout=20.0,
        )
        self._world.findings.track(manager)
        registered = manager.register(
            self._reconciler(self._world.findings),
            retry=retry.exponential(initial=0.05, max_interval=1.0),
        )
        failed = threading.Event()
        watcher = threading.Thread(target=_stop_with, args=(stop, failed, manager), daemon=True)
        watcher.start()
        self._controllers[name] = registered
        try:
            manager.run(signals=False)
        finally:
            del self._controllers[name]
            self._narrowed.discard(name)
            failed.set()
            watcher.join(STOP_BOUND)

    def disturb(self) -> None:
        """Replace a manager, or let one leave and enter a namespace."""
        if self._rng.random() < 0.5:
            for name in list(self._controllers):
                self._change_namespaces(name, self._rng.choice((ALL, {NAMESPACES[0]})))
        else:
            stop, thread = self._running.pop(0)
            stop_threads(self._world.findings, "a manager", stop, [thread])
            self._start()

    def _change_namespaces(self, name: str, namespaces: Any) -> None:
        found = self._controllers.get(name)
        if found is None:
            return
        try:
            self._narrowed.add(name)
            found.change_namespaces(namespaces)
        except OperatorError as error:
            self._world.findings.count(f"namespaces not changed: {type(error).__name__}")
            return
        if namespaces == ALL:
            self._narrowed.discard(name)
        self._world.findings.count("namespaces changed")

    def problem(self) -> str:
        for name in list(self._narrowed):
            self._change_namespaces(name, ALL)
        self._read_at = time.monotonic()
        foos = self._world.state(Foo)
        if self._reconciler is MappedReconciler:
            return self._problem_with_pods(foos)
        of_foos = {k: o for k, o in self._world.state(ConfigMap).items() if "/of-" in k}
        for key, foo in foos.items():
            if foo.metadata.deletion_timestamp:
                return f"operator: {key} is being deleted: {foo.metadata}; {self._explained(key)}"
            wanted = str(foo.spec.replicas)
            namespace, name = key.split("/")
            config_map = of_foos.pop(f"{namespace}/of-{name}", None)
            if config_map is None or (config_map.data or {}).get("replicas") != wanted:
                return (
                    f"operator: the ConfigMap of {key} is not as wanted: {config_map}; "
                    f"{self._explained(key)}"
                )
            if foo.status.available_replicas != foo.spec.replicas:
                return (
                    f"operator: the status of {key} is {foo.status}, {foo.spec}; "
                    f"{self._explained(key)}"
                )
        return f"operator: ConfigMaps of no Foo: {sorted(of_foos)[:5]}" if of_foos else ""

    def _explained(self, key: str) -> str:
        """Return what the controllers know of an object, and what their caches have of it."""
        name = ObjectName.parse(key)
        ago = time.monotonic() - self._read_at
        lines = [f"that was {ago:.1f} s ago; narrowed {self._narrowed}{self._world.lost_text()}"]
        for manager, each in list(self._controllers.items()):
            cache = each.primary_cache
            cached = cache.stored(name)
            has = "nothing" if cached is None else cached.metadata
            lines += [f"{manager}: {each.explain(name)}", f"  {each.queue.explain(name)}"]
            lines += [f"  {each.queue.statistics()}", f"  the cache has {has}"]
            lines += [f"  {cache.own_writes.statistics()}, as of {cache.as_of(name.namespace)}"]
            lines += [f"  {informer.statistics()}" for informer in cache.informers().values()]
        return "\n".join(lines)

    def _problem_with_pods(self, foos: dict[str, Any]) -> str:
        pods = self._world.state(Pod)
        for key, foo in foos.items():
            wanted = running_pods(pods.get(key.replace("/foo", "/pod")))
            if foo.status.available_replicas != wanted:
                return (
                    f"operator: the status of {key} is {foo.status}, {wanted} Pods run; "
                    f"{self._explained(key)}"
                )
        return ""

    def stop(self) -> None:
        for stop, _ in self._running:
            stop.set()
        for stop, thread in self._running:
            stop_threads(self._world.findings, "a manager", stop, [thread])


def _stop_with(stop: threading.Event, failed: threading.Event, manager: Manager) -> None:
    while not failed.wait(0.02):
        if stop.is_set():
            try:
                manager.stop()
            except Exception:
                return
            return
