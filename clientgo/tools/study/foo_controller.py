"""The controller that the study page shows unless it is given another.

It keeps one Deployment for each Foo, like the sample controller, in as few lines as possible: read
it beside the page. A handler only puts the key of a Foo into the queue; ``sync`` reads the cache
and changes what differs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Annotated, Final

from msgspec import Meta

from clientgo.api.apps_v1 import Deployment, DeploymentSpec
from clientgo.api.core_v1 import Container, PodSpec, PodTemplateSpec
from clientgo.api.meta_v1 import LabelSelector
from clientgo.cache import DeletedFinalStateUnknown
from clientgo.client import Client
from clientgo.informers import SharedInformerFactory
from clientgo.meta import (
    Model,
    NotFoundError,
    ObjectMeta,
    ObjectName,
    Resource,
    deep_copy,
    resource,
)
from clientgo.meta.markers import CustomResource
from clientgo.meta.owner_references import get_controller_of, new_controller_ref
from clientgo.record import EventBroadcaster, EventRecorder, EventSink
from clientgo.rest import RestConfig
from clientgo.util.process import SupervisedThread
from clientgo.workqueue import ItemExponentialFailureRateLimiter, RateLimitingQueue, run_workers

WORKERS: Final = 2

_RESYNC: Final = 0.0
"""No resync: the page shows what events alone do."""


class FooSpec(Model):
    """A Deployment of this name with so many replicas."""

    deployment_name: str
    replicas: Annotated[int, Meta(ge=1, le=10)] = 1


class FooStatus(Model):
    """What the controller has seen."""

    available_replicas: int = 0


@CustomResource()
@resource(group="study.example.com", version="v1", plural="foos")
class Foo(Resource):
    """A request for a Deployment."""

    spec: FooSpec
    status: FooStatus = FooStatus()


class FooController:
    """Reconciles Foos. Register it before the factory starts."""

    def __init__(
        self, client: Client, factory: SharedInformerFactory, recorder: EventRecorder
    ) -> None:
        self._client = client
        self._recorder = recorder
        self._foos = factory.lister_for(Foo)
        self._deployments = factory.lister_for(Deployment)
        # A Foo that fails is retried after 0.1 s, then 0.2, 0.4 and so on: slow enough to watch.
        self.queue: RateLimitingQueue[ObjectName] = RateLimitingQueue(
            ItemExponentialFailureRateLimiter(0.1, 60.0), name="foos"
        )
        factory.informer_for(Foo).add_event_handler(
            on_add=self.enqueue,
            on_update=lambda _, new: self.enqueue(new),
            on_delete=self.enqueue,
        )
        factory.informer_for(Deployment).add_event_handler(
            on_add=self.enqueue_owner,
            on_update=lambda _, new: self.enqueue_owner(new),
            on_delete=self.enqueue_owner,
        )

    def enqueue(self, changed: Foo | DeletedFinalStateUnknown) -> None:
        """Put the key of a Foo into the queue."""
        foo = changed.obj if isinstance(changed, DeletedFinalStateUnknown) else changed
        self.queue.add(ObjectName.of(foo))

    def enqueue_owner(self, changed: Deployment | DeletedFinalStateUnknown) -> None:
        """Put the key of the Foo that owns a Deployment into the queue."""
        owned = changed.obj if isinstance(changed, DeletedFinalStateUnknown) else changed
        owner = get_controller_of(owned)
        if owner is not None and owner.kind == "Foo":
            self.queue.add(ObjectName(owned.metadata.namespace, owner.name))

    def sync(self, name: ObjectName) -> None:
        """Make the Deployment what the Foo asks for, and report it in the status."""
        try:
            foo = self._foos.namespace(name.namespace).get(name.name)
        except NotFoundError:
            return  # it was deleted; the garbage collector removes its Deployment
        deployment = self._ensure_deployment(foo)
        available = (deployment.status and deployment.status.available_replicas) or 0
        if foo.status.available_replicas != available:
            changed = deep_copy(foo)  # objects in the cache are shared and read-only
            changed.status = FooStatus(available_replicas=available)
            self._client.resource(Foo).namespace(name.namespace).update_status(changed)
            self._recorder.event(foo, "Normal", "Synced", f"{available} replicas available")

    def _ensure_deployment(self, foo: Foo) -> Deployment:
        namespace, name = foo.metadata.namespace, foo.spec.deployment_name
        deployments = self._client.resource(Deployment).namespace(namespace)
        try:
            deployment = self._deployments.namespace(namespace).get(name)
        except NotFoundError:
            return deployments.create(new_deployment(foo))
        if deployment.spec.replicas != foo.spec.replicas:
            changed = deep_copy(deployment)
            changed.spec.replicas = foo.spec.replicas
            return deployments.update(changed)
        return deployment


def new_deployment(foo: Foo) -> Deployment:
    """Return the Deployment that a Foo asks for, owned by it."""
    labels = {"foo": foo.metadata.name}
    return Deployment(
        metadata=ObjectMeta(
            name=foo.spec.deployment_name,
            namespace=foo.metadata.namespace,
            owner_references=(new_controller_ref(foo),),
        ),
        spec=DeploymentSpec(
            replicas=foo.spec.replicas,
            selector=LabelSelector(match_labels=labels),
            template=PodTemplateSpec(
                metadata=ObjectMeta(labels=labels),
                spec=PodSpec(containers=[Container(name="web", image="nginx:1")]),
            ),
        ),
    )


Sync = Callable[[ObjectName], None]


@contextmanager
def foo_controller(
    config: RestConfig, wrap: Callable[[Sync], Sync] = lambda sync: sync
) -> Iterator[FooController]:
    """Run the controller until the end of the block. ``wrap`` may replace its sync function."""
    stop = threading.Event()
    with ExitStack() as stack:
        client = stack.enter_context(Client(config))
        broadcaster = stack.enter_context(EventBroadcaster())
        broadcaster.start_recording_to_sink(EventSink(client))
        factory = stack.enter_context(SharedInformerFactory(client, _RESYNC))
        controller = FooController(client, factory, broadcaster.new_recorder("foo-controller"))
        factory.start(stop)

        def work() -> None:
            if factory.wait_for_cache_sync(stop):
                run_workers(stop, controller.queue, wrap(controller.sync), workers=WORKERS)

        thread = SupervisedThread.started(
            work, name="foo-controller", then="no Foo is synced any more"
        )
        stack.callback(thread.join)
        stack.callback(stop.set)
        yield controller
