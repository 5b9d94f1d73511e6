"""What the buttons of the page do.

Each action is a small change of the cluster, or a fault of the server that strikes the studied
controller only. It is planned first, so that the page can name it before its first effect.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from clientgo.api.apps_v1 import Deployment
from clientgo.api.core_v1 import Namespace
from clientgo.cache import SharedIndexInformer
from clientgo.client import Client, ResourceClient
from clientgo.meta import Unstructured
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.server.faults import (
    WRITES,
    CloseWatches,
    ExpireHistory,
    FailRequests,
    FreezeWatches,
    Requests,
)
from clientgo.util.copies import CopyableError

AGENT: Final = "studied-controller"
"""The user agent of the studied controller, by which faults find it."""

CHANGE: Final = "Do something"
BREAK: Final = "Break something"

_NAMESPACE: Final = "default"
_FOO: Final = {"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo"}
_EDITS: Final = 10
_FAILING_SYNCS: Final = 8
"""The sample's first delay is 5 ms, so the eighth is 640 ms."""
_MOST_REPLICAS: Final = 5


class NotPossibleError(CopyableError):
    """There is nothing that the action could change."""


@dataclass(frozen=True)
class Plan:
    """What an action is about to do: ``message`` is shown, and then ``do`` is called.

    The page counts what follows the ``edits`` of the object ``key``. From then on ``fault`` is
    active, and the page shows it as ``shown``; it ends when it has struck as often as it
    ``strikes``, or by a plan that ``heals``.
    """

    message: str
    do: Callable[[], object]
    key: str = ""
    edits: int = 0
    fault: str = ""
    shown: str = ""
    strikes: FailRequests | None = None
    heals: bool = False


class StudyCluster(Protocol):
    """What actions work on."""

    @property
    def server(self) -> EmbeddedAPIServer: ...

    @property
    def client(self) -> Client: ...

    def informers(self) -> Sequence[SharedIndexInformer[Any]]:
        """Return the informers of the studied controller."""


@dataclass(frozen=True)
class Action:
    """A button. ``plan`` gets the cluster and the key that the user has chosen, or "".

    It raises :class:`NotPossibleError`, and what a request raises; then nothing has changed.
    """

    name: str
    group: str
    label: str
    help: str
    plan: Callable[[StudyCluster, str], Plan]


def described(action: Action) -> dict[str, str]:
    """Return what the page needs for the button."""
    return {
        "name": action.name,
        "group": action.group,
        "label": action.label,
        "help": action.help,
    }


# Foos


