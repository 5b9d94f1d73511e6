"""A rollout that gets stuck, and is undone: on simulated workloads, no cluster needed.

``python -m examples.stuck_rollout``
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clientgo.api.apps_v1 import Deployment, DeploymentSpec, ReplicaSet
from clientgo.api.core_v1 import Container, Pod, PodSpec, PodTemplateSpec
from clientgo.api.meta_v1 import LabelSelector
from clientgo.client import Client
from clientgo.meta import ObjectMeta, to_plain
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.workloads import simulate
from clientgo.testing.observer import Observer
from examples.embedded import see

STAGES = """
rules:
- image: "web:typo"
  pull: {error: manifest unknown}
"""
LABELS = {"app": "web"}
REVISION = "deployment.kubernetes.io/revision"


def web() -> Deployment:
    pod = PodSpec(containers=[Container(name="web", image="web:1")])
    return Deployment(
        metadata=ObjectMeta(name="web"),
        spec=DeploymentSpec(
            replicas=3,
            progress_deadline_seconds=2,
            selector=LabelSelector(match_labels=LABELS),
            template=PodTemplateSpec(metadata=ObjectMeta(labels=LABELS), spec=pod),
        ),
    )


def undo(client: Client, replica_sets: list[ReplicaSet], revision: str) -> None:
    """Go back to the template of a revision, as ``kubectl rollout undo`` does."""
    (old,) = (each for each in replica_sets if each.metadata.annotations[REVISION] == revision)
    template: dict[str, Any] = to_plain(old)["spec"]["template"]
    template["metadata"]["labels"].pop("pod-template-hash")
    patch = {"spec": {"template": {"spec": {"containers": template["spec"]["containers"]}}}}
    client.resource(Deployment).namespace("default").patch("web", patch)


def main() -> None:
    with (
        EmbeddedAPIServer() as server,
        simulate(server, stages=STAGES),
        Client(str(server.kubeconfig)) as client,
        Observer(client, Deployment, ReplicaSet, Pod) as observer,
    ):
        deployments = client.resource(Deployment).namespace("default")
        lister = observer.lister(Deployment).namespace("default")
        pods = observer.lister(Pod).namespace("default")

        def progressing(reason: str) -> Callable[[], bool]:
            return lambda: any(
                condition.type == "Progressing" and condition.reason == reason
                for condition in lister.get("web").status.conditions or ()
            )

        def available() -> int:
            return lister.get("web").status.available_replicas or 0

        deployments.create(web())
        see(observer, "version 1 runs in three pods", lambda: available() == 3)

        container = {"name": "web", "image": "web:typo"}
        deployments.patch("web", {"spec": {"template": {"spec": {"containers": [container]}}}})
        see(
            observer,
            "the new pod can't pull its image: manifest unknown",
            lambda: any(
                each.state.waiting and "manifest unknown" in (each.state.waiting.message or "")
                for pod in pods.list()
                for each in pod.status.container_statuses or ()
            ),
        )
        see(
            observer,
            "the rollout is stuck: ProgressDeadlineExceeded",
            progressing("ProgressDeadlineExceeded"),
        )
        print(f"the old pods still serve: {available()} available")

        undo(client, observer.lister(ReplicaSet).namespace("default").list(), "1")
        see(
            observer,
            "undone: version 1 runs in three pods, and nothing else does",
            lambda: (
                progressing("NewReplicaSetAvailable")()
                and [pod.spec.containers[0].image for pod in pods.list()] == ["web:1"] * 3
            ),
        )


if __name__ == "__main__":
    main()
