"""Foo, the custom resource that the sample controller reconciles.

From these classes ``hack/update-codegen`` generates the definitions in ``artifacts/`` and the
clients in ``generated/``.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from clientgo.meta import Model, Resource, resource
from clientgo.meta.markers import AGE, CustomResource, PrinterColumn

UNAPPROVED = (
    "unapproved, experimental-only; please get an approval from Kubernetes API reviewers if you're "
    "trying to develop a CRD in the *.k8s.io or *.kubernetes.io groups"
)
"""Groups under k8s.io are protected; a group of your own needs no such annotation."""


class FooSpec(Model):
    """What the user wants: a Deployment of this name with so many replicas."""

    deployment_name: str = ""
    replicas: Annotated[int, Meta(ge=1, le=10)] | None = None


class FooStatus(Model):
    """What the controller has seen."""

    available_replicas: int | None = None  # None until it has seen a Deployment; 0 is written


@CustomResource(
    columns=(
        PrinterColumn("Deployment", ".spec.deploymentName"),
        PrinterColumn("Replicas", ".spec.replicas"),
        PrinterColumn("Available", ".status.availableReplicas"),
        AGE,
    ),
    annotations={"api-approved.kubernetes.io": UNAPPROVED},
)
@resource(group="samplecontroller.k8s.io", version="v1alpha1", plural="foos")
class Foo(Resource):
    """A request for a Deployment by name."""

    spec: FooSpec = FooSpec()
    status: FooStatus = FooStatus()
