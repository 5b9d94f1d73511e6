"""One client for every kind: reads from the cache or the server, and all ways to write."""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest
from msgspec.structs import replace

from clientgo.api.apps_v1 import Deployment
from clientgo.api.core_v1 import ConfigMap, Namespace
from clientgo.client import PatchKind
from clientgo.meta import (
    AlreadyExistsError,
    BadRequestError,
    Codec,
    ConflictError,
    GroupVersionKind,
    InvalidError,
    NotFoundError,
    ObjectMeta,
    StatusError,
    Unstructured,
    UnsupportedMediaTypeError,
    deep_copy,
    resource_of,
)
from clientgo.meta.errors import TooManyRequestsError
from clientgo.operator.client import Change, LiveClient, ignore, merge_from
from clientgo.operator.client.configured_client import REMEMBERED, WarningsOnce, warning_once
from clientgo.operator.errors import (
    CacheNotStartedError,
    NamespaceTerminatingError,
    OperatorError,
)
from clientgo.rest import RestConfig
from clientgo.testcluster.server.faults import FailRequests, Requests
from clientgo.testing.fakes.actions import Action
from tests.operator.world import (
    Gadget,
    GadgetSpec,
    GadgetStatus,
    Planet,
    Recording,
    World,
    gadget,
)

GADGETS = GroupVersionKind("example.com", "v1", "Gadget")


@pytest.fixture
def live(world: World) -> LiveClient:
    """A client of a manager that was not started, which therefore reads live."""
    return world.manager.live


def options_of_last(world: World) -> dict[str, str]:
    return dict(world.asked.actions()[-1].options)


# Reading


def test_reads_are_cached_and_live_ones_are_not(world: World) -> None:
    """OP-CLI-01"""
    world.create(gadget())
    world.register(Recording())
    with world.running():
        client = world.manager.client
        world.asked.clear()
        assert client.get(Gadget, "a", "default").spec.size == 1
        assert [obj.metadata.name for obj in client.list(Gadget)] == ["a"]
        assert world.asked.actions() == []
        assert client.live.get(Gadget, "a", "default").spec.size == 1
        assert [str(action) for action in world.asked.actions()] == ["get gadgets default/a"]
        with pytest.raises(NotFoundError, match='"b" not found in the cache of namespace'):
            client.get(Gadget, "b", "default")


def test_before_the_start_only_live_reads_work_from_any_thread(world: World) -> None:
    """OP-CLI-10"""
    world.create(gadget())
    world.register(Recording())
    seen: list[Any] = []

    def use() -> None:
        client = world.manager.client
        try:
            client.get(Gadget, "a", "default")
        except CacheNotStartedError as error:
            seen.append(error)
        seen.append(client.live.get(Gadget, "a", "default").metadata.name)

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert [type(found) for found in seen] == [CacheNotStartedError, str]


@pytest.mark.parametrize("kind", [GADGETS, resource_of(Gadget)])
def test_objects_of_any_kind_are_there_unstructured(live: LiveClient, kind: Any) -> None:
    """OP-CLI-02: all that can be done with a class can be done with the name of a kind."""
    made = live.create(Unstructured.from_dict(gadget().to_dict()))
    assert isinstance(made, Unstructured)
    found = live.get(kind, "a", "default")
    assert found["spec"]["size"] == 1
    live.patch(found, {"spec": {"size": 2}})
    live.status.patch(found, {"status": {"ready": 4}})
    (listed,) = live.list(kind, namespace="default")
    assert (listed["spec"]["size"], listed["status"]["ready"]) == (2, 4)
    changed = Unstructured.from_dict(listed.to_dict() | {"spec": {"size": 3}})
    assert live.update(changed)["spec"]["size"] == 3
    same, change = live.create_or_update(Unstructured.from_dict(gadget().to_dict()))
    assert (same["spec"]["size"], change) == (1, Change.UPDATED)
    live.delete(found)
    assert live.find(kind, "a", "default") is None


def test_every_verb_for_a_declared_class(live: LiveClient) -> None:
    """OP-CLI-02"""
    created = live.create(gadget())
    stream = live.watch(Gadget, namespace="default")
    created.spec.size = 2
    assert live.update(created).spec.size == 2
    assert stream.read()
    stream.stop()
    applied = live.as_manager("me").apply(
        Gadget(metadata=ObjectMeta(name="b", namespace="default"), spec=GadgetSpec(size=5))
    )
    assert applied.spec.size == 5
    live.subresource("status").patch(applied, {"status": {"ready": 1}})
    ready = live.get(Gadget, "b", "default").status
    assert ready is not None
    assert ready.ready == 1
    live.delete_all_of(Gadget, namespace="default", fields={"metadata.name": "b"})
    assert [obj.metadata.name for obj in live.list(Gadget)] == ["a"]


