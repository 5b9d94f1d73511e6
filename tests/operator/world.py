"""A manager on an embedded API server and a fake clock, and how tests wait without sleeping."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from clientgo.api.apiextensions_v1 import CustomResourceDefinition
from clientgo.client import Client
from clientgo.codegen.crd import definitions_of
from clientgo.meta import Model, ObjectMeta, ObjectName, Resource, resource
from clientgo.operator import Context, Manager, Result
from clientgo.operator.controller import Controller
from clientgo.operator.controller.sources import ControllerSources
from clientgo.operator.status import ObservedGeneration
from clientgo.rest import HTTPTransport, RestConfig
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testing import FakeClock
from clientgo.testing.operator import eventually
from clientgo.testing.recording_transport import RecordingTransport
from clientgo.util.clock import REAL_CLOCK

PATIENCE = 60.0
"""Real seconds after which something that has not happened counts as a failure."""


class GadgetSpec(Model):
    size: int = 0
    colour: str = ""


class GadgetStatus(Model):
    ready: int = 0


@resource(group="example.com", version="v1", plural="gadgets")
class Gadget(Resource):
    """A primary."""

    spec: GadgetSpec = GadgetSpec()
    status: GadgetStatus | None = None


class WatchedStatus(ObservedGeneration):
    ready: int = 0


@resource(group="example.com", version="v1", plural="watchers")
class Watcher(Resource):
    """A primary whose status has the generation."""

    spec: GadgetSpec = GadgetSpec()
    status: WatchedStatus | None = None


@resource(group="example.com", version="v1", plural="parts")
class Part(Resource):
    """A secondary; it has no status."""

    spec: GadgetSpec = GadgetSpec()


@resource(group="example.com", version="v1", plural="planets", namespaced=False)
class Planet(Resource):
    """Something without a namespace."""

    spec: GadgetSpec = GadgetSpec()


KINDS = (Gadget, Watcher, Part, Planet)


@functools.cache
def _definitions_of(kinds: tuple[Any, ...]) -> list[dict[str, Any]]:
    return definitions_of(kinds)


def gadget(name: str = "a", namespace: str = "default", **metadata: Any) -> Gadget:
    return Gadget(
        metadata=ObjectMeta(name=name, namespace=namespace, **metadata), spec=GadgetSpec(size=1)
    )


def part(name: str = "p", namespace: str = "default", **metadata: Any) -> Part:
    return Part(metadata=ObjectMeta(name=name, namespace=namespace, **metadata))


class Recording:
    """A reconciler that notes its runs; ``answer`` decides what each returns or raises.

    Tests wait with :meth:`wait_for_runs`; ``block`` makes runs wait for ``release``.
    """

    def __init__(self, answer: Callable[[Context[Any], Any], Result | None] | None = None) -> None:
        self._answer = answer
        self._changed = threading.Condition()
        self.runs: list[ObjectName] = []
        self.objects: list[Any] = []

    def reconcile(self, ctx: Context[Any], obj: Any) -> Result | None:
        with self._changed:
            self.runs.append(ctx.key)
            self.objects.append(obj)
            self._changed.notify_all()
        return None if self._answer is None else self._answer(ctx, obj)

    def wait_for_runs(self, count: int) -> list[ObjectName]:
        """Block until there were so many runs; fails if there are not, or more."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.runs) >= count, PATIENCE):
                raise AssertionError(f"expected {count} runs, saw {self.runs}")
            return list(self.runs)


def record_triggers(
    monkeypatch: pytest.MonkeyPatch, controller: Controller[Any]
) -> list[tuple[str, int]]:
    """Return a list that gets the name and priority of each trigger of a controller's queue."""
    triggers: list[tuple[str, int]] = []
    trigger = controller.queue.trigger

    def record(key: ObjectName, priority: int = 0, **more: Any) -> object:
        triggers.append((key.name, priority))
        return trigger(key, priority, **more)

    monkeypatch.setattr(controller.queue, "trigger", record)
    return triggers


