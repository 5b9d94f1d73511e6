"""A simulation of the controllers and kubelets that the embedded server does not have.

Promises that a Deployment soon reports as many available replicas as its spec asks for. Does not
create ReplicaSets or Pods and runs no container. It is a small controller itself.
"""

from __future__ import annotations

import logging
import threading
from typing import Any

from clientgo.api.apps_v1 import Deployment, DeploymentCondition, DeploymentStatus
from clientgo.cache import wait_for_cache_sync
from clientgo.client import Client
from clientgo.informers import SharedInformerFactory
from clientgo.meta import ConflictError, NotFoundError, ObjectName, deep_copy
from clientgo.process import SupervisedThread
from clientgo.workqueue import RateLimitingQueue, default_controller_rate_limiter

log = logging.getLogger(__name__)


class WorkloadSimulator:
    """Brings Deployments to their desired replicas; one thread."""

    def __init__(self, client: Client, namespace: str = "") -> None:
        self._client = client.resource(Deployment)
        self._factory = SharedInformerFactory(client, namespace=namespace)
        self._informer = self._factory.informer_for(Deployment)
        self._deployments = self._factory.lister_for(Deployment)
        self._queue: RateLimitingQueue[ObjectName] = RateLimitingQueue(
            default_controller_rate_limiter()
        )
        self._informer.add_event_handler(
            on_add=self._enqueue, on_update=lambda _, new: self._enqueue(new)
        )

    def _enqueue(self, deployment: Any) -> None:
        self._queue.add(ObjectName.of(deployment))

    def run(self, stop: threading.Event) -> None:
        """Simulate until ``stop`` is set; returns when every thread has ended."""
        self._factory.start(stop)
        if wait_for_cache_sync(stop, self._informer):
            worker = SupervisedThread(
                self._work, name="workloads-worker", then="no Deployment gets replicas any more"
            )
            worker.start()
            stop.wait()
            self._queue.shut_down()
            worker.join()
        self._factory.shutdown()

    def _work(self) -> None:
        while True:
            name, shutting_down = self._queue.get()
            if shutting_down:
                return
            try:
                self._bring_up(name)
            except Exception as error:  # noqa: BLE001 - one Deployment must not stop the others
                if not isinstance(error, ConflictError):
                    log.warning("Deployment %s: %s; trying again later", name, error)
                self._queue.add_rate_limited(name)
            else:
                self._queue.forget(name)
            finally:
                self._queue.done(name)

    def _bring_up(self, name: ObjectName) -> None:
        deployments = self._client.namespace(name.namespace)
        try:
            deployment = self._deployments.namespace(name.namespace).get(name.name)
            if _is_up(deployment):
                return
            changed = deep_copy(deployment)
            changed.status = _status_of_all_up(deployment)
            deployments.update_status(changed)
        except NotFoundError:
            return


def _wanted(deployment: Deployment) -> int:
    replicas = deployment.spec.replicas if deployment.spec else None
    return 1 if replicas is None else replicas


def _is_up(deployment: Deployment) -> bool:
    status = deployment.status
    return (
        status is not None
        and (status.available_replicas or 0) == _wanted(deployment)
        and status.observed_generation == deployment.metadata.generation
    )


def _status_of_all_up(deployment: Deployment) -> DeploymentStatus:
    replicas = _wanted(deployment)
    return DeploymentStatus(
        observed_generation=deployment.metadata.generation,
        replicas=replicas,
        updated_replicas=replicas,
        ready_replicas=replicas,
        available_replicas=replicas,
        conditions=[
            DeploymentCondition(type="Available", status="True", reason="MinimumReplicasAvailable"),
            DeploymentCondition(type="Progressing", status="True", reason="NewReplicaSetAvailable"),
        ],
    )