class FooActions:
    """Changes of the sample's Foos and of their Deployments."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def new_foo(self) -> dict[str, Any]:
        """Return the manifest of a Foo that does not exist yet."""
        number = next(self._numbers)
        return {
            **_FOO,
            "metadata": {"name": f"foo-{number}"},
            "spec": {"deploymentName": f"web-{number}", "replicas": 1},
        }

    def all(self) -> list[Action]:
        return [
            Action(
                "create",
                CHANGE,
                "Create a Foo",
                "The watch brings it to the cache, a handler puts its key into the queue, and a "
                "worker creates its Deployment.",
                self.create,
            ),
            Action(
                "scale",
                CHANGE,
                "Scale it",
                "Changes spec.replicas of the chosen Foo, or of the first one. The worker compares "
                "and updates the Deployment.",
                self.scale,
            ),
            Action(
                "delete",
                CHANGE,
                "Delete it",
                "Deletes the chosen Foo, or the last one. Its key is synced once more: the cache "
                "does not have it any more, so there is nothing to do.",
                self.delete,
            ),
            Action(
                "edit-deployment",
                CHANGE,
                "Edit its Deployment",
                "Another user changes the replicas of the Deployment. Its handler enqueues the "
                "owner, and the sync sets them back.",
                self.edit_deployment,
            ),
            Action(
                "delete-deployment",
                CHANGE,
                "Delete its Deployment",
                "The sync finds that the Deployment is missing and creates it again.",
                self.delete_deployment,
            ),
            Action(
                "ten-edits",
                CHANGE,
                "Ten edits at once",
                "Ten updates of one Foo whose events arrive in one burst. Count the syncs: the "
                "queue has a key only once, and a sync reads the newest version.",
                self.ten_edits,
            ),
            Action(
                "fail-syncs",
                BREAK,
                "Let syncs fail",
                f"Scales the chosen Foo, and the server refuses the next {_FAILING_SYNCS} updates "
                "of its Deployment. Watch the back-off double, and other keys go on.",
                self.fail_syncs,
            ),
            *common_actions(),
        ]

    def create(self, cluster: StudyCluster, _: str) -> Plan:
        foos = _foos(cluster)
        taken = {foo.metadata.name for foo in foos.list().items}
        manifest = next(new for new in iter(self.new_foo, None) if _name(new) not in taken)
        return Plan(f"you create Foo {_name(manifest)}", lambda: foos.create(manifest))

    def scale(self, cluster: StudyCluster, key: str) -> Plan:
        foo, foos = _chosen(cluster, key), _foos(cluster)
        return Plan(
            f"you scale Foo {foo.name} to {foo.next_replicas} replicas",
            lambda: _patch_replicas(foos, foo.name, foo.next_replicas),
        )

    def delete(self, cluster: StudyCluster, key: str) -> Plan:
        foo, foos = _chosen(cluster, key, last=True), _foos(cluster)
        return Plan(f"you delete Foo {foo.name}", lambda: foos.delete(foo.name))

    def edit_deployment(self, cluster: StudyCluster, key: str) -> Plan:
        foo, deployments = _chosen(cluster, key), _deployments(cluster)
        replicas = foo.replicas + 2
        return Plan(
            f"another user sets Deployment {foo.deployment} to {replicas} replicas",
            lambda: _patch_replicas(deployments, foo.deployment, replicas),
        )

    def delete_deployment(self, cluster: StudyCluster, key: str) -> Plan:
        foo, deployments = _chosen(cluster, key), _deployments(cluster)
        return Plan(
            f"another user deletes Deployment {foo.deployment}",
            lambda: deployments.delete(foo.deployment),
        )

    def ten_edits(self, cluster: StudyCluster, key: str) -> Plan:
        name = _chosen(cluster, key).name
        return _edits_of(cluster, {**_FOO, "metadata": {"name": name}})

    def fail_syncs(self, cluster: StudyCluster, key: str) -> Plan:
        foo, foos = _chosen(cluster, key), _foos(cluster)
        refused = FailRequests(
            requests=Requests(
                verbs=("update",), resource="deployments", name=foo.deployment, user_agent=AGENT
            ),
            times=_FAILING_SYNCS,
        )

        def do() -> None:
            cluster.server.inject(refused)
            _patch_replicas(foos, foo.name, foo.next_replicas)

        return Plan(
            f"you scale Foo {foo.name} to {foo.next_replicas} replicas, and the API server refuses "
            f"the next {_FAILING_SYNCS} updates of Deployment {foo.deployment}",
            do,
            fault=f"refuse {foo.deployment}",
            shown=f"refuses {foo.deployment}",
            strikes=refused,
        )


@dataclass(frozen=True)
class _ChosenFoo:
    """What an action needs of a Foo."""

    name: str
    deployment: str
    replicas: int

    @property
    def next_replicas(self) -> int:
        return self.replicas % _MOST_REPLICAS + 1


def _name(manifest: Mapping[str, Any]) -> str:
    return str(manifest["metadata"]["name"])


def _foos(cluster: StudyCluster) -> ResourceClient[Any]:
    return objects_of(cluster.client, {**_FOO, "metadata": {}})


def _deployments(cluster: StudyCluster) -> ResourceClient[Deployment]:
    return cluster.client.resource(Deployment).namespace(_NAMESPACE)


def _chosen(cluster: StudyCluster, key: str, *, last: bool = False) -> _ChosenFoo:
    """Return the Foo of the key that the user has chosen, or the first or last one.

    The key may be that of its Deployment.
    """
    listed: list[Unstructured] = sorted(
        _foos(cluster).list().items,
        key=lambda foo: (foo.metadata.creation_timestamp or "", foo.metadata.name),
    )
    foos = [_as_chosen(foo) for foo in listed]
    name = key.rpartition("/")[2]
    chosen = [foo for foo in foos if name in (foo.name, foo.deployment)]
    chosen = chosen or foos[:: -1 if last else 1]
    if not chosen:
        raise NotPossibleError("there is no Foo; create one first")
    return chosen[0]


def _as_chosen(foo: Unstructured) -> _ChosenFoo:
    spec = foo.to_dict().get("spec", {})
    return _ChosenFoo(foo.metadata.name, spec.get("deploymentName", ""), spec.get("replicas", 1))


def _patch_replicas(objects: ResourceClient[Any], name: str, replicas: int) -> None:
    objects.patch(name, {"spec": {"replicas": replicas}})


_edits = itertools.count(1)


def _touch(objects: ResourceClient[Any], name: str) -> None:
    annotations = {"study.example.com/edit": str(next(_edits))}
    objects.patch(name, {"metadata": {"annotations": annotations}})


def _edits_of(cluster: StudyCluster, manifest: Mapping[str, Any]) -> Plan:
    """Plan edits of one object whose events reach the controller in one burst."""
    objects, name = objects_of(cluster.client, manifest), _name(manifest)
    resource = objects.resource
    held = FreezeWatches(requests=Requests(resource=resource.plural, user_agent=AGENT))

    def do() -> None:
        cluster.server.inject(held)
        try:
            for _number in range(_EDITS):
                _touch(objects, name)
        finally:
            cluster.server.lift(held)

    key = f"{_namespace_of(manifest)}/{name}" if resource.namespaced else name
    message = f"you edit {resource.kind} {name} {_EDITS} times at once"
    return Plan(message, do, key=key, edits=_EDITS)


# The objects of another controller


class ObjectActions:
    """Changes of the first of the user's objects, whatever its kind."""

    def __init__(self, manifests: Sequence[Mapping[str, Any]]) -> None:
        self._manifest = manifests[0]
        self._name = _name(self._manifest)
        self._shown = f"{self._manifest['kind']} {self._name}"

    def all(self) -> list[Action]:
        what = self._shown
        return [
            Action(
                "create",
                CHANGE,
                "Create it again",
                f"Creates {what} from its manifest.",
                self.create,
            ),
            Action("edit", CHANGE, "Edit it", f"Changes an annotation of {what}.", self.edit),
            Action(
                "ten-edits",
                CHANGE,
                "Ten edits at once",
                f"Ten updates of {what} whose events arrive in one burst. Count the syncs.",
                self.ten_edits,
            ),
            Action("delete", CHANGE, "Delete it", f"Deletes {what}.", self.delete),
            *common_actions(),
        ]

    def create(self, cluster: StudyCluster, _: str) -> Plan:
        objects = self._objects(cluster)
        return Plan(f"you create {self._shown}", lambda: objects.create(self._manifest))

    def edit(self, cluster: StudyCluster, _: str) -> Plan:
        objects = self._objects(cluster)
        return Plan(f"you edit {self._shown}", lambda: _touch(objects, self._name))

    def ten_edits(self, cluster: StudyCluster, _: str) -> Plan:
        return _edits_of(cluster, self._manifest)

    def delete(self, cluster: StudyCluster, _: str) -> Plan:
        objects = self._objects(cluster)
        return Plan(f"you delete {self._shown}", lambda: objects.delete(self._name))

    def _objects(self, cluster: StudyCluster) -> ResourceClient[Any]:
        return objects_of(cluster.client, self._manifest)


