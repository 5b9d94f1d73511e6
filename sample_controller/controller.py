"""The Foo controller: keep one Deployment for each Foo, with the replicas that the Foo asks for.

The loop::

    Foo or Deployment changes ──► handler ──► queue.add("namespace/name" of the Foo)
                                                  │
         status, event ◄── sync handler ◄── worker threads take a key

A handler never acts, it only enqueues the key of a Foo. A worker never sees an event: it reads the
current state and changes it to the desired state. So a lost, duplicate or late event does no harm,
and the same code serves the first start, a change and a repair.

Follows Kubernetes' sample-controller (``controller.go``), with four differences: the owner's group
and uid are compared as well as its kind; a status that would not change is not written, so that the
controller does not trigger itself; a Foo that the API server refuses is not retried; ``run``
returns when its workers have ended.
"""

from __future__ import annotations

import logging
import threading

from clientgo.api.apps_v1 import Deployment, DeploymentSpec
from clientgo.api.core_v1 import Container, PodSpec, PodTemplateSpec
from clientgo.api.meta_v1 import LabelSelector
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
    OwnerReference,
    deep_copy,
    resource_of,
)
from clientgo.meta.owner_references import get_controller_of, is_controlled_by, new_controller_ref
from clientgo.observe.logs import log_context
from clientgo.record import EventRecorder
from clientgo.sharding import Ownership
from clientgo.util.process import SupervisedThread
from clientgo.workqueue import (
    BucketRateLimiter,
    ItemExponentialFailureRateLimiter,
    MaxOfRateLimiter,
    RateLimitingQueue,
)
from sample_controller.generated import Clientset, Informers
from sample_controller.types import Foo, FooStatus

NAME = "sample-controller"
"""The source of the controller's events, and the manager of the fields that it writes."""

log = logging.getLogger(__name__)


class ResourceExistsError(Exception):
    """A Foo names a Deployment that exists already and has another owner."""


class WorkersDiedError(Exception):
    """A worker thread has ended although the controller runs."""