def give_up_waiting_when_refused(monkeypatch: pytest.MonkeyPatch, reason: str) -> None:
    """Let waits for caches time out once lists were refused for a reason, and all others came."""
    wait_synced = ControllerSources.wait_synced

    def wait(self: ControllerSources, timeout: float, stop: threading.Event | None = None) -> None:
        def has_come_to_rest() -> bool:
            late = [source for source in self.all() if not source.wait_synced(0.0)]
            return bool(late) and all(reason in (source.healthy() or "") for source in late)

        eventually(has_come_to_rest)
        wait_synced(self, 0.0, stop)

    monkeypatch.setattr(ControllerSources, "wait_synced", wait)


class World:
    """An embedded API server and a manager; ``settings`` are those of the manager.

    The clock of the manager is a fake one unless ``real_time``. ``client`` is what a test uses,
    ``asked`` has what the manager asked of the server.
    """

    def __init__(
        self,
        *objects: Any,
        kinds: tuple[Any, ...] = KINDS,
        real_time: bool = False,
        **settings: Any,
    ) -> None:
        self.server = EmbeddedAPIServer()
        self.server.start()
        self.client = Client(RestConfig(server=self.server.url, qps=-1))
        for definition in _definitions_of(kinds):
            self.client.resource(CustomResourceDefinition).create(definition)
        self.create(*objects)
        self.clock = FakeClock(start=1000.0)
        config = RestConfig(server=self.server.url, qps=-1)
        self.asked = RecordingTransport(HTTPTransport(config))
        self.manager = Manager(
            Client(config, transport=self.asked),
            metrics="0",
            clock=REAL_CLOCK if real_time else self.clock,
            **settings,
        )

    def register(self, reconciler: Any, kind: Any = Gadget, **options: Any) -> Controller[Any]:
        return self.manager.controller(kind).options(**options).build(reconciler)

    @contextmanager
    def running(self) -> Iterator[World]:
        """Run the manager until the end of the block."""
        self.manager.start()
        try:
            yield self
        finally:
            self.manager.stop()

    def close(self) -> None:
        self.manager.stop()
        self.client.close()
        self.server.stop()

    # What a test does to the cluster, and sees of it

    def create(self, *objects: Any) -> None:
        for obj in objects:
            self.client.resource(type(obj)).create(obj)

    def get(self, kind: Any, name: str = "a", namespace: str = "default") -> Any:
        return self.client.resource(kind).namespace(namespace).get(name)

    def patch(self, obj: Any, patch: dict[str, Any], **options: Any) -> Any:
        client = self.client.resource(type(obj)).namespace(obj.metadata.namespace)
        return client.patch(obj.metadata.name, patch, **options)

    def delete(self, obj: Any) -> None:
        self.client.resource(type(obj)).namespace(obj.metadata.namespace).delete(obj.metadata.name)

    def writes(self) -> list[str]:
        """What the manager wrote so far, Events left out: ``patch gadgets/status default/a``."""
        return [str(a) for a in self.asked.writes() if "events" not in str(a)]

    # How a test waits

    def at_rest(self) -> bool:
        """Whether nothing waits to run, and nothing runs."""
        return all(
            statistics.ready == statistics.running == 0
            for statistics in (c.queue.statistics() for c in self.manager.controllers())
        )

    def run_for(self, seconds: float) -> None:
        """Let time go on; each timer runs at its instant."""

        def settled() -> bool:
            dues = [c.queue.statistics().next_due for c in self.manager.controllers()]
            next_due = min((due for due in dues if due is not None), default=None)
            next_wait = self.clock.next_deadline()
            armed = next_due is None or (next_wait is not None and next_wait <= next_due)
            return armed and self.at_rest()

        self.clock.run_for(seconds, settled)

    def wait_for_timer(self) -> None:
        """Block until an object has a timer, so that the clock may be stepped."""
        self.clock.wait_for(
            lambda: (
                any(c.queue.statistics().waiting for c in self.manager.controllers())
                and self.at_rest()
            )
        )
