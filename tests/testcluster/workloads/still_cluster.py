"""All controllers of the simulator in one thread, on a server without sockets and a fake clock.

Promises that nothing is left to do when a method returns: each controller looks at each object
until a whole pass changes nothing. Time moves from one due instant to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from clientgo.api.core_v1 import Pod
from clientgo.client import Client
from clientgo.meta import NotFoundError, ObjectName, metadata_of, resource_of
from clientgo.observe.metrics import NO_METRICS
from clientgo.operator.cache import EVERYWHERE
from clientgo.operator.client import CachedClient
from clientgo.operator.controller import Controller, Cycle, Services, declaration_of
from clientgo.operator.controller.assembly import controller_of
from clientgo.operator.reconciler import shape_of
from clientgo.operator.runs import ObjectState, Run, TimerKind
from clientgo.record import SeriesRecorder
from clientgo.rest import RestConfig
from clientgo.testcluster.workloads import Rule
from clientgo.testcluster.workloads.cluster.nodes import create_nodes
from clientgo.testcluster.workloads.pods.stages import Rules
from clientgo.testcluster.workloads.randomness import Randomness
from clientgo.testcluster.workloads.simulator import add_indexes, reconcilers
from clientgo.testing import FakeClock
from clientgo.testing.operator.still_cache import StillCache
from clientgo.testing.operator.still_server import StillServer
from clientgo.testing.recording_transport import READING, RecordingTransport

_MOST_PASSES = 60


class StillCluster:
    """A simulated cluster that moves when a test says so. Close it.

    ``asked`` has what the controllers asked of the server, since the last pass began.
    """

    def __init__(self, rules: Sequence[Rule] = (), *, nodes: int = 2, seed: int = 0) -> None:
        self.clock = FakeClock()
        self.events: list[Any] = []
        """What the controllers have recorded."""
        self._server = StillServer(self.clock.time)
        config = RestConfig(server="http://still")
        self.asked = RecordingTransport(self._server)
        self.client = Client(config, transport=self.asked)
        self.restart(rules, seed=seed)
        create_nodes(self.client, nodes)
        self.settle()

    def restart(self, rules: Sequence[Rule] = (), *, seed: int = 0) -> None:
        """Begin with new controllers, which know only what the API says."""
        cache = StillCache(self.client)
        add_indexes(cache)
        self._parts = [
            _Part(reconciler, self.client, cache, self.clock, self.events.append)
            for reconciler in reconcilers(Rules(rules), Randomness(seed))
        ]
        cache.start()

    def close(self) -> None:
        self.client.close()
        self._server.close()

    # What a user does

    def create(self, *objects: Any) -> None:
        for obj in objects:
            self._of(type(obj), metadata_of(obj).namespace or "default").create(obj)
        self.settle()

    def patch(self, kind: type[Any], name: str, patch: dict[str, Any], **options: Any) -> None:
        self._of(kind, "default").patch(name, patch, **options)
        self.settle()

    def delete(self, kind: type[Any], name: str) -> None:
        self._of(kind, "default").delete(name)
        self.settle()

    def get(self, kind: type[Any], name: str) -> Any:
        """An object as it is now, or None."""
        try:
            return self._of(kind, "default").get(name)
        except NotFoundError:
            return None

    def all(self, kind: type[Any]) -> list[Any]:
        found = self.client.resource(kind).list().items
        return sorted(found, key=lambda each: each.metadata.name)

    def pods(self, **labels: str) -> list[Pod]:
        return [pod for pod in self.all(Pod) if labels.items() <= pod.metadata.labels.items()]

    # Time

    def step(self, seconds: float) -> None:
        """Let time pass, and everything happen that is due meanwhile."""
        target = self.clock.monotonic() + seconds
        while (due := self._due()) is not None and due <= target:
            self.clock.step(max(due - self.clock.monotonic(), 0.0))
            self.settle()
        self.clock.step(target - self.clock.monotonic())
        self.settle()

    def settle(self) -> int:
        """Run every controller until nothing is left to do; return how many writes that took."""
        total = 0
        for _ in range(_MOST_PASSES):
            self.asked.clear()
            before = self._server.version
            for part in self._parts:
                part.run_all()
            writes = self._writes()
            if self._server.version == before:  # what was written was refused
                return total
            total += len(writes)
        raise AssertionError(f"the controllers do not settle: {writes}")

    def _writes(self) -> list[str]:
        return [str(each) for each in self.asked.actions() if each.verb not in READING]

    def _due(self) -> float | None:
        return min((due for part in self._parts for due in part.due.values()), default=None)

    def _of(self, kind: type[Any], namespace: str) -> Any:
        objects: Any = self.client.resource(kind)
        return objects.namespace(namespace) if resource_of(kind).namespaced else objects


class _Part:
    """One controller without a manager."""

    def __init__(
        self,
        reconciler: object,
        client: Client,
        cache: StillCache,
        clock: FakeClock,
        note: Callable[[Any], None],
    ) -> None:
        declaration = declaration_of(reconciler)
        config = declaration.config().checked()
        services = Services(
            client=CachedClient(client, cache),
            cache=cache,
            namespaces=EVERYWHERE,
            clock=clock,
            metrics=NO_METRICS,
            recorder=lambda name: SeriesRecorder(note, name, "test", clock=clock),
            crashed=_raise,
        )
        self._kind: Any = declaration.primary
        self._client = client
        self._clock = clock
        self._known: set[ObjectName] = set()
        self.due: dict[ObjectName, float] = {}
        """When an object is to be looked at again, by the clock's ``monotonic()``."""
        self._controller: Controller[Any] = controller_of(
            services, declaration, shape_of(reconciler, config.name), config
        )
        self._cycle = Cycle(self._controller.parts)

    def run_all(self) -> None:
        found = self._client.resource(self._kind).list().items
        self._known |= {ObjectName.of(each) for each in found}
        for key in sorted(self._known):
            self._run(key)

    def _run(self, key: ObjectName) -> None:
        state = ObjectState(self._controller.queue.settings)
        state.begin(self._clock.monotonic())
        self._cycle(Run(key, state, self._clock))
        state.ended()
        if state.last_error is not None:
            raise state.last_error
        self.due.pop(key, None)
        if state.timer is not None and state.timer.kind is not TimerKind.SAFETY:
            self.due[key] = state.timer.due


def _raise(error: BaseException) -> None:
    raise error