class Controller:
    """Reconciles Foos.

    Create it before the factory's informers are started: this registers the handlers. ``informers``
    are those whose caches it reads. ``ownership`` says which Foos are this process's own, if it
    shares them with others.
    """

    def __init__(
        self,
        client: Client,
        factory: SharedInformerFactory,
        recorder: EventRecorder,
        ownership: Ownership[ObjectName] | None = None,
    ) -> None:
        # The clients of Foos are generated. Deployments come with the library.
        self._foo_client = Clientset(client).samplecontroller_v1alpha1
        self._deployment_client = client.resource(Deployment)
        foos, self._foos = Informers(factory).samplecontroller.v1alpha1.foos
        deployments = factory.informer_for(Deployment)
        self._deployments = factory.lister_for(Deployment)
        self.informers = (foos, deployments)
        self._recorder = recorder
        # A Foo that fails is retried after 5 ms, then 10, 20 ... up to 1000 s; all Foos together
        # at most 50 times per second.
        self._queue: RateLimitingQueue[ObjectName] = RateLimitingQueue(
            MaxOfRateLimiter(
                ItemExponentialFailureRateLimiter(0.005, 1000.0),
                BucketRateLimiter(qps=50.0, burst=300),
            ),
            name="foos",  # the name in metrics
        )
        self._workers: tuple[threading.Thread, ...] = ()
        self._ownership = ownership or Ownership.alone()
        self._process_if_ours = self._ownership.guarded(self._process)

        foos.add_event_handler(on_add=self._enqueue, on_update=lambda _, new: self._enqueue(new))
        deployments.add_event_handler(
            on_add=self._enqueue_owner,
            on_update=self._enqueue_owner_of_changed,
            on_delete=self._enqueue_owner_of_deleted,
        )

    # -- from events to keys ----------------------------------------------------------------------

    def _enqueue(self, foo: Foo) -> None:
        name = ObjectName.of(foo)
        if self._ownership.owns(name):
            log.debug("enqueued", extra={"key": str(name)})
            self._queue.add(name)

    def enqueue_shards(self, shards: frozenset[int]) -> None:
        """Queue the Foos of shards that this process owns from now on."""
        for foo in self._foos.list():
            if self._ownership.shard_of(ObjectName.of(foo)) in shards:
                self._enqueue(foo)

    def _enqueue_owner_of_changed(self, old: Deployment, new: Deployment) -> None:
        # A resync delivers every object again; an equal version means that nothing has changed.
        if old.metadata.resource_version != new.metadata.resource_version:
            self._enqueue_owner(new)

    def _enqueue_owner_of_deleted(self, deleted: Deployment | DeletedFinalStateUnknown) -> None:
        deployment = deleted
        if isinstance(deployment, DeletedFinalStateUnknown):
            # The deletion was missed while the watch was down: this is the last known state.
            deployment = deployment.obj
        # The Deployment of an earlier Foo was in the way of a new one of the same name.
        self._enqueue_owner(deployment, any_uid=True)

    def _enqueue_owner(self, deployment: Deployment, *, any_uid: bool = False) -> None:
        owner = get_controller_of(deployment)
        if owner is None or not _is_foo(owner):
            return
        name = ObjectName(deployment.metadata.namespace, owner.name)
        try:
            foo = self._foos.namespace(name.namespace).get(name.name)
        except NotFoundError:
            log.debug(
                "ignoring a Deployment, its Foo is gone",
                extra={"deployment": str(ObjectName.of(deployment)), "key": str(name)},
            )
            return
        if any_uid or foo.metadata.uid == owner.uid:
            self._enqueue(foo)

    # -- from keys to work ------------------------------------------------------------------------

    def run(self, stop: threading.Event, workers: int = 2) -> None:
        """Process keys until ``stop`` is set; return when the keys being processed are done.

        Starts when the caches have had their first list. Runs once.
        """
        log.info("starting the Foo controller, waiting for its caches")
        if not wait_for_cache_sync(stop, *self.informers):
            return
        self._workers = tuple(
            SupervisedThread(
                self._work,
                args=(stop,),
                name=f"foo-worker-{number}",
                then="check_workers fails from now on, so that this process is restarted",
            )
            for number in range(1, workers + 1)
        )
        for thread in self._workers:
            thread.start()
        log.info("started %d worker%s", workers, "" if workers == 1 else "s")
        stop.wait()
        log.info("shutting down, finishing the keys that are being processed")
        self._queue.shut_down()
        for thread in self._workers:
            thread.join()

    def check_workers(self) -> None:
        """Raise :class:`WorkersDiedError` if a worker has ended although it should work.

        For a liveness probe. An exception of ``sync`` does not end a worker; a bug in the loop can.
        """
        if self._queue.statistics().shutting_down:
            return
        started = [thread for thread in self._workers if thread.ident is not None]
        dead = [thread.name for thread in started if not thread.is_alive()]
        if dead:
            raise WorkersDiedError(f"{', '.join(dead)} ended; restart this process")

    def _work(self, stop: threading.Event) -> None:
        # After a stop the waiting keys are left to the next leader.
        while not stop.is_set() and self._process_next_item():
            pass

    def _process_next_item(self) -> bool:
        name, shutting_down = self._queue.get()
        if shutting_down:
            return False
        try:
            self._process_if_ours(name)
        finally:
            self._queue.done(name)
        return True

    def _process(self, name: ObjectName) -> None:
        # Every line that is logged in this block has the Foo's key.
        with log_context(controller=NAME, key=str(name)):
            log.debug("taken from the queue")
            try:
                with self._queue.syncing(name):  # for clientgo.observe.trace
                    self.sync(name)
            except (AlreadyExistsError, ConflictError) as error:
                # The cache was behind the server; it will have caught up when the key is retried.
                log.info("%s; trying again", error.message)
                self._queue.add_rate_limited(name)
            except Exception as error:  # noqa: BLE001 - every failure is retried
                self._log_failure(error, first=not self._queue.num_requeues(name))
                self._queue.add_rate_limited(name)
            else:
                self._queue.forget(name)
                log.info("synced")
            finally:
                log.debug("done")

    def _log_failure(self, error: Exception, *, first: bool) -> None:
        """Warn of a Foo's first failure, with its traceback; later ones are for DEBUG."""
        log.log(
            logging.WARNING if first else logging.DEBUG,
            "%s: %s; trying again until it works",
            type(error).__name__,
            error,
            exc_info=first,
        )

    # -- the work ---------------------------------------------------------------------------------

    def sync(self, name: ObjectName) -> None:
        """Make the Deployment and status of one Foo what its spec asks for.

        If it raises, the Foo is retried.
        """
        try:
            foo = self._foos.namespace(name.namespace).get(name.name)
        except NotFoundError:
            log.info("the Foo is gone; its Deployment is garbage-collected")
            return
        try:
            deployment_name = foo.spec.deployment_name
        except ObjectDecodeError as error:
            self._refuse(foo, str(error))
            return
        if not deployment_name:
            # A retry would not help: an edit of the Foo enqueues it again.
            self._refuse(foo, "spec.deploymentName must be set")
            return
        try:
            deployment = self._ensure_deployment(foo)
        except InvalidError as error:
            self._refuse(foo, f"the API server refuses its Deployment: {error}")
            return
        self._update_status(foo, deployment)
        self._recorder.event(foo, "Normal", "Synced", "Foo synced successfully")

    def _ensure_deployment(self, foo: Foo) -> Deployment:
        namespace = foo.metadata.namespace
        client = self._deployment_client.namespace(namespace)
        try:
            deployment = self._deployments.namespace(namespace).get(foo.spec.deployment_name)
        except NotFoundError:
            log.info("creating the Deployment", extra={"deployment": foo.spec.deployment_name})
            return client.create(new_deployment(foo), field_manager=NAME)

        if not is_controlled_by(deployment, foo):
            message = (
                f'Resource "{foo.spec.deployment_name}" already exists and is not managed by Foo'
            )
            self._recorder.event(foo, "Warning", "ErrResourceExists", message)
            raise ResourceExistsError(message)

        if foo.spec.replicas is not None and foo.spec.replicas != deployment.spec.replicas:
            log.info(
                "scaling the Deployment",
                extra={"replicas": deployment.spec.replicas, "wanted": foo.spec.replicas},
            )
            # Without a resource version the update is unconditional.
            return client.update(new_deployment(foo), field_manager=NAME)
        return deployment

    def _update_status(self, foo: Foo, deployment: Deployment) -> None:
        available = (deployment.status.available_replicas or 0) if deployment.status else 0
        if foo.status.available_replicas == available:
            return
        changed = deep_copy(foo)  # objects in the cache are shared and read-only
        changed.status = FooStatus(available_replicas=available)
        self._foo_client.foos(foo.metadata.namespace).update_status(changed, field_manager=NAME)

    def _refuse(self, foo: Foo, message: str) -> None:
        log.error("the Foo is invalid: %s; correct it", message)
        self._recorder.event(foo, "Warning", "ErrInvalidFoo", message)


def new_deployment(foo: Foo) -> Deployment:
    """The Deployment that a Foo asks for, owned by it so that it is deleted with it."""
    labels = {"app": "nginx", "controller": foo.metadata.name}
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
                spec=PodSpec(containers=[Container(name="nginx", image="nginx:latest")]),
            ),
        ),
    )


def _is_foo(owner: OwnerReference) -> bool:
    declared = resource_of(Foo)
    group = owner.api_version.rpartition("/")[0]
    return owner.kind == declared.kind and group == declared.group