def objects_of(client: Client, manifest: Mapping[str, Any]) -> ResourceClient[Any]:
    """Return the client of a manifest's kind, in its namespace."""
    group, _, version = str(manifest["apiVersion"]).rpartition("/")
    kind = client.mapper.for_kind(group, manifest["kind"], version)
    objects = client.resource(kind)
    return objects.namespace(_namespace_of(manifest)) if kind.namespaced else objects


def _namespace_of(manifest: Mapping[str, Any]) -> str:
    return str(manifest["metadata"].get("namespace", _NAMESPACE))


# Resync and faults

_EVERYTHING: Final = Requests(user_agent=AGENT)
# An event that is refused is lost, and no sync fails.
_ITS_REQUESTS: Final = Requests(user_agent=AGENT, other_than="events")
_ITS_WRITES: Final = Requests(verbs=WRITES, user_agent=AGENT, other_than="events")
_ITS_UPDATES: Final = Requests(verbs=("update", "patch"), user_agent=AGENT, other_than="events")
_CUT: Final = CloseWatches(requests=_EVERYTHING, abruptly=True)
_FREEZE: Final = FreezeWatches(requests=_EVERYTHING)


def common_actions() -> list[Action]:
    """Return the buttons for a resync, and for faults of the API server."""
    return [
        Action(
            "resync",
            CHANGE,
            "Resync",
            "Each informer calls its handlers again for every object in its cache, as it does when "
            "the resync period ends. It asks nothing of the API server.",
            _resync,
        ),
        Action(
            "cut-watch",
            BREAK,
            "Cut the watches",
            "The connections break. Each reflector opens a new watch at the last version that it "
            "has seen, so nothing is lost.",
            _cut,
        ),
        Action(
            "freeze-watch",
            BREAK,
            "Freeze the watches",
            "The connections stay open and silent. The cache becomes stale and nothing shows it. "
            "Heal ends it.",
            _freeze,
        ),
        Action(
            "expire",
            BREAK,
            "Expire history",
            "The server forgets old versions and the watches break. A reflector that comes back "
            "with an old version gets 410 Gone and lists again.",
            _expire,
        ),
        _failing(409, "Conflict", _ITS_UPDATES, "update"),
        _failing(429, "Too Many Requests", _ITS_REQUESTS, "request"),
        _failing(500, "Internal Server Error", _ITS_WRITES, "write"),
        Action(
            "restart",
            BREAK,
            "Restart server",
            "All connections break; the objects stay. Reflectors retry with a back-off until the "
            "server is there again.",
            _restart,
        ),
        Action(
            "heal",
            BREAK,
            "Heal",
            "Ends every fault that is still active.",
            _heal,
        ),
    ]


