"""One run of a controller on an API server of its own, disturbed at one write or at none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from clientgo.api.apiextensions_v1 import CustomResourceDefinition
from clientgo.api.coordination_v1 import Lease
from clientgo.api.core_v1 import ConfigMap
from clientgo.client import CachedDiscovery, Client, DiscoveringRESTMapper, DiscoveryClient
from clientgo.meta import APIResource, Unstructured
from clientgo.meta.resource_version import parse_resource_version
from clientgo.rest import RestConfig
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.server.faults import CloseWatches, FailRequests, HoldRequests, Requests
from clientgo.testing.definitions import is_established
from clientgo.testing.observer import Observer
from clientgo.testing.perturb.objects import Normalise, State, differences, read_state
from clientgo.testing.perturb.writes import AGENT, RequestLog, Write, is_write
from clientgo.util.copies import CopyableError
from clientgo.util.process import SupervisedThread

Runner: TypeAlias = Callable[[RestConfig], AbstractContextManager[object]]
"""Runs a controller, with a connection to the API server, for as long as the context is open."""

Change: TypeAlias = Callable[[Client], object]

_START: Final = 30.0
"""Seconds in which a controller has to list something."""
_STOP: Final = 30.0
"""Seconds in which a controller has to stop."""
_SET_BY_SERVER: Final = (
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "managedFields",
)


class PerturbError(CopyableError):
    """The controller can't be tested: it does not start, or does nothing."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What every run has in common; see :func:`clientgo.testing.perturb.perturb`."""

    controller: Runner
    manifests: Sequence[Mapping[str, Any]]
    changes: Sequence[Change] = ()
    beside: Runner | None = None
    normalise: Normalise | None = None
    quiet: float = 0.5
    timeout: float = 60.0

    def is_definition(self, manifest: Mapping[str, Any]) -> bool:
        """Return True for manifests that are there before the controller starts."""
        return manifest["kind"] in ("CustomResourceDefinition", "Namespace")