# Options


def test_options_of_reads(live: LiveClient, world: World) -> None:
    """OP-CLI-03"""
    labels = {"app": "web", "tier": "front"}
    world.create(gadget("a", labels=labels), gadget("b", labels=labels), gadget("c"))
    found = live.list(
        Gadget, namespace="default", labels=labels, fields={"metadata.name": "b"}, limit=5
    )
    assert [obj.metadata.name for obj in found] == ["b"]
    assert options_of_last(world) == {
        "labelSelector": "app=web,tier=front",
        "fieldSelector": "metadata.name=b",
        "limit": "5",
    }


def test_options_of_deletions(live: LiveClient, world: World) -> None:
    """OP-CLI-03: preconditions, propagation and grace."""
    world.create(gadget())
    first = world.get(Gadget)
    live.patch(first, {"spec": {"size": 9}})
    with pytest.raises(ConflictError):
        live.delete(first, only_this=True)
    live.delete(world.get(Gadget), only_this=True, propagation="Orphan", grace=0)
    body = world.asked.writes()[-1].body
    assert body["propagationPolicy"] == "Orphan"
    assert body["gracePeriodSeconds"] == 0
    assert set(body["preconditions"]) == {"uid", "resourceVersion"}
    live.delete(first)
    with pytest.raises(NotFoundError):
        live.delete(first, ignore_missing=False)


def test_a_deletion_is_done_only_if_an_answer_names_the_object(
    live: LiveClient, world: World
) -> None:
    """OP-CLI-03: a proxy, or a server that does not serve the kind yet, answers 404 as well."""
    world.create(gadget())
    world.server.inject(FailRequests(requests=Requests(verbs=("delete",)), status=404))
    with pytest.raises(NotFoundError):
        live.delete(gadget())
    assert live.find(Gadget, "a", "default") is not None


def test_a_dry_run_checks_and_stores_nothing(live: LiveClient) -> None:
    """OP-CLI-09, OP-CLI-03: nor is it remembered for reads."""
    trial = live.dry_run()
    assert trial.create(gadget()).metadata.uid
    assert live.find(Gadget, "a", "default") is None
    stored = live.create(gadget())
    assert trial.patch(stored, {"spec": {"size": 8}}).spec.size == 8
    trial.delete(stored)
    assert live.get(Gadget, "a", "default").spec.size == 1


def test_a_client_may_write_in_another_name(live: LiveClient) -> None:
    """OP-CLI-09"""
    made = live.as_manager("somebody").create(gadget())
    assert {entry["manager"] for entry in made.to_dict()["metadata"]["managedFields"]} == {
        "somebody"
    }


def test_a_strict_client_refuses_unknown_fields(live: LiveClient) -> None:
    """OP-CLI-09, OP-CLI-03: which are dropped with a warning otherwise."""
    plain = gadget().to_dict()
    plain["spec"]["shape"] = "round"
    with pytest.raises(BadRequestError, match="shape"):
        live.strict().create(Unstructured.from_dict(plain))
    live.create(Unstructured.from_dict(plain))


def test_a_client_for_a_namespace_fills_it_in(live: LiveClient, world: World) -> None:
    """OP-CLI-09: another one is an error; kinds without namespaces are not concerned."""
    world.create(Namespace(metadata=ObjectMeta(name="home")))
    home = live.namespaced("home")
    nowhere = Gadget(metadata=ObjectMeta(name="a"))
    assert home.create(nowhere).metadata.namespace == "home"
    assert home.get(Gadget, "a").metadata.namespace == "home"
    assert [obj.metadata.name for obj in home.list(Gadget)] == ["a"]
    with pytest.raises(OperatorError, match="for namespace 'home'; the object is in 'default'"):
        home.create(gadget())
    with pytest.raises(OperatorError, match="for namespace 'home'"):
        home.list(Gadget, namespace="default")
    home.create(Planet(metadata=ObjectMeta(name="earth")))


# Errors


