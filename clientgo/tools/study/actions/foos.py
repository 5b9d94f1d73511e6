"""The buttons for the Foos of the sample controller."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, Final

from clientgo.meta import Unstructured
from clientgo.testcluster.server.faults import FailRequests, Requests
from clientgo.tools.study.actions.action import (
    AGENT,
    BREAK,
    CHANGE,
    Action,
    NotPossibleError,
    Plan,
    StudyCluster,
)
from clientgo.tools.study.actions.changes import (
    FOO,
    deployments_of,
    edits_of,
    foos_of,
    name_of,
    patch_replicas,
)
from clientgo.tools.study.actions.faults import common_actions

_FAILING_SYNCS: Final = 8
"""The sample's first delay is 5 ms, so the eighth is 640 ms."""
_MOST_REPLICAS: Final = 5


class FooActions:
    """Changes of the sample's Foos and of their Deployments."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def new_foo(self) -> dict[str, Any]:
        """Return the manifest of a Foo that does not exist yet."""
        number = next(self._numbers)
        return {
            **FOO,
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
        foos = foos_of(cluster.client)
        taken = {foo.metadata.name for foo in foos.list().items}
        manifest = next(new for new in iter(self.new_foo, None) if name_of(new) not in taken)
        return Plan(f"you create Foo {name_of(manifest)}", lambda: foos.create(manifest))

    def scale(self, cluster: StudyCluster, key: str) -> Plan:
        foo, foos = _chosen(cluster, key), foos_of(cluster.client)
        return Plan(
            f"you scale Foo {foo.name} to {foo.next_replicas} replicas",
            lambda: patch_replicas(foos, foo.name, foo.next_replicas),
        )

    def delete(self, cluster: StudyCluster, key: str) -> Plan:
        foo, foos = _chosen(cluster, key, last=True), foos_of(cluster.client)
        return Plan(f"you delete Foo {foo.name}", lambda: foos.delete(foo.name))

    def edit_deployment(self, cluster: StudyCluster, key: str) -> Plan:
        foo, deployments = _chosen(cluster, key), deployments_of(cluster.client)
        replicas = foo.replicas + 2
        return Plan(
            f"another user sets Deployment {foo.deployment} to {replicas} replicas",
            lambda: patch_replicas(deployments, foo.deployment, replicas),
        )

    def delete_deployment(self, cluster: StudyCluster, key: str) -> Plan:
        foo, deployments = _chosen(cluster, key), deployments_of(cluster.client)
        return Plan(
            f"another user deletes Deployment {foo.deployment}",
            lambda: deployments.delete(foo.deployment),
        )

    def ten_edits(self, cluster: StudyCluster, key: str) -> Plan:
        name = _chosen(cluster, key).name
        return edits_of(cluster, {**FOO, "metadata": {"name": name}})

    def fail_syncs(self, cluster: StudyCluster, key: str) -> Plan:
        foo, foos = _chosen(cluster, key), foos_of(cluster.client)
        refused = FailRequests(
            requests=Requests(
                verbs=("update",), resource="deployments", name=foo.deployment, user_agent=AGENT
            ),
            times=_FAILING_SYNCS,
        )

        def do() -> None:
            cluster.server.inject(refused)
            patch_replicas(foos, foo.name, foo.next_replicas)

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


def _chosen(cluster: StudyCluster, key: str, *, last: bool = False) -> _ChosenFoo:
    """Return the Foo of the key that the user has chosen, or the first or last one.

    The key may be that of its Deployment.
    """
    listed: list[Unstructured] = sorted(
        foos_of(cluster.client).list().items,
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