def _resync(cluster: StudyCluster, _: str) -> Plan:
    def do() -> None:
        for informer in cluster.informers():
            informer.resync()

    return Plan("you ask for a resync", do)


def _cut(cluster: StudyCluster, _: str) -> Plan:
    return Plan("you cut the watches", lambda: cluster.server.inject(_CUT))


def _freeze(cluster: StudyCluster, _: str) -> Plan:
    return Plan(
        "you freeze the watches until you heal them",
        lambda: cluster.server.inject(_FREEZE),
        fault="freeze",
        shown="watches frozen",
    )


def _expire(cluster: StudyCluster, _: str) -> Plan:
    def do() -> None:
        # A write of something else, so that the last version that a reflector has seen is an old
        # one.
        _touch(cluster.client.resource(Namespace), _NAMESPACE)
        cluster.server.inject(ExpireHistory())
        cluster.server.inject(_CUT)

    return Plan("you let the API server forget its history, and cut the watches", do)


def _restart(cluster: StudyCluster, _: str) -> Plan:
    return Plan("you restart the API server", cluster.server.restart)


def _heal(cluster: StudyCluster, _: str) -> Plan:
    return Plan("you end all faults", cluster.server.lift, heals=True)


def _failing(status: int, reason: str, requests: Requests, what: str) -> Action:
    fault = FailRequests(status=status, requests=requests, retry_after=1 if status == 429 else None)
    help_text = {
        409: "The object has changed since it was read: the sync fails and the key is retried. "
        "Its second try reads the newer object from the cache.",
        429: "The server asks the controller to wait a second. The client does so and repeats the "
        "request; the sync only takes longer.",
        500: "The write is refused. The sync fails and its key is retried with a back-off.",
    }[status]

    def plan(cluster: StudyCluster, _: str) -> Plan:
        return Plan(
            f"you let the API server answer the next {what} {status} {reason}",
            lambda: cluster.server.inject(fault),
            fault=str(status),
            shown=f"{status} next {what}",
            strikes=fault,
        )

    return Action(f"answer-{status}", BREAK, f"Answer {status}", help_text, plan)