def test_refusals_have_types(live: LiveClient, world: World) -> None:
    """OP-CLI-04"""
    created = live.create(gadget())
    with pytest.raises(AlreadyExistsError):
        live.create(gadget())
    live.patch(created, {"spec": {"size": 2}})
    with pytest.raises(ConflictError):
        live.update(created)
    with pytest.raises(InvalidError) as invalid:
        live.patch(created, {"spec": {"size": "big"}})
    assert [cause.field_ for cause in invalid.value.status.details.causes] == ["spec.size"]


def test_a_busy_server_says_when_to_come_back(live: LiveClient, world: World) -> None:
    """OP-CLI-04"""

    def refuse(_action: Action) -> None:
        busy = TooManyRequestsError.of("slow down")
        raise TooManyRequestsError(
            replace(busy.status, details=replace(busy.status.details, retry_after_seconds=7))
        )

    world.asked.before = refuse
    with pytest.raises(TooManyRequestsError) as refused:
        live.get(Gadget, "a", "default")
    assert refused.value.retry_after == 7


def test_a_refusal_may_be_what_was_wanted(live: LiveClient) -> None:
    """OP-CLI-04: that one and no other."""
    with ignore(NotFoundError):
        live.get(Gadget, "a", "default")
    with pytest.raises(NotFoundError), ignore(ConflictError):
        live.get(Gadget, "a", "default")


def test_nothing_can_be_created_in_a_namespace_that_is_going(
    world: World, live: LiveClient
) -> None:
    """OP-CLI-04: an error of its own, that no retry cures."""
    world.create(
        Namespace(metadata=ObjectMeta(name="going")),
        gadget("a", "going", finalizers=("example.com/wait",)),
    )
    world.client.resource(Namespace).delete("going")
    with pytest.raises(NamespaceTerminatingError, match="'b' cannot be created in it"):
        live.create(gadget("b", "going"))


# Patches


def test_a_merge_patch_is_what_differs(live: LiveClient) -> None:
    """OP-CLI-05: bound to the version it was made for, if it is told to."""
    base = live.create(gadget())
    changed = deep_copy(base)
    changed.spec.size = 2
    assert merge_from(base, base) == {}
    patch = merge_from(base, changed)
    assert patch == {"spec": {"size": 2}}
    locked = merge_from(base, changed, optimistic=True)
    assert locked["metadata"] == {"resourceVersion": base.metadata.resource_version}
    live.patch(base, patch)
    with pytest.raises(ConflictError):
        live.patch(base, locked)


def test_patches_of_other_kinds(live: LiveClient) -> None:
    """OP-CLI-05: a strategic one works for built-in kinds only."""
    created = live.create(gadget())
    operation = [{"op": "replace", "path": "/spec/size", "value": 6}]
    assert live.patch(created, operation, PatchKind.JSON).spec.size == 6
    with pytest.raises(UnsupportedMediaTypeError):
        live.patch(created, {"spec": {"size": 7}}, PatchKind.STRATEGIC)
    settings = live.create(
        ConfigMap(metadata=ObjectMeta(name="c", namespace="default"), data={"a": "1"})
    )
    patched = live.patch(settings, {"data": {"b": "2"}}, PatchKind.STRATEGIC)
    assert patched.data == {"a": "1", "b": "2"}


def test_a_dict_is_refused_with_what_to_pass(live: LiveClient) -> None:
    """OP-CLI-05: an object without a class of its own is an Unstructured."""
    plain = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    for write in (live.create, live.create_or_update, live.apply):
        with pytest.raises(TypeError, match=r"a dict has no type; pass .* Unstructured.from_dict"):
            write(plain)


def test_an_object_that_was_read_can_be_applied(live: LiveClient) -> None:
    """OP-CLI-05: without what only a server can know, unless its version is to hold."""
    me = live.as_manager("me")
    read = me.apply(Gadget(metadata=ObjectMeta(name="a", namespace="default")))
    read.spec.size = 3
    assert me.apply(read).spec.size == 3
    read.spec.size = 4
    with pytest.raises(ConflictError):
        me.apply(read, optimistic=True)


def test_what_a_type_does_not_know_survives_an_update(world: World, live: LiveClient) -> None:
    """OP-CLI-07"""
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "image": "i"}], "hostUsers": False},
            },
        },
    }
    live.create(Unstructured.from_dict(deployment))
    found = live.get(Deployment, "web", "default")
    found.spec.replicas = 2
    live.update(found)
    stored = live.get(GroupVersionKind("apps", "v1", "Deployment"), "web", "default")
    assert stored["spec"]["replicas"] == 2
    assert stored["spec"]["template"]["spec"]["hostUsers"] is False


# create_or_update


