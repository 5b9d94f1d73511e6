"""The Foo controller against a fake client: what it asks of the API, for a state of its caches.

The caches are filled by hand and no informer runs, unless a test says so; what is asserted are the
requests. ``tests/e2e`` runs the same controller against a server.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest

from clientgo.api.apps_v1 import Deployment, DeploymentStatus
from clientgo.api.core_v1 import Container
from clientgo.cache import DeletedFinalStateUnknown, SharedIndexInformer
from clientgo.informers import SharedInformerFactory
from clientgo.meta import (
    AlreadyExistsError,
    ConflictError,
    InvalidError,
    NoMetadataError,
    ObjectMeta,
    ObjectName,
    OwnerReference,
    ServiceUnavailableError,
    deep_copy,
    resource_of,
)
from clientgo.meta.codec import Codec, encode
from clientgo.meta.owner_references import new_controller_ref
from clientgo.testing import Action, FakeClient, FakeClock, FakeRecorder, Verb
from clientgo.workqueue import (
    BucketRateLimiter,
    ItemExponentialFailureRateLimiter,
    MaxOfRateLimiter,
)
from sample_controller.controller import (
    NAME,
    Controller,
    ResourceExistsError,
    new_deployment,
)
from sample_controller.types import Foo, FooSpec, FooStatus
from tests.background import Background

EXAMPLE = ObjectName("default", "example")
BY_US = {"fieldManager": NAME}


def new_foo(
    name: str = "example",
    *,
    deployment: str = "web",
    replicas: int | None = 1,
    available: int | None = 0,
) -> Foo:
    return Foo(
        metadata=ObjectMeta(name=name, namespace="default", uid=f"uid-{name}"),
        spec=FooSpec(deployment_name=deployment, replicas=replicas),
        status=FooStatus(available_replicas=available),
    )


def deployment_of(foo: Foo, *, available: int = 0, version: str = "") -> Deployment:
    deployment = new_deployment(foo)
    deployment.metadata.resource_version = version
    deployment.status = DeploymentStatus(available_replicas=available)
    return deployment


def owned_by(**owner: Any) -> Deployment:
    """A Deployment whose controller differs from the example Foo in what is given."""
    fields: dict[str, Any] = {
        "api_version": "samplecontroller.k8s.io/v1alpha1",
        "kind": "Foo",
        "name": "example",
        "uid": "uid-example",
        "controller": True,
    }
    deployment = new_deployment(new_foo())
    deployment.metadata.owner_references = (OwnerReference(**(fields | owner)),)
    return deployment


class World:
    """A controller whose caches hold some objects, and everything that it touches."""

    def __init__(self, *objects: Foo | Deployment) -> None:
        self.client = FakeClient(*objects)
        self.factory = SharedInformerFactory(self.client)
        for obj in objects:
            self.factory.informer_for(type(obj)).indexer.add(obj)
        self.recorder = FakeRecorder()
        with patch.object(
            SharedIndexInformer, "add_event_handler", autospec=True, side_effect=_add_event_handler
        ) as add:
            self.controller = Controller(self.client, self.factory, self.recorder)
        self.handlers = {call.args[0].name: call.kwargs for call in add.call_args_list}

    def sync(self) -> None:
        """Sync the example Foo once."""
        self.controller._syncer.sync(EXAMPLE)

    def writes(self) -> list[Action]:
        """What was asked of the API, without what informers ask."""
        return [a for a in self.client.actions() if a.verb not in (Verb.LIST, Verb.WATCH)]

    def enqueued(self) -> list[str]:
        """The keys in the queue, which is closed for this."""
        queue = self.controller._queue
        queue.shut_down()
        return [str(name) for name in queue.items()]

    @contextmanager
    def running(self, workers: int = 2) -> Iterator[Background[None]]:
        """Informers and workers run, until the end of the block."""
        stop = threading.Event()
        self.factory.start(stop)
        run = Background(lambda: self.controller.run(stop, workers))
        try:
            yield run
        finally:
            stop.set()
            run.result()
            self.factory.shutdown()


_add_event_handler = SharedIndexInformer.add_event_handler


def create(deployment: Deployment) -> Action:
    return _write(Verb.CREATE, deployment, namespace="default")


def update(deployment: Deployment) -> Action:
    return _write(Verb.UPDATE, deployment, namespace="default")


def update_status(foo: Foo) -> Action:
    return _write(Verb.UPDATE, foo, namespace="default", subresource="status")


def _write(verb: Verb, obj: Foo | Deployment, **fields: str) -> Action:
    return Action(
        verb,
        resource_of(type(obj)).gvr,
        name=obj.metadata.name,
        body=obj.to_dict(),
        options=BY_US,
        **fields,
    )


# Sync


def test_a_deployment_is_created_for_a_foo() -> None:
    """SAMPLE-15, SAMPLE-19, SAMPLE-21: and the status is written, which is wrong by now."""
    foo = new_foo(available=3)
    world = World(foo)
    world.sync()

    assert world.writes() == [create(new_deployment(foo)), update_status(new_foo(available=0))]
    assert world.recorder.lines() == ["Normal Synced Foo synced successfully"]


def test_the_status_is_that_of_the_deployment_that_was_created() -> None:
    """SAMPLE-18."""
    foo = new_foo()
    world = World(foo)
    world.client.prepend_reactor("create", "deployments", lambda _: deployment_of(foo, available=1))
    world.sync()

    assert world.writes()[-1] == update_status(new_foo(available=1))


def test_no_replicas_are_written_as_0() -> None:
    """SAMPLE-18: as upstream does, so that kubectl shows 0 and not a blank."""
    world = World(new_foo(available=None))
    world.sync()

    written = world.writes()[-1]
    assert (written.subresource, written.body["status"]) == ("status", {"availableReplicas": 0})


def test_there_is_nothing_to_do_for_a_foo_that_has_what_it_wants() -> None:
    """SAMPLE-18, SAMPLE-21, P-36: upstream writes the equal status, and so wakes itself."""
    foo = new_foo(available=1)
    world = World(foo, deployment_of(foo, available=1))
    world.sync()

    assert world.writes() == []
    assert world.recorder.lines() == ["Normal Synced Foo synced successfully"]


def test_a_deployment_gets_the_replicas_that_its_foo_wants() -> None:
    """SAMPLE-17, SAMPLE-21: whatever version it has by then."""
    wanted = new_foo(replicas=2)
    world = World(wanted, deployment_of(new_foo(replicas=1), available=1, version="7"))
    world.client.prepend_reactor(
        "update", "deployments", lambda _: deployment_of(wanted, available=1)
    )
    world.sync()

    assert world.writes() == [
        update(new_deployment(wanted)),
        update_status(new_foo(replicas=2, available=1)),
    ]


def test_replicas_that_a_foo_does_not_ask_for_are_left_alone() -> None:
    """SAMPLE-17."""
    world = World(new_foo(replicas=None), deployment_of(new_foo(replicas=5)))
    world.sync()

    assert world.writes() == []


def test_a_deployment_of_somebody_else_is_left_alone_and_reported() -> None:
    """SAMPLE-16, SAMPLE-21."""
    foreign = new_deployment(new_foo())
    foreign.metadata.owner_references = ()
    world = World(new_foo(replicas=3), foreign)
    message = 'Resource "web" already exists and is not managed by Foo'

    with pytest.raises(ResourceExistsError, match=message):
        world.sync()
    assert world.writes() == []
    assert world.recorder.lines() == [f"Warning ErrResourceExists {message}"]


def test_a_deployment_of_an_earlier_foo_of_the_same_name_is_somebody_elses() -> None:
    """SAMPLE-16: the uid tells them apart."""
    world = World(new_foo(), owned_by(uid="uid-earlier"))

    with pytest.raises(ResourceExistsError):
        world.sync()


def test_a_foo_that_is_gone_needs_nothing() -> None:
    """SAMPLE-13: and is not tried again."""
    world = World()
    world.sync()

    assert world.writes() == []
    assert world.recorder.lines() == []


def test_a_foo_without_a_deployment_name_is_reported_and_not_tried_again() -> None:
    """SAMPLE-14."""
    world = World(new_foo(deployment=""))
    world.sync()

    assert world.writes() == []
    assert world.recorder.lines() == ["Warning ErrInvalidFoo spec.deploymentName must be set"]


def test_a_foo_whose_spec_cannot_be_read_is_reported_and_not_tried_again() -> None:
    plain = new_foo().to_dict() | {"spec": {"deploymentName": ["not", "a", "name"]}}
    world = World(Codec(Foo).decode(encode(plain)))
    world.sync()

    assert world.writes() == []
    (line,) = world.recorder.lines()
    assert line.startswith("Warning ErrInvalidFoo")
    assert "deploymentName" in line


def test_a_foo_whose_deployment_the_server_refuses_is_reported_and_not_tried_again() -> None:
    world = World(new_foo())
    world.client.prepend_reactor("create", "deployments", failing(InvalidError.of("no such image")))
    world.sync()

    (line,) = world.recorder.lines()
    assert line.startswith("Warning ErrInvalidFoo the API server refuses its Deployment")


@pytest.mark.parametrize("what", ["deployments", "foos/status"])
def test_any_other_failure_of_a_write_is_tried_again(what: str) -> None:
    """SAMPLE-15, SAMPLE-18: it leaves sync, and no success is told."""
    world = World(new_foo(available=9))
    world.client.prepend_reactor("*", what, failing(ServiceUnavailableError.of("starting")))

    with pytest.raises(ServiceUnavailableError):
        world.sync()
    assert world.recorder.lines() == []


def test_cached_objects_are_not_changed() -> None:
    """SAMPLE-18."""
    foo = new_foo(replicas=2, available=9)
    deployment = deployment_of(new_foo(replicas=1), available=1)
    before = deep_copy(foo), deep_copy(deployment)
    World(foo, deployment).sync()

    assert (foo, deployment) == before


@pytest.mark.parametrize("replicas", [2, None])
def test_a_deployment_is_built_from_its_foo(replicas: int | None) -> None:
    """SAMPLE-20."""
    foo = new_foo(replicas=replicas)
    labels = {"app": "nginx", "controller": "example"}
    deployment = new_deployment(foo)

    assert deployment.metadata == ObjectMeta(
        name="web", namespace="default", owner_references=(new_controller_ref(foo),)
    )
    assert deployment.spec.replicas == replicas
    assert deployment.spec.selector.match_labels == labels
    assert deployment.spec.template.metadata.labels == labels
    assert deployment.spec.template.spec.containers == [
        Container(name="nginx", image="nginx:latest")
    ]


# Handlers


def test_a_foo_is_enqueued_when_it_comes_or_changes_or_is_resynced() -> None:
    """SAMPLE-07, SAMPLE-10: once, however often."""
    world = World()
    foos = world.handlers["Foo"]
    foos["on_add"](new_foo("a"))
    foos["on_update"](new_foo("b"), new_foo("b"))
    foos["on_update"](new_foo("b"), new_foo("b", replicas=2))

    assert world.enqueued() == ["default/a", "default/b"]
    assert "on_delete" not in foos


@pytest.mark.parametrize("event", ["on_add", "on_delete"])
def test_a_deployment_that_comes_or_goes_enqueues_its_foo(event: str) -> None:
    """SAMPLE-08, SAMPLE-09."""
    world = World(new_foo())
    world.handlers["Deployment"][event](owned_by())

    assert world.enqueued() == ["default/example"]


def test_a_deployment_that_changed_enqueues_its_foo() -> None:
    """SAMPLE-08."""
    foo = new_foo()
    world = World(foo)
    world.handlers["Deployment"]["on_update"](
        deployment_of(foo, version="1"), deployment_of(foo, version="2")
    )

    assert world.enqueued() == ["default/example"]


def test_a_resync_of_a_deployment_is_ignored() -> None:
    """SAMPLE-08."""
    foo = new_foo()
    world = World(foo)
    world.handlers["Deployment"]["on_update"](
        deployment_of(foo, version="1"), deployment_of(foo, version="1")
    )

    assert world.enqueued() == []


def test_a_deployment_whose_deletion_was_missed_enqueues_its_foo() -> None:
    """SAMPLE-09: it comes as a tombstone."""
    world = World(new_foo())
    world.handlers["Deployment"]["on_delete"](DeletedFinalStateUnknown("default/web", owned_by()))

    assert world.enqueued() == ["default/example"]


def test_a_tombstone_that_holds_nothing_is_an_error() -> None:
    """SAMPLE-09: which the informer reports."""
    world = World(new_foo())

    with pytest.raises(NoMetadataError):
        world.handlers["Deployment"]["on_delete"](DeletedFinalStateUnknown("default/web", None))
    assert world.enqueued() == []


@pytest.mark.parametrize(
    "owner",
    [
        {"kind": "Bar"},
        {"api_version": "other.io/v1alpha1"},
        {"api_version": "v1"},
        {"uid": "uid-earlier"},
        {"name": "gone"},
        {"controller": None},
    ],
    ids=str,
)
def test_a_deployment_of_another_owner_enqueues_nothing(owner: dict[str, Any]) -> None:
    """SAMPLE-09: upstream looks at the kind alone."""
    world = World(new_foo())
    world.handlers["Deployment"]["on_add"](owned_by(**owner))

    assert world.enqueued() == []


def test_a_deployment_of_an_earlier_foo_that_goes_enqueues_the_new_one() -> None:
    """It was in the way: without the key the new Foo would wait for its next retry."""
    world = World(new_foo())
    world.handlers["Deployment"]["on_delete"](owned_by(uid="uid-earlier"))

    assert world.enqueued() == ["default/example"]


def test_a_foo_of_another_version_of_the_group_is_still_the_owner() -> None:
    """SAMPLE-09."""
    world = World(new_foo())
    world.handlers["Deployment"]["on_add"](owned_by(api_version="samplecontroller.k8s.io/v2"))

    assert world.enqueued() == ["default/example"]


# Running


def failing(error: Exception, *, times: int = 10**6) -> Callable[[Action], None]:
    left = iter(range(times))

    def fail(_: Action) -> None:
        if next(left, None) is not None:
            raise error

    return fail


def test_what_appears_is_synced() -> None:
    """SAMPLE-11, SAMPLE-12: from an event to the write."""
    world, created = World(), threading.Event()
    world.client.prepend_reactor("create", "deployments", lambda _: created.set())
    with world.running():
        world.client.tracker.add(new_foo())
        assert created.wait(30)

    assert world.writes() == [create(new_deployment(new_foo()))]


@pytest.mark.parametrize(
    "error",
    [ServiceUnavailableError.of("starting"), ConflictError.of("stale"), ValueError("a bug")],
    ids=lambda error: type(error).__name__,
)
def test_a_foo_that_fails_is_tried_again_until_it_works(error: Exception) -> None:
    """SAMPLE-12: no failure ends the worker."""
    world, created = World(new_foo()), threading.Event()
    world.client.prepend_reactor("create", "deployments", lambda _: created.set())
    world.client.prepend_reactor("create", "deployments", failing(error, times=3))
    with world.running(workers=1):
        assert created.wait(30)

    assert [str(action) for action in world.writes()] == ["create deployments default/web"] * 4
    assert world.controller._queue.num_requeues(EXAMPLE) == 0


def test_nothing_is_done_before_the_caches_have_synced() -> None:
    """SAMPLE-11: a controller that is stopped before that ends at once."""
    world, stop = World(new_foo()), threading.Event()
    world.handlers["Foo"]["on_add"](new_foo())
    run = Background(lambda: world.controller.run(stop))
    stop.set()
    run.result()

    assert world.writes() == []


def test_run_returns_when_its_workers_have_ended() -> None:
    """SAMPLE-11: upstream returns while they still work."""
    world, stop = World(new_foo()), threading.Event()
    working, go_on = threading.Event(), threading.Event()

    def take_long(_: Action) -> None:
        working.set()
        go_on.wait(30)

    world.client.prepend_reactor("create", "deployments", take_long)
    world.factory.start(stop)
    run = Background(lambda: world.controller.run(stop))
    assert working.wait(30)
    stop.set()
    with pytest.raises(AssertionError, match="still blocks"):
        run.result(timeout=0.1)
    go_on.set()
    run.result()
    world.factory.shutdown()

    assert world.recorder.lines() == ["Normal Synced Foo synced successfully"]
    assert not [t.name for t in threading.enumerate() if t.name.startswith("foo-worker")]


def test_keys_that_wait_are_left_to_the_next_start(caplog: pytest.LogCaptureFixture) -> None:
    """SAMPLE-11: the key that is being processed is finished, and no other is taken."""
    caplog.set_level("INFO", "clientgo.workqueue")
    foos = [new_foo(name, deployment=name) for name in "ab"]
    world, stop = World(*foos), threading.Event()
    world.client.prepend_reactor("create", "deployments", lambda _: stop.set())
    world.factory.start(stop)
    Background(lambda: world.controller.run(stop, workers=1)).result()
    world.factory.shutdown()

    assert [action.verb for action in world.writes()] == [Verb.CREATE]
    # The other key, and perhaps the same again, even twice: its Deployment was created.
    assert re.search("foo-worker: stopped before [1-3] listed keys were handled", caplog.text)


def test_the_debug_log_shows_one_change_on_its_way_through_the_loop(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What `-v` shows: list, watch, event, sync."""
    caplog.set_level("DEBUG")
    world, watching, created = World(), threading.Event(), threading.Event()
    world.client.prepend_reactor("create", "deployments", lambda _: created.set())
    world.client.prepend_reactor("watch", "foos", lambda _: watching.set())
    with world.running(workers=1):
        assert watching.wait(30)
        world.client.tracker.add(new_foo())
        assert created.wait(30)

    expected = [
        "Foo reflector: listed 0 objects at version",
        "Foo reflector: watching from version",
        "Foo reflector: ADDED default/example",
        "default/example is synced",
    ]
    lines = iter(caplog.messages)
    for step in expected:
        assert any(line.startswith(step) for line in lines), (step, caplog.messages)