@dataclass
class Trial:
    """The world of one run. ``write`` and ``perturbation`` are set together."""

    plan: Plan
    target: Write | None = None
    perturbation: Callable[[Trial], None] | None = None
    log: RequestLog = field(default_factory=RequestLog)
    struck: bool = False
    states: list[State] = field(default_factory=list)
    """After each step."""
    _state: State = field(default_factory=State)
    _lives: int = 0
    _life: AbstractContextManager[object] | None = None

    # What the run does

    def run(self, expected: Sequence[State] = ()) -> str:
        """Run; return what differs from the expected state, empty if nothing does.

        ``expected`` has the states of the undisturbed run. The next step is made when the state is
        the expected one.

        Raises:
            PerturbError: the controller did not start.
        """
        with ExitStack() as stack:
            self.server = stack.enter_context(EmbeddedAPIServer())
            self.server.observe(self.log.add)
            self.client = stack.enter_context(Client(self._config("perturbing-test")))
            version = self.client.resource(ConfigMap).list().metadata.resource_version
            self._since = parse_resource_version(version) or 0
            definitions = [m for m in self.plan.manifests if self.plan.is_definition(m)]
            self._define(definitions)
            beside = self.plan.beside or (lambda _config: nullcontext())
            stack.enter_context(beside(self._config("beside-the-controller")))
            self._hold = self._arm()
            stack.callback(self.end_life)
            stack.callback(self.server.lift)
            self.next_life()
            objects = [m for m in self.plan.manifests if not self.plan.is_definition(m)]
            steps = [lambda _client: self._create(objects), *self.plan.changes]
            problem = ""
            for number, step in enumerate(steps):
                step(self.client)
                wanted = expected[number] if expected else None
                if step is not steps[-1]:
                    self._reach(wanted)
                else:
                    problem = self._compare(wanted)
                self.states.append(self._state)
            return problem

    def _arm(self) -> HoldRequests | None:
        if self.target is None:
            return None
        hold = HoldRequests(requests=self.target.requests, skip=self.target.nth)
        self.server.inject(hold)
        return hold

    def _disturb(self) -> None:
        """If the controller is about to make the write, let the perturbation happen."""
        if self._hold is None or self.struck or not self.server.struck(self._hold):
            return
        assert self.perturbation is not None
        self.struck = True
        self.perturbation(self)
        self.settle()

    def _reach(self, expected: State | None) -> None:
        """Wait until the state is the expected one, or the time is up: the end decides."""
        end = self.log.waited + self.plan.timeout
        while self._look(expected) and self.log.waited < end:
            pass

    def _compare(self, expected: State | None) -> str:
        """Wait until the state is the expected one, and the controller makes no more writes."""
        end = self.log.waited + self.plan.timeout
        while True:
            before = len(self.log.writes())
            difference = self._look(expected)
            rests = len(self.log.writes()) == before
            if rests and not difference and self._stays_quiet():
                return ""
            if self.log.waited >= end:
                return difference or "the controller does not come to rest: it keeps writing"

    def _look(self, expected: State | None) -> str:
        """Read the state when the controller is quiet; return what differs."""
        self.settle()
        self._disturb()  # the write may come late
        touched = {r.resource for r in self.log.requests() if is_write(r)}
        touched |= self._created_plurals
        self._state = read_state(self.client, touched, self._since, self.plan.normalise)
        return "" if expected is None else differences(expected, self._state)

    def _stays_quiet(self) -> bool:
        before = len(self.log.writes())
        self.settle()
        return len(self.log.writes()) == before

    # What perturbations do

    @property
    def write(self) -> Write:
        """The write that is disturbed."""
        assert self.target is not None
        return self.target

    @property
    def agent(self) -> str:
        """The user agent of the present life of the controller."""
        return f"{AGENT}/{self._lives}"

    @property
    def agent_of_next_life(self) -> str:
        """The user agent that the next life will have."""
        return f"{AGENT}/{self._lives + 1}"

    def release(self) -> None:
        """Let the held write go on."""
        if self._hold is not None:
            self.server.lift(self._hold)

    def lose_answer(self) -> None:
        """Let the write happen, and fail its answer."""
        self.server.inject(
            FailRequests(requests=self.write.requests, status=504, after_effect=True)
        )

    def fence(self) -> None:
        """From now on no request of this life has an effect, as if its process had ended."""
        mine = Requests(user_agent=self.agent)
        self.server.inject(FailRequests(requests=mine, status=503, times=None))
        self.server.inject(CloseWatches(requests=mine, abruptly=True))

    def settle(self) -> None:
        """Wait until the controller has been quiet for a while.

        The other runs depend on what the undisturbed one found, so it waits longer.
        """
        quiet = self.plan.quiet * (1 if self.target else 2)
        self.log.wait_until_quiet(quiet, self.plan.timeout)

    def watched_resources(self) -> int:
        """Return how many watches the controller has."""
        return len({r[1:4] for r in self.log.requests() if r.verb == "watch"})

    def next_life(self) -> None:
        """End this life, if there is one, and start the controller again.

        No run waits until the Leases of a life that has ended have expired.
        """
        self.end_life()
        if self.elects():
            self._free_leases()
        self._lives += 1
        life = self.plan.controller(self._config(self.agent))
        life.__enter__()
        self._life = life
        if not self.log.wait_for_reads(self.agent, _START):
            raise PerturbError(
                f"the controller has listed nothing in {_START:.0f} s; see whether its log has an "
                "error, and whether it uses the configuration that it is given"
            )

    def end_life(self) -> None:
        """Stop the controller; what it raises is the consequence of the perturbation."""
        life, self._life = self._life, None
        if life is None:
            return
        failures: list[BaseException] = []

        def leave() -> None:
            try:
                life.__exit__(None, None, None)
            except Exception as error:  # noqa: BLE001 - judged below
                failures.append(error)

        thread = SupervisedThread.started(
            leave, name="perturb-stop", then="the run fails, because its controller does not stop"
        )
        thread.join(_STOP)
        if thread.is_alive():
            raise PerturbError(f"the controller does not stop within {_STOP:.0f} s")
        if failures and not self.struck:
            raise failures[0]

    def change_and_revert(self) -> None:
        """Delete and create the user's objects; change and restore those with finalizers."""
        for resource, namespace, name in self._created:
            objects = self.client.resource(resource).namespace(namespace)
            plain = objects.get(name).to_dict()
            metadata = plain["metadata"]
            if metadata.get("finalizers"):
                _touch(objects, name)
                continue
            for key in _SET_BY_SERVER:
                metadata.pop(key, None)
            objects.delete(name)
            objects.create(plain)

    def touch(self) -> None:
        """Change the user's objects and restore them, so that they cause syncs."""
        for resource, namespace, name in self._created:
            _touch(self.client.resource(resource).namespace(namespace), name)

    def take_leases(self) -> None:
        """Hold every Lease that the controller has, for ever."""
        for lease in self._leases():
            body = {"spec": {"holderIdentity": "perturb", "leaseDurationSeconds": 3600}}
            self._lease_client(lease).patch(lease.metadata.name, body)

    def elects(self) -> bool:
        """Return True if the controller has written a Lease."""
        return any(r.resource == "leases" and r.code < 400 for r in self.log.requests())

    # Inside

    def _free_leases(self) -> None:
        for lease in self._leases():
            self._lease_client(lease).patch(lease.metadata.name, {"spec": {"holderIdentity": ""}})

    def _leases(self) -> list[Lease]:
        written = {(r.namespace, r.name) for r in self.log.requests() if r.resource == "leases"}
        found = self.client.resource(Lease).list().items
        return [x for x in found if (x.metadata.namespace, x.metadata.name) in written]

    def _lease_client(self, lease: Lease) -> Any:
        return self.client.resource(Lease).namespace(lease.metadata.namespace)

    def _config(self, agent: str) -> RestConfig:
        return RestConfig(server=self.server.url, user_agent=agent)

    def _define(self, manifests: Sequence[Mapping[str, Any]]) -> None:
        self._created: list[tuple[APIResource, str, str]] = []
        self._created_plurals: set[str] = set()
        self._create(manifests)
        self._created.clear()
        with Observer(self.client, CustomResourceDefinition) as observer:
            definitions = observer.lister(CustomResourceDefinition)
            if not observer.wait_until(lambda: all(map(is_established, definitions.list()))):
                raise PerturbError("a definition is not established; see its conditions")

    def _create(self, manifests: Sequence[Mapping[str, Any]]) -> None:
        mapper = DiscoveringRESTMapper(CachedDiscovery(DiscoveryClient(self.client.config)))
        for manifest in manifests:
            group, _, version = str(manifest["apiVersion"]).rpartition("/")
            resource = mapper.for_kind(group, manifest["kind"], version)
            namespace = manifest["metadata"].get("namespace", "default")
            objects = self.client.resource(resource)
            if resource.namespaced:
                objects = objects.namespace(namespace)
            made: Unstructured = objects.create(manifest)
            self._created.append((resource, made.metadata.namespace, made.metadata.name))
            self._created_plurals.add(resource.plural)


def _touch(objects: Any, name: str) -> None:
    for value in ("changed", None):
        objects.patch(name, {"metadata": {"annotations": {"perturb": value}}})
