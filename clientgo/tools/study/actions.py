"""What the buttons of the page do.

Each action is a small change of the cluster, or a fault of the server that strikes the studied
controller only. It returns what the page tells the user.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from clientgo.api.apps_v1 import Deployment
from clientgo.api.core_v1 import Namespace
from clientgo.client import Client, ResourceClient
from clientgo.meta import StatusError, Unstructured
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.server.faults import (
    WRITES,
    CloseWatches,
    ExpireHistory,
    FailRequests,
    Fault,
    FreezeWatches,
    Requests,
)
from clientgo.util.copies import CopyableError

AGENT: Final = "studied-controller"
"""The user agent of the studied controller, by which faults find it."""

CHANGE: Final = "Change objects"
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
class Done:
    """What an action has done.

    ``fault`` is active now, and ``shown`` on the page. One that ``strikes`` once has struck
    ``before`` times already. ``lifted`` are not active any more.
    """

    message: str
    fault: str = ""
    shown: str = ""
    strikes: Fault | None = None
    before: int = 0
    lifted: tuple[str, ...] = ()


class StudyCluster(Protocol):
    """What actions work on."""

    @property
    def server(self) -> EmbeddedAPIServer: ...

    @property
    def client(self) -> Client: ...


@dataclass(frozen=True)
class Action:
    """A button. ``do`` takes the cluster and the key that the user has chosen, or ""."""

    name: str
    group: str
    label: str
    help: str
    do: Callable[[StudyCluster, str], Done]


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
        name = f"foo-{next(self._numbers)}"
        return {
            **_FOO,
            "metadata": {"name": name},
            "spec": {"deploymentName": name, "replicas": 1},
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
                "Ten updates of one Foo as fast as possible. Count the syncs: the queue has a key "
                "only once.",
                self.ten_edits,
            ),
            Action(
                "fail-syncs",
                BREAK,
                "Let syncs fail",
                f"Scales the Foo, and the server refuses the next {_FAILING_SYNCS} updates of "
                "Deployments. Watch the back-off double, and other keys go on.",
                self.fail_syncs,
            ),
            *fault_actions(),
        ]

    def create(self, cluster: StudyCluster, _: str) -> Done:
        foos = _foos(cluster)
        while True:
            manifest = self.new_foo()
            try:
                foos.create(manifest)
            except StatusError as error:
                if error.code != 409:
                    raise
            else:
                return Done(f"Foo {manifest['metadata']['name']} is created")

    def scale(self, cluster: StudyCluster, key: str) -> Done:
        foo = _chosen(cluster, key)
        replicas = foo.replicas % _MOST_REPLICAS + 1
        _patch_replicas(_foos(cluster), foo.name, replicas)
        return Done(f"Foo {foo.name} asks for {replicas} replicas now")

    def delete(self, cluster: StudyCluster, key: str) -> Done:
        foo = _chosen(cluster, key, last=True)
        _foos(cluster).delete(foo.name)
        return Done(f"Foo {foo.name} is deleted")

    def edit_deployment(self, cluster: StudyCluster, key: str) -> Done:
        foo = _chosen(cluster, key)
        replicas = foo.replicas + 2
        _patch_replicas(_deployments(cluster), foo.deployment, replicas)
        return Done(f"Deployment {foo.deployment} was changed to {replicas} replicas")

    def delete_deployment(self, cluster: StudyCluster, key: str) -> Done:
        name = _chosen(cluster, key).deployment
        _deployments(cluster).delete(name)
        return Done(f"Deployment {name} is deleted")

    def ten_edits(self, cluster: StudyCluster, key: str) -> Done:
        foo = _chosen(cluster, key)
        for number in range(_EDITS):
            replicas = (foo.replicas + number) % _MOST_REPLICAS + 1
            _patch_replicas(_foos(cluster), foo.name, replicas)
        return Done(f"Foo {foo.name} was edited {_EDITS} times: how many syncs follow?")

    def fail_syncs(self, cluster: StudyCluster, key: str) -> Done:
        foo = _chosen(cluster, key)
        cluster.server.lift(_REFUSED_UPDATES)
        cluster.server.inject(_REFUSED_UPDATES)
        self.scale(cluster, f"{_NAMESPACE}/{foo.name}")
        return Done(f"Foo {foo.name} was scaled; the next {_FAILING_SYNCS} syncs of it fail")


@dataclass(frozen=True)
class _ChosenFoo:
    """What an action needs of a Foo."""

    name: str
    deployment: str
    replicas: int


def _foos(cluster: StudyCluster) -> ResourceClient[Any]:
    return objects_of(cluster.client, {**_FOO, "metadata": {}})


def _deployments(cluster: StudyCluster) -> ResourceClient[Deployment]:
    return cluster.client.resource(Deployment).namespace(_NAMESPACE)


def _chosen(cluster: StudyCluster, key: str, *, last: bool = False) -> _ChosenFoo:
    """Return the Foo that the user has chosen, or the first or last one."""
    foos: list[Unstructured] = sorted(
        _foos(cluster).list().items,
        key=lambda foo: (foo.metadata.creation_timestamp or "", foo.metadata.name),
    )
    name = key.rpartition("/")[2]
    chosen = [foo for foo in foos if foo.metadata.name == name] or foos[:: -1 if last else 1]
    if not chosen:
        raise NotPossibleError("there is no Foo; create one first")
    spec = chosen[0].to_dict().get("spec", {})
    return _ChosenFoo(
        name=chosen[0].metadata.name,
        deployment=spec.get("deploymentName", ""),
        replicas=spec.get("replicas", 1),
    )


def _patch_replicas(objects: ResourceClient[Any], name: str, replicas: int) -> None:
    objects.patch(name, {"spec": {"replicas": replicas}})


_edits = itertools.count(1)


def _touch(objects: ResourceClient[Any], name: str) -> None:
    annotations = {"study.example.com/edit": str(next(_edits))}
    objects.patch(name, {"metadata": {"annotations": annotations}})


# The objects of another controller


class ObjectActions:
    """Changes of the first of the user's objects, whatever its kind."""

    def __init__(self, manifests: Sequence[Mapping[str, Any]]) -> None:
        self._manifest = manifests[0]
        self._name = str(self._manifest["metadata"]["name"])
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
                f"Ten updates of {what} as fast as possible. Count the syncs.",
                self.ten_edits,
            ),
            Action("delete", CHANGE, "Delete it", f"Deletes {what}.", self.delete),
            *fault_actions(),
        ]

    def create(self, cluster: StudyCluster, _: str) -> Done:
        self._objects(cluster).create(self._manifest)
        return Done(f"{self._shown} is created")

    def edit(self, cluster: StudyCluster, _: str) -> Done:
        _touch(self._objects(cluster), self._name)
        return Done(f"{self._shown} was edited")

    def ten_edits(self, cluster: StudyCluster, _: str) -> Done:
        objects = self._objects(cluster)
        for _number in range(_EDITS):
            _touch(objects, self._name)
        return Done(f"{self._shown} was edited {_EDITS} times: how many syncs follow?")

    def delete(self, cluster: StudyCluster, _: str) -> Done:
        self._objects(cluster).delete(self._name)
        return Done(f"{self._shown} is deleted")

    def _objects(self, cluster: StudyCluster) -> ResourceClient[Any]:
        return objects_of(cluster.client, self._manifest)


