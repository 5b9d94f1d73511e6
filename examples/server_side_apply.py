"""Two programs share one Deployment, each the owner of the fields that it cares for.

Run it on an API server of its own::

    clientgo apiserver -- python examples/server_side_apply.py

The first one says how the Deployment looks, the second one how many replicas it has. Either may
apply again without knowing the other; taking a field from its owner has to be said.
"""

import sys

from clientgo.api.apps_v1 import Deployment, DeploymentSpec
from clientgo.api.core_v1 import Container, PodSpec, PodTemplateSpec
from clientgo.api.meta_v1 import LabelSelector
from clientgo.client import Client
from clientgo.meta import ConflictError, ObjectMeta

LABELS = {"app": "web"}


def wanted(image: str, replicas: int | None = None) -> Deployment:
    """Only what its manager wants: what is None is not sent, and belongs to others."""
    return Deployment(
        metadata=ObjectMeta(name="web", namespace="default"),
        spec=DeploymentSpec(
            replicas=replicas,
            selector=LabelSelector(match_labels=LABELS),
            template=PodTemplateSpec(
                metadata=ObjectMeta(labels=LABELS),
                spec=PodSpec(containers=[Container(name="web", image=image)]),
            ),
        ),
    )


def replicas(count: int) -> dict[str, object]:
    """A plain dict says still less than a typed object, whose class requires a template."""
    return {
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": count},
    }


def owners(deployment: Deployment) -> str:
    entries = deployment.to_dict()["metadata"]["managedFields"]
    return ", ".join(entry["manager"] for entry in entries)


with Client(sys.argv[1] if len(sys.argv) > 1 else None) as client:
    deployments = client.resource(Deployment)

    deployments.apply(wanted("nginx:1.26"), field_manager="designer")
    scaled = deployments.apply(replicas(3), field_manager="scaler")
    print(f"{scaled.spec.replicas} replicas, owned by {owners(scaled)}")

    again = deployments.apply(wanted("nginx:1.27"), field_manager="designer")
    print(f"another image, and still {again.spec.replicas} replicas")

    try:
        deployments.apply(wanted("nginx:1.27", replicas=1), field_manager="designer")
    except ConflictError as error:
        print(error.message)

    taken = deployments.apply(wanted("nginx:1.27", 1), field_manager="designer", force=True)
    print(f"{taken.spec.replicas} replica, taken from its owner")
