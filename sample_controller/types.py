"""What a Foo is: the custom resource that the sample controller reconciles.

The manifests in ``artifacts/`` declare the same to the API server.
"""

from __future__ import annotations

from clientgo.meta import Model, Resource, resource


class FooSpec(Model):
    """What the user wants: a Deployment of this name with so many replicas."""

    deployment_name: str = ""
    replicas: int | None = None


class FooStatus(Model):
    """What the controller has seen."""

    available_replicas: int = 0


@resource(group="samplecontroller.k8s.io", version="v1alpha1", plural="foos")
class Foo(Resource):
    """A Deployment that somebody asked for by name."""

    spec: FooSpec = FooSpec()
    status: FooStatus = FooStatus()
