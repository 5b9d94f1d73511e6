"""What a resource client asks of the server, and what comes back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from clientgo.client import Client, PatchKind, ResourceClient
from clientgo.meta import (
    APIResource,
    Codec,
    ConflictError,
    DecodeError,
    ListOptions,
    Model,
    NotFoundError,
    ObjectMeta,
    Resource,
    Unstructured,
    resource,
)
from clientgo.rest import RequestError, RequestStoppedError, RestClient, RestConfig
from clientgo.testing.scripted_server import (
    ScriptedServer,
    answer,
    answer_json,
    answer_status,
    stay_silent,
    watch_begin,
    watch_end,
    watch_events,
)
from tests.background import Background

GROUP = "/apis/samplecontroller.k8s.io/v1alpha1"
FOOS = f"{GROUP}/namespaces/default/foos"


class FooSpec(Model):
    deployment_name: str = ""
    replicas: int | None = None


@resource(group="samplecontroller.k8s.io", version="v1alpha1", plural="foos")
class Foo(Resource):
    spec: FooSpec = FooSpec()


@resource(version="v1", plural="nodes", namespaced=False)
class Node(Resource):
    pass


def foo(name: str = "a", **body: Any) -> dict[str, Any]:
    return {
        "apiVersion": "samplecontroller.k8s.io/v1alpha1",
        "kind": "Foo",
        "metadata": {"name": name, "namespace": "default", "resourceVersion": "5"},
        **body,
    }


@pytest.fixture(name="server")
def _server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        server.on("*", answer_json(foo(spec={"deploymentName": "d", "new": "kept"})))
        yield server


@pytest.fixture(name="client")
def _client(server: ScriptedServer) -> Iterator[Client]:
    with Client(RestConfig(server=server.url, qps=-1)) as client:
        yield client


@pytest.fixture(name="foos")
def _foos(client: Client) -> ResourceClient[Foo]:
    return client.resource(Foo).namespace("default")


def test_get_returns_the_declared_type(server, foos):
    got = foos.get("a", resource_version="0")

    assert isinstance(got, Foo)
    assert got.spec.deployment_name == "d"
    request = server.requests[0]
    assert (request.method, request.path, request.query) == (
        "GET",
        f"{FOOS}/a",
        {"resourceVersion": "0"},
    )


def test_an_api_resource_gives_unstructured_objects(client):
    foos = client.resource(
        APIResource(group="samplecontroller.k8s.io", version="v1alpha1", kind="Foo", plural="foos")
    )

    got = foos.namespace("default").get("a")

    assert isinstance(got, Unstructured)
    assert got["spec"]["new"] == "kept"


Call = Callable[[Any], Any]


@pytest.mark.parametrize(
    ("call", "method", "path"),
    [
        (lambda c: c.get("a"), "GET", "/a"),
        (lambda c: c.get("a", subresource="status"), "GET", "/a/status"),
        (lambda c: c.list(), "GET", ""),
        (lambda c: c.create(foo()), "POST", ""),
        (lambda c: c.create(foo(), name="a", subresource="eviction"), "POST", "/a/eviction"),
        (lambda c: c.update(foo()), "PUT", "/a"),
        (lambda c: c.update({"spec": {}}, name="a", subresource="scale"), "PUT", "/a/scale"),
        (lambda c: c.update_status(foo()), "PUT", "/a/status"),
        (lambda c: c.patch("a", {}), "PATCH", "/a"),
        (lambda c: c.patch("a", {}, subresource="status"), "PATCH", "/a/status"),
        (lambda c: c.apply(foo(), field_manager="me"), "PATCH", "/a"),
        (lambda c: c.apply_status(foo(), field_manager="me"), "PATCH", "/a/status"),
        (lambda c: c.delete("a"), "DELETE", "/a"),
        (lambda c: c.delete_collection(), "DELETE", ""),
    ],
)
@pytest.mark.parametrize(
    ("kind", "base"),
    [
        (
            APIResource(group="g.io", version="v1", kind="Foo", plural="foos"),
            "/apis/g.io/v1/namespaces/default/foos",
        ),
        (APIResource(version="v1", kind="Foo", plural="foos"), "/api/v1/namespaces/default/foos"),
        (
            APIResource(group="g.io", version="v1", kind="Foo", plural="foos", namespaced=False),
            "/apis/g.io/v1/foos",
        ),
    ],
)
def test_each_call_has_its_method_and_path(server, client, kind, base, call, method, path):
    """DYN-01: /api for the core group, else /apis; subresources appended."""
    server.on("*", answer_json(foo() | {"apiVersion": kind.api_version}))
    server.on(base, answer_json({"items": []} if method == "GET" else foo()))

    call(client.resource(kind).namespace("default"))

    assert (server.requests[0].method, server.requests[0].path) == (method, base + path)


@pytest.mark.parametrize(
    "call",
    [
        lambda c: c.get(""),
        lambda c: c.update({"metadata": {}}),
        lambda c: c.delete(""),
        lambda c: c.patch("", {}),
        lambda c: c.apply({"metadata": {}}, field_manager="me"),
        lambda c: c.create(foo(), subresource="eviction"),
        lambda c: c.get("a/b"),
    ],
)
def test_a_name_is_needed_and_checked(server, foos, call):
    """DYN-02."""
    with pytest.raises(RequestError):
        call(foos)
    assert server.requests == []


@pytest.mark.parametrize(
    "call",
    [
        lambda c: c.list(),
        lambda c: c.watch(),
        lambda c: c.delete_collection(),
        lambda c: c.get("a"),
        lambda c: c.create(foo()),
    ],
)
def test_the_namespace_is_checked_everywhere(server, client, call):
    """DYN-02: list, watch and collection calls included."""
    with pytest.raises(RequestError, match="namespace"):
        call(client.resource(Foo).namespace("a/b"))
    assert server.requests == []


@pytest.mark.parametrize(
    ("metadata", "problem"),
    [
        ("x", "metadata must be an object, not 'x'"),
        (["a"], r"metadata must be an object, not \['a'\]"),
        ({"name": 5, "namespace": "default"}, "5 cannot be a name"),
        ({"name": ["a"], "namespace": "default"}, r"\['a'\] cannot be a name"),
        ({"name": "a", "namespace": 3}, "3 cannot be a namespace"),
    ],
)
@pytest.mark.parametrize("call", ["update", "update_status", "apply"])
def test_metadata_that_can_address_nothing_is_refused(server, client, call, metadata, problem):
    """DYN-02."""
    foos = client.resource(Foo)
    options = {"field_manager": "me"} if call == "apply" else {}

    with pytest.raises(RequestError, match=problem):
        getattr(foos, call)({"metadata": metadata}, **options)
    assert server.requests == []


def test_a_new_object_whose_metadata_is_no_object_is_refused(server, client):
    """DYN-02."""
    with pytest.raises(RequestError, match="metadata must be an object, not 'x'"):
        client.resource(Foo).namespace("default").create({"metadata": "x"})
    assert server.requests == []


def test_a_client_for_all_namespaces_takes_the_objects_own(server, client):
    foos = client.resource(Foo)

    foos.create(foo())
    foos.update(foo())
    foos.apply(foo(), field_manager="me")

    assert [request.path for request in server.requests] == [FOOS, f"{FOOS}/a", f"{FOOS}/a"]


def test_writing_without_any_namespace_is_an_error_that_says_so(server, client):
    """REST-16."""
    with pytest.raises(RequestError, match="needs a namespace"):
        client.resource(Foo).create({"metadata": {"name": "a"}})
    with pytest.raises(RequestError, match="needs a namespace"):
        client.resource(Foo).get("a")


def test_cluster_scoped_objects_have_no_namespace_in_their_path(server, client):
    server.on("*", answer_json({"kind": "Node", "metadata": {"name": "n"}}))
    client.resource(Node).namespace("ignored").get("n")

    assert server.requests[0].path == "/api/v1/nodes/n"


def test_objects_of_every_form_are_written(server, foos):
    from kubernetes.client import V1ConfigMap, V1ObjectMeta

    typed = Foo(metadata=ObjectMeta(name="a"), spec=FooSpec(deployment_name="x"))
    foos.create(typed)
    foos.create(Unstructured.from_dict(foo(spec={"deploymentName": "x"})))
    foos.create({"metadata": {"name": "a"}, "spec": {"deploymentName": "x"}})
    foos.create(V1ConfigMap(metadata=V1ObjectMeta(name="a"), data={"deploymentName": "x"}))

    bodies = [request.json() for request in server.requests]
    assert [body.get("spec") for body in bodies[:3]] == [{"deploymentName": "x"}] * 3
    assert bodies[3]["data"] == {"deploymentName": "x"}
    assert [body["metadata"]["name"] for body in bodies] == ["a"] * 4


def test_an_object_that_does_not_say_what_it_is_is_told(server, foos):
    """DYN-03: objects without kind and apiVersion are accepted on write."""
    foos.create({"metadata": {"name": "a"}})

    body = server.requests[0].json()
    assert (body["apiVersion"], body["kind"]) == ("samplecontroller.k8s.io/v1alpha1", "Foo")


def test_an_object_that_says_half_of_what_it_is_keeps_that(server, foos):
    """So that the server refuses it, and no Foo is made of it."""
    foos.create({"kind": "Bar", "metadata": {"name": "a"}})

    body = server.requests[0].json()
    assert (body["apiVersion"], body["kind"]) == ("samplecontroller.k8s.io/v1alpha1", "Bar")


def test_fields_that_the_type_does_not_know_go_back_to_the_server(server, foos):
    """FIELD-14."""
    got = foos.get("a")
    got.spec.replicas = 3
    foos.update(got)

    assert server.requests[1].json()["spec"] == {
        "deploymentName": "d",
        "new": "kept",
        "replicas": 3,
    }


@pytest.mark.parametrize(
    ("kind", "patch", "body"),
    [
        (PatchKind.MERGE, {"spec": None}, {"spec": None}),
        (PatchKind.JSON, [{"op": "remove", "path": "/spec"}], [{"op": "remove", "path": "/spec"}]),
        (PatchKind.STRATEGIC, b'{"spec":{}}', {"spec": {}}),
    ],
)
def test_a_patch_says_of_which_kind_it_is(server, foos, kind, patch, body):
    foos.patch("a", patch, kind)

    assert server.requests[0].headers["content-type"] == kind.value
    assert server.requests[0].json() == body


@pytest.mark.parametrize(
    ("patch", "kind", "message"),
    [
        ([{"op": "remove", "path": "/spec"}], PatchKind.MERGE, r"pass PatchKind\.JSON"),
        ([], PatchKind.APPLY, r"pass PatchKind\.JSON"),
        ({"spec": None}, PatchKind.JSON, "a JSON patch is a list of operations"),
    ],
)
def test_a_patch_in_the_form_of_another_kind_is_refused(server, foos, patch, kind, message):
    with pytest.raises(RequestError, match=message):
        foos.patch("a", patch, kind)
    assert server.requests == []


def test_apply_names_the_manager_and_whether_it_forces(server, foos):
    foos.apply(foo(), field_manager="me")
    foos.apply(foo(), field_manager="me", force=True, dry_run=True)

    first, second = server.requests
    assert first.headers["content-type"] == "application/apply-patch+yaml"
    assert first.query == {"fieldManager": "me", "force": "false"}
    assert second.query == {"fieldManager": "me", "force": "true", "dryRun": "All"}


def test_apply_refuses_what_was_read_from_the_server(server, foos):
    """DYN-03: objects that carry managedFields."""
    read = foo()
    read["metadata"]["managedFields"] = [{"manager": "x"}]

    with pytest.raises(RequestError, match="managedFields"):
        foos.apply(read, field_manager="me")
    assert server.requests == []


def test_apply_needs_a_manager(server, foos):
    with pytest.raises(RequestError, match="field_manager"):
        foos.apply(foo())


def test_the_clients_field_manager_is_the_default(server):
    with Client(server.url, field_manager="mine") as client:
        foos = client.resource(Foo).namespace("default")
        foos.create(foo())
        foos.update(foo(), field_manager="other", dry_run=True)
        foos.patch("a", {})

    assert [request.query for request in server.requests] == [
        {"fieldManager": "mine"},
        {"fieldManager": "other", "dryRun": "All"},
        {"fieldManager": "mine"},
    ]


def test_delete_options_go_in_the_body(server, foos):
    foos.delete("a")
    foos.delete(
        "a",
        grace_period_seconds=0,
        propagation_policy="Foreground",
        uid="u",
        resource_version="7",
        dry_run=True,
    )

    plain = {"apiVersion": "v1", "kind": "DeleteOptions"}
    assert [request.json() for request in server.requests] == [
        plain,
        {
            **plain,
            "gracePeriodSeconds": 0,
            "propagationPolicy": "Foreground",
            "preconditions": {"uid": "u", "resourceVersion": "7"},
            "dryRun": ["All"],
        },
    ]


def test_list_options_are_query_parameters(server, foos):
    server.on(FOOS, answer_json({"metadata": {"resourceVersion": "9"}, "items": [foo()]}))

    page = foos.list(ListOptions(label_selector="a=b", limit=5, timeout_seconds=10))

    assert [item.metadata.name for item in page.items] == ["a"]
    assert page.metadata.resource_version == "9"
    assert server.requests[0].query == {
        "labelSelector": "a=b",
        "limit": "5",
        "timeoutSeconds": "10",
        "timeout": "10s",
    }


def test_a_selector_alone_is_no_list_options(foos):
    with pytest.raises(TypeError, match="pass ListOptions"):
        foos.list("app=web")


def test_delete_collection_selects_as_a_list_does(server, foos):
    foos.delete_collection(ListOptions(label_selector="a=b"), propagation_policy="Background")

    assert server.requests[0].query == {"labelSelector": "a=b"}
    assert server.requests[0].json()["propagationPolicy"] == "Background"


def test_delete_collection_returns_what_was_deleted_if_the_server_says_so(server, foos):
    server.on(FOOS, answer_json({"kind": "FooList", "metadata": {}, "items": [foo()]}))
    deleted = foos.delete_collection()
    assert deleted is not None
    assert [obj.metadata.name for obj in deleted.items] == [foo()["metadata"]["name"]]
    server.on(FOOS, answer_json({"kind": "Status", "apiVersion": "v1", "status": "Success"}))
    assert foos.delete_collection() is None


def test_a_watch_sends_its_options_and_brings_typed_events(server, foos):
    """MDT-03: timeoutSeconds also becomes the request timeout."""
    server.on(FOOS, watch_begin() + watch_events({"type": "ADDED", "object": foo()}) + watch_end())
    options = ListOptions(resource_version="7", timeout_seconds=300, allow_watch_bookmarks=True)

    events = foos.watch(options).read()

    assert isinstance(events[0].object, Foo)
    assert server.requests[0].query == {
        "watch": "true",
        "resourceVersion": "7",
        "timeoutSeconds": "300",
        "allowWatchBookmarks": "true",
        "timeout": "5m0s",
    }


def test_refusals_are_typed(server, foos):
    server.on(f"{FOOS}/a", answer_status(404, "NotFound"), answer_status(409, "Conflict"))

    with pytest.raises(NotFoundError):
        foos.get("a")
    with pytest.raises(ConflictError):
        foos.update(foo())


def test_an_answer_that_is_no_object_is_a_decode_error(server, foos):
    server.on(f"{FOOS}/a", answer(body=b"<html>"))

    with pytest.raises(DecodeError, match="not a Foo"):
        foos.get("a")


def test_a_call_can_be_stopped(server, foos):
    """LWT-01: cancellable."""
    server.on(f"{FOOS}/a", stay_silent())
    stop = threading.Event()
    call = Background(lambda: foos.get("a", stop=stop))
    server.wait_for_requests(1)
    stop.set()

    with pytest.raises(RequestStoppedError):
        call.result()


def test_the_type_is_known(client):
    assert client.resource(Foo).type is Foo
    assert (
        ResourceClient(
            RestClient(RestConfig(server="http://h")),
            APIResource(version="v1", kind="A", plural="as"),
            Codec(Unstructured),
        ).type
        is Unstructured
    )


def deleted_status(**metadata: Any) -> dict[str, Any]:
    return {"kind": "Status", "apiVersion": "v1", "status": "Success", "metadata": metadata}


@pytest.mark.parametrize(
    ("body", "version"),
    [
        (deleted_status(), ""),
        ({"kind": "Status", "apiVersion": "v1", "status": "Success"}, ""),
        ({"kind": "Status", "apiVersion": "v1", "status": "Success", "metadata": None}, ""),
        (deleted_status(resourceVersion="7"), "7"),
        ({"metadata": {"name": "a", "resourceVersion": "7"}}, ""),
        ({"metadata": {"name": "a", "resourceVersion": "7", "finalizers": []}}, ""),
        ({"metadata": {"name": "a", "resourceVersion": "7", "finalizers": ["x"]}}, "7"),
        ({"metadata": {"name": "a", "resourceVersion": "7", "deletionGracePeriodSeconds": 0}}, ""),
        ({"metadata": {"name": "a", "resourceVersion": "7", "deletionGracePeriodSeconds": 3}}, "7"),
        ({"metadata": {"name": "a", "resourceVersion": None, "finalizers": ["x"]}}, ""),
    ],
)
def test_a_deletion_returns_its_version_if_the_server_says_it(server, foos, body, version):
    """OP-CLI-06a: the last state of an object that is gone has an older version."""
    if body.get("kind") != "Status":
        body = {"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo"} | body
    server.on(f"{FOOS}/a", answer_json(body))

    assert foos.delete("a") == version
