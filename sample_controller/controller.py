"""The Foo controller: keep one Deployment for each Foo, with the replicas that the Foo asks for.

The loop::

    Foo or Deployment changes ──► handler ──► queue.add("namespace/name" of the Foo)
                                                  │
            status, event ◄── sync(name) ◄── worker threads take a key

A handler never acts, it only queues the key of a Foo. A worker never sees an event: it reads the
current state and changes it to the desired state. So a lost, duplicate or late event does no harm,
and the same code serves the first start, a change and a repair.

Follows Kubernetes' sample-controller (``controller.go``). It differs where that one wakes itself,
retries what a retry cannot help, or takes another Foo of the same name for the owner.
"""

from __future__ import annotations

import logging
import threading

from clientgo import workqueue
from clientgo.api import apps_v1, core_v1, meta_v1
from clientgo.cache import DeletedFinalStateUnknown, wait_for_cache_sync
from clientgo.client import Client
from clientgo.informers import SharedInformerFactory
from clientgo.meta import (
    AlreadyExistsError,
    ConflictError,
    InvalidError,
    NotFoundError,
    ObjectDecodeError,
    ObjectMeta,
    ObjectName,
    deep_copy,
    resource_of,
)
from clientgo.meta.owner_references import get_controller_of, is_controlled_by, new_controller_ref
from clientgo.record import EventRecorder
from sample_controller.types import Foo, FooStatus

NAME = "sample-controller"
"""The source of the controller's events, and the manager of the fields that it writes."""

log = logging.getLogger(__name__)


class ResourceExistsError(Exception):
    """A Foo names a Deployment that exists already and has another owner."""


class Controller:
    """Queues the keys of Foos, and syncs them with worker threads.

    Create it before the factory's informers are started: this registers the handlers.
    """

    def __init__(
        self, client: Client, factory: SharedInformerFactory, recorder: EventRecorder
    ) -> None:
        self._syncer = FooSyncer(client, factory, recorder)
        self._foos = factory.informer_for(Foo)
        self._deployments = factory.informer_for(apps_v1.Deployment)
        self._foo_lister = factory.lister_for(Foo)
        # A Foo that fails is retried after 5 ms, then 10, 20 ... up to 1000 s; all Foos together
        # at most 50 times per second.
        self._queue: workqueue.RateLimitingQueue[ObjectName] = workqueue.RateLimitingQueue(
            workqueue.MaxOfRateLimiter(
                workqueue.ItemExponentialFailureRateLimiter(0.005, 1000.0),
                workqueue.BucketRateLimiter(qps=50.0, burst=300),
            ),
            name="foos",
        )
        self._foos.add_event_handler(
            on_add=self.enqueue_foo,
            on_update=lambda _, new: self.enqueue_foo(new),
        )
        self._deployments.add_event_handler(
            on_add=self.handle_object,
            on_update=self.handle_update,
            on_delete=lambda gone: self.handle_object(gone, deleted=True),
        )

    def enqueue_foo(self, foo: Foo) -> None:
        """Put the key of a Foo into the queue. One that is in the queue is not added again."""
        self._queue.add(ObjectName.of(foo))

    def handle_update(self, old: apps_v1.Deployment, new: apps_v1.Deployment) -> None:
        """Handle a Deployment that has changed."""
        # A resync delivers every object again; an equal version means that nothing has changed.
        if old.metadata.resource_version != new.metadata.resource_version:
            self.handle_object(new)

    def handle_object(
        self, obj: apps_v1.Deployment | DeletedFinalStateUnknown, *, deleted: bool = False
    ) -> None:
        """Put the key of the Foo that owns a Deployment into the queue."""
        # If the deletion was missed while the watch was down, the last known state comes in a
        # tombstone.
        deployment = obj.obj if isinstance(obj, DeletedFinalStateUnknown) else obj
        name = owner_of(deployment)
        if name is None:
            return
        try:
            foo = self._foo_lister.namespace(name.namespace).get(name.name)
        except NotFoundError:
            log.debug("%s is gone; ignoring its Deployment", name)
            return
        # The owner may be an earlier Foo of the same name. Its Deployment is in the way of this
        # one until it is deleted.
        if deleted or is_controlled_by(deployment, foo):
            self.enqueue_foo(foo)

    def run(self, stop: threading.Event, workers: int = 2) -> None:
        """Sync Foos until ``stop`` is set; return when the workers have ended. Runs once."""
        log.info("waiting for the caches of Foos and Deployments")
        if not wait_for_cache_sync(stop, self._foos, self._deployments):
            return
        log.info("starting %d workers", workers)
        workqueue.run_workers(
            stop,
            self._queue,
            self._syncer.sync,
            workers=workers,
            name="foo-worker",
            expected=(AlreadyExistsError, ConflictError),  # the cache was behind the server
        )