def wanted(size: int) -> Gadget:
    return Gadget(metadata=ObjectMeta(name="a", namespace="default"), spec=GadgetSpec(size=size))


def test_create_or_update_says_what_it_did(live: LiveClient, world: World) -> None:
    """OP-CLI-08: and writes nothing where nothing differs."""
    assert live.create_or_update(wanted(1))[1] is Change.CREATED
    world.asked.clear()
    assert live.create_or_update(wanted(1))[1] is Change.UNCHANGED
    assert world.asked.writes() == []
    updated, change = live.create_or_update(wanted(2))
    assert (updated.spec.size, change) == (2, Change.UPDATED)

    def ready(obj: Gadget) -> None:
        obj.status = obj.status or GadgetStatus()
        obj.status.ready += 1

    found, change = live.create_or_update(wanted(0), ready)
    assert found.status is not None
    assert (found.status.ready, found.spec.size, change) == (1, 2, Change.STATUS_UPDATED)

    def both(obj: Gadget) -> None:
        ready(obj)
        obj.spec.size = 7

    found, change = live.create_or_update(wanted(0), both)
    assert found.status is not None
    assert (found.status.ready, found.spec.size, change) == (2, 7, Change.BOTH)


def test_create_or_update_may_not_be_led_to_another_object(live: LiveClient) -> None:
    """OP-CLI-08"""
    live.create(wanted(1))

    def rename(obj: Gadget) -> None:
        obj.metadata.name = "b"

    with pytest.raises(ValueError, match="must not change the name or namespace of 'a'"):
        live.create_or_update(wanted(1), rename)


def described() -> Deployment:
    return Codec(Deployment).decode(
        b'{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":'
        b'"default"},"spec":{"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":'
        b'{"labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}'
    )


def test_what_the_server_fills_in_is_no_difference(live: LiveClient, world: World) -> None:
    """OP-CLI-08, BP-29: a Deployment gets defaults all over its spec."""
    live.create_or_update(described())
    world.asked.clear()
    assert live.create_or_update(described())[1] is Change.UNCHANGED
    assert world.asked.writes() == []


def test_whole_parts_can_be_tried_on_the_server_first(live: LiveClient, world: World) -> None:
    """OP-CLI-08, BP-29: what comes to nothing is not written."""

    def replace_spec(obj: Deployment) -> None:
        obj.spec = described().spec

    live.create_or_update(described())
    before = live.get(Deployment, "web", "default").metadata.resource_version
    assert live.create_or_update(described(), replace_spec, ask_server=True)[1] is Change.UNCHANGED
    assert live.get(Deployment, "web", "default").metadata.resource_version == before

    def scale(obj: Deployment) -> None:
        obj.spec.replicas = 3

    assert live.create_or_update(described(), scale, ask_server=True)[1] is Change.UPDATED


# Around calls


def test_calls_can_be_intercepted(live: LiveClient, world: World) -> None:
    """OP-CLI-12: reads and writes; what the function raises is raised, and nothing is sent."""
    seen: list[tuple[str, str]] = []

    def spy(verb: str, subject: Any) -> None:
        seen.append((verb, getattr(subject, "__name__", "") or subject.metadata.name))
        if verb == "delete":
            raise StatusError.of("injected")

    spied = live.intercepted(spy)
    spied.create(gadget())
    spied.get(Gadget, "a", "default")
    spied.list(Gadget)
    with pytest.raises(StatusError, match="injected"):
        spied.delete(gadget())
    assert seen == [("create", "a"), ("get", "Gadget"), ("list", "Gadget"), ("delete", "a")]
    assert [str(action).split()[0] for action in world.asked.writes()] == ["create"]


def test_a_warning_of_the_server_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """OP-CLI-11: each text, and not every text for ever."""
    handler = WarningsOnce()
    for text in ("deprecated", "deprecated", "unknown field"):
        handler(text)
    assert [record.message for record in caplog.records] == [
        "the API server warns: deprecated",
        "the API server warns: unknown field",
    ]
    for number in range(REMEMBERED):
        handler(str(number))
    caplog.clear()
    handler("deprecated")
    assert len(caplog.records) == 1


def test_a_manager_logs_warnings_once_unless_told_otherwise() -> None:
    """OP-CLI-11"""
    assert isinstance(warning_once(RestConfig(server="http://x")).warning_handler, WarningsOnce)
    own = logging.getLogger("x").info
    assert warning_once(RestConfig(server="http://x", warning_handler=own)).warning_handler is own
