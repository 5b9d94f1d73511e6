"""An apply that sends nothing if the cached object is as wanted, and the manager's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from clientgo.api.core_v1 import ConfigMap, Service, ServicePort, ServiceSpec
from clientgo.meta import ConflictError, ObjectMeta
from clientgo.operator import CacheScope
from clientgo.operator.cache.transforms import strip_managed_fields
from clientgo.operator.client.applied import owns_exactly
from tests.operator.test_cache import reading
from tests.operator.world import Gadget, GadgetSpec, GadgetStatus, World

ME = "me"


def wanted(size: int = 1, colour: str = "red", **metadata: Any) -> Gadget:
    return Gadget(
        metadata=ObjectMeta(name="a", namespace="default", **metadata),
        spec=GadgetSpec(size=size, colour=colour),
    )


class Applying:
    """A client of the caches that counts the writes that it sends."""

    def __init__(self, world: World) -> None:
        self.sent = 0
        self.client = world.manager.client.as_manager(ME).intercepted(self._count)

    def _count(self, verb: str, _subject: Any) -> None:
        self.sent += verb == "apply"

    def __call__(self, obj: Any, **options: Any) -> Any:
        return self.client.apply(obj, if_different=True, **options)


@pytest.fixture
def world(make_world: Callable[..., World]) -> Iterator[World]:
    world = make_world()
    reading(world, Gadget, ConfigMap, Service)
    with world.running():
        yield world


def test_what_is_there_and_owned_is_not_sent_again(world: World) -> None:
    """OP-CLI-13: nor waited for; the cached object is the answer."""
    apply = Applying(world)
    first = apply(wanted(labels={"app": "web"}))
    for _ in range(3):
        assert apply(wanted(labels={"app": "web"})) == first

    assert apply.sent == 1


@pytest.mark.parametrize(
    "changed",
    [
        wanted(size=2),
        wanted(colour="blue"),
        wanted(labels={"app": "web"}),
        wanted(finalizers=("example.com/x",)),
        Gadget(metadata=ObjectMeta(name="a", namespace="default"), spec=GadgetSpec(size=1)),
    ],
    ids=["value", "text", "label", "finalizer", "given up"],
)
def test_a_field_that_changes_comes_or_goes_is_sent(world: World, changed: Gadget) -> None:
    """OP-CLI-13."""
    apply = Applying(world)
    apply(wanted())

    apply(changed)
    apply(changed)

    assert apply.sent == 2


def test_what_another_manager_owns_or_has_changed_is_sent(world: World) -> None:
    """OP-CLI-13: the same values are not enough."""
    apply = Applying(world)
    other = world.manager.client.as_manager("other")
    other.apply(wanted())

    apply(wanted())
    apply(wanted())
    assert apply.sent == 1, "both own the fields now"

    other.apply(wanted(size=5))
    assert apply(wanted()).spec.size == 1
    assert apply.sent == 2


def test_a_status_is_compared_for_itself(world: World) -> None:
    """OP-CLI-13: its fields have an owner of their own."""
    apply = Applying(world)
    apply(wanted())
    status = Gadget(
        metadata=ObjectMeta(name="a", namespace="default"), status=GadgetStatus(ready=1)
    )
    for _ in range(2):
        apply.client.status.apply(status, if_different=True)
    assert apply.sent == 2

    apply(wanted())
    assert apply.sent == 2


def test_items_of_lists_are_known_by_their_keys(world: World) -> None:
    """OP-CLI-13: with defaults of the server beside them."""
    apply = Applying(world)

    def service(*ports: ServicePort) -> Service:
        return Service(
            metadata=ObjectMeta(name="a", namespace="default"),
            spec=ServiceSpec(selector={"app": "web"}, ports=list(ports)),
        )

    http, https = ServicePort(name="http", port=80), ServicePort(name="https", port=443)
    for ports in ((http,), (http,), (http, https), (http, https), (https,)):
        apply(service(*ports))

    assert apply.sent == 3


def test_an_old_version_is_sent_where_it_is_a_condition(world: World) -> None:
    """OP-CLI-13."""
    apply = Applying(world)
    first = apply(wanted())
    apply(wanted(size=2))

    with pytest.raises(ConflictError):
        apply(first, optimistic=True)


def test_a_cache_without_managed_fields_knows_no_owner(make_world: Callable[..., World]) -> None:
    """OP-CLI-13: then it is sent each time."""
    scope = CacheScope(transform=strip_managed_fields)
    world = make_world(cache_by_kind={Gadget: scope})
    reading(world, Gadget)
    with world.running():
        apply = Applying(world)
        for _ in range(2):
            apply(wanted())

    assert apply.sent == 2


def test_a_dry_run_is_compared_too_and_remembered_by_no_one(world: World) -> None:
    """OP-CLI-13."""
    apply = Applying(world)
    apply.client = apply.client.dry_run()
    for _ in range(2):
        apply(wanted())
    assert apply.sent == 2
    assert world.manager.client.find(Gadget, "a", "default") is None


@pytest.mark.parametrize(
    ("fields", "body", "owned"),
    [
        ({"f:data": {"f:k": {}}}, {"data": {"k": "v"}}, True),
        ({"f:data": {"f:k": {}}}, {"data": {"k": "v", "l": "w"}}, False),
        ({"f:data": {"f:k": {}, "f:l": {}}}, {"data": {"k": "v"}}, False),
        ({"f:data": {}}, {"data": {"k": "v"}}, True),
        ({}, {"data": {"k": "v"}}, False),
        ({}, {}, True),
        ({"f:data": {".": {}, "f:k": {}}}, {"data": {"k": "v"}}, True),
        ({"f:x": {'v:"a"': {}}}, {"x": ["a"]}, True),
        ({"f:x": {'v:"a"': {}}}, {"x": ["a", "b"]}, False),
        ({"f:x": {'k:{"n":1}': {"f:n": {}, "f:v": {}}}}, {"x": [{"n": 1, "v": 2}]}, True),
        ({"f:x": {'k:{"n":1}': {"f:n": {}}}}, {"x": [{"n": 1, "v": 2}]}, False),
        ({"f:x": {'k:{"n":1}': {"f:n": {}}}}, {"x": [{"n": 1}, {"n": 2}]}, False),
    ],
)
def test_fields_are_owned_exactly(fields: dict[str, Any], body: Any, owned: bool) -> None:
    """OP-CLI-13."""
    header = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    entry = {"manager": ME, "operation": "Apply", "apiVersion": "v1", "fieldsV1": fields}
    there = {"metadata": {"managedFields": [entry]}}

    assert owns_exactly(there, header | body, ME, "") == owned
    assert not owns_exactly(there, header | body, "other", "")
    assert not owns_exactly(there, header | body, ME, "status")
    assert not owns_exactly(there, header | body | {"apiVersion": "v2"}, ME, "")