class FooSyncer:
    """Brings one Foo after another to its desired state, whatever has happened to it."""

    def __init__(
        self, client: Client, factory: SharedInformerFactory, recorder: EventRecorder
    ) -> None:
        self._client = client
        self._foos = factory.lister_for(Foo)
        self._deployments = factory.lister_for(apps_v1.Deployment)
        self._recorder = recorder

    def sync(self, name: ObjectName) -> None:
        """Make the Deployment and the status of one Foo what its spec asks for.

        If it raises, the Foo is synced again later.
        """
        try:
            foo = self._foos.namespace(name.namespace).get(name.name)
        except NotFoundError:
            log.info("%s is gone; its Deployment is garbage-collected", name)
            return
        try:
            if not foo.spec.deployment_name:
                self._refuse(foo, "spec.deploymentName must be set")
                return
        except ObjectDecodeError as error:
            self._refuse(foo, str(error))
            return
        try:
            deployment = self._ensure_deployment(foo)
        except InvalidError as error:
            self._refuse(foo, f"the API server refuses its Deployment: {error}")
            return
        self._update_status(foo, deployment)
        self._recorder.event(foo, "Normal", "Synced", "Foo synced successfully")
        log.info("%s is synced", name)

    def _ensure_deployment(self, foo: Foo) -> apps_v1.Deployment:
        namespace, name = foo.metadata.namespace, foo.spec.deployment_name
        client = self._client.resource(apps_v1.Deployment).namespace(namespace)
        try:
            deployment = self._deployments.namespace(namespace).get(name)
        except NotFoundError:
            return client.create(new_deployment(foo), field_manager=NAME)
        if not is_controlled_by(deployment, foo):
            message = f'Resource "{name}" already exists and is not managed by Foo'
            self._recorder.event(foo, "Warning", "ErrResourceExists", message)
            raise ResourceExistsError(message)
        if foo.spec.replicas is not None and foo.spec.replicas != deployment.spec.replicas:
            # Without a resource version the update is unconditional.
            return client.update(new_deployment(foo), field_manager=NAME)
        return deployment

    def _update_status(self, foo: Foo, deployment: apps_v1.Deployment) -> None:
        available = (deployment.status.available_replicas or 0) if deployment.status else 0
        if foo.status.available_replicas == available:
            return  # a write would come back as an event, and lead to another sync
        changed = deep_copy(foo)  # objects in the cache are shared and read-only
        changed.status = FooStatus(available_replicas=available)
        foos = self._client.resource(Foo).namespace(foo.metadata.namespace)
        foos.update_status(changed, field_manager=NAME)

    def _refuse(self, foo: Foo, message: str) -> None:
        """Tell the user; a retry does not help, and an edit of the Foo queues it again."""
        log.error("%s is invalid: %s; correct it", ObjectName.of(foo), message)
        self._recorder.event(foo, "Warning", "ErrInvalidFoo", message)


def owner_of(deployment: apps_v1.Deployment) -> ObjectName | None:
    """Return the name of the Foo that controls a Deployment, or None."""
    owner = get_controller_of(deployment)
    if owner is None or owner.kind != "Foo":
        return None
    if owner.api_version.partition("/")[0] != resource_of(Foo).group:
        return None
    return ObjectName(deployment.metadata.namespace, owner.name)


def new_deployment(foo: Foo) -> apps_v1.Deployment:
    """Return the Deployment that a Foo asks for, owned by it so that it is deleted with it."""
    labels = {"app": "nginx", "controller": foo.metadata.name}
    return apps_v1.Deployment(
        metadata=ObjectMeta(
            name=foo.spec.deployment_name,
            namespace=foo.metadata.namespace,
            owner_references=(new_controller_ref(foo),),
        ),
        spec=apps_v1.DeploymentSpec(
            replicas=foo.spec.replicas,
            selector=meta_v1.LabelSelector(match_labels=labels),
            template=core_v1.PodTemplateSpec(
                metadata=ObjectMeta(labels=labels),
                spec=core_v1.PodSpec(
                    containers=[core_v1.Container(name="nginx", image="nginx:latest")]
                ),
            ),
        ),
    )
