"""Deployments that are available as soon as they are wanted, for tests that need no pods."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from clientgo.api.apps_v1 import Deployment, DeploymentStatus
from clientgo.client import Client
from clientgo.operator import Context, Manager, Result, controller


@controller(Deployment, name="available")
class _Available:
    def reconcile(self, ctx: Context[Deployment], deployment: Deployment) -> Result:
        replicas = deployment.spec.replicas
        deployment.status = DeploymentStatus(
            observed_generation=deployment.metadata.generation,
            replicas=replicas,
            updated_replicas=replicas,
            ready_replicas=replicas,
            available_replicas=replicas,
        )
        return Result.status(deployment)


@contextmanager
def deployments_available(client: Client) -> Iterator[None]:
    """Report every Deployment of a cluster as available, until the end of the block."""
    manager = Manager(client, name="available", metrics="0", close_client_on_stop=False)
    manager.register(_Available())
    with manager:
        yield