def objects_of(client: Client, manifest: Mapping[str, Any]) -> ResourceClient[Any]:
    """Return the client of a manifest's kind, in its namespace."""
    group, _, version = str(manifest["apiVersion"]).rpartition("/")
    kind = client.mapper.for_kind(group, manifest["kind"], version)
    objects = client.resource(kind)
    namespace = manifest["metadata"].get("namespace", _NAMESPACE)
    return objects.namespace(namespace) if kind.namespaced else objects


# Faults

_EVERYTHING: Final = Requests(user_agent=AGENT)
# An event that is refused is lost, and no sync fails.
_ITS_REQUESTS: Final = Requests(user_agent=AGENT, other_than="events")
_ITS_WRITES: Final = Requests(verbs=WRITES, user_agent=AGENT, other_than="events")
_ITS_UPDATES: Final = Requests(verbs=("update", "patch"), user_agent=AGENT, other_than="events")
_REFUSED_UPDATES: Final = FailRequests(
    requests=Requests(verbs=("update",), resource="deployments", user_agent=AGENT),
    status=500,
    times=_FAILING_SYNCS,
)
_CUT: Final = CloseWatches(requests=_EVERYTHING, abruptly=True)
_FREEZE: Final = FreezeWatches(requests=_EVERYTHING)


def fault_actions() -> list[Action]:
    """Return the buttons for faults of the API server."""
    return [
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
            "Restart the server",
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


def _cut(cluster: StudyCluster, _: str) -> Done:
    cluster.server.inject(_CUT)
    return Done("the watches were cut")


def _freeze(cluster: StudyCluster, _: str) -> Done:
    cluster.server.inject(_FREEZE)
    return Done("the watches are frozen until you heal", fault="freeze", shown="watches frozen")


def _expire(cluster: StudyCluster, _: str) -> Done:
    # A write of something else, so that the last version that a reflector has seen is an old one.
    _touch(cluster.client.resource(Namespace), _NAMESPACE)
    cluster.server.inject(ExpireHistory())
    cluster.server.inject(_CUT)
    return Done("the history is gone, and the watches were cut")


def _restart(cluster: StudyCluster, _: str) -> Done:
    cluster.server.restart()
    return Done("the API server was restarted")


def _heal(cluster: StudyCluster, _: str) -> Done:
    cluster.server.lift()
    return Done("no fault is active", lifted=("freeze", "409", "429", "500"))


def _failing(status: int, reason: str, requests: Requests, what: str) -> Action:
    fault: Fault = FailRequests(
        status=status, requests=requests, retry_after=1 if status == 429 else None
    )
    help_text = {
        409: "The object has changed since it was read: the sync fails and the key is retried. "
        "Its second try reads the newer object from the cache.",
        429: "The server asks the controller to wait a second. The client does so and repeats the "
        "request; the sync only takes longer.",
        500: "The write is refused. The sync fails and its key is retried with a back-off.",
    }[status]

    def inject(cluster: StudyCluster, _: str) -> Done:
        cluster.server.lift(fault)
        before = cluster.server.struck(fault)
        cluster.server.inject(fault)
        message = f"the controller's next {what} is answered {status} {reason}"
        return Done(message, str(status), f"{status} next {what}", strikes=fault, before=before)

    return Action(f"answer-{status}", BREAK, f"Answer {status}", help_text, inject)