def test_a_foo_that_fails_is_warned_of_and_a_cache_that_is_behind_is_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """SAMPLE-12."""
    caplog.set_level("INFO")
    world, created = World(new_foo()), threading.Event()
    world.client.prepend_reactor("create", "deployments", lambda _: created.set())
    behind = AlreadyExistsError.of("the cache is behind")
    world.client.prepend_reactor("create", "deployments", failing(behind, times=1))
    world.client.prepend_reactor("create", "deployments", failing(KeyError("x"), times=1))
    with world.running(workers=1):
        assert created.wait(30)

    failures = [r for r in caplog.records if "trying again" in r.message]
    assert [(r.levelname, r.message.partition(";")[0]) for r in failures] == [
        ("WARNING", "default/example: KeyError: 'x'"),
        ("INFO", "default/example: AlreadyExistsError: the cache is behind"),
    ]


def test_failures_wait_longer_each_time_and_all_of_them_share_a_budget() -> None:
    """SAMPLE-06: the queue has a name, unlike upstream's, by which a trace calls it."""
    queue = World().controller._queue
    limiter = queue._rate_limiter

    assert queue.statistics().name == "foos"
    assert isinstance(limiter, MaxOfRateLimiter)
    each, together = limiter._limiters
    assert isinstance(each, ItemExponentialFailureRateLimiter)
    assert isinstance(together, BucketRateLimiter)
    assert [each.when("a") for _ in range(20)][::19] == [0.005, 1000.0]
    together._clock = FakeClock()
    assert max(together.when(n) for n in range(300)) == 0.0
    assert together.when("one more") == pytest.approx(0.02)
