"""Every built-in kind in protobuf: bodies, responses and watches, with the JSON of the same object.

The encoder and the decoder use one table; ``test_protobuf.py`` has bytes that other programs wrote.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
import urllib3

from clientgo.meta.json_values import copy_json
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.server.http.protobuf import PROTOBUF_TYPE, decoding
from clientgo.testcluster.server.http.protobuf.decoding import decode_protobuf
from clientgo.testcluster.server.http.protobuf.encoding import encode_protobuf
from clientgo.testcluster.server.http.protobuf.fields import _table
from clientgo.testcluster.server.http.protobuf.wire import ProtobufError, read_fields
from clientgo.testcluster.server.kinds.builtin_resources import builtin_resources
from clientgo.testcluster.server.resources.resource import Resource
from tests.testcluster.server.http_api import (
    CONFIGMAPS,
    CRDS,
    WIDGETS,
    Answer,
    Api,
    configmap,
    widget,
    widget_crd,
)
from tests.testcluster.server.test_protobuf import message
from tests.testcluster.server.test_zero_values import path_of, recorded_objects

KINDS = list(builtin_resources())

VALUES = {
    "bool": True,
    "bytes": "AP8=",
    "float": 1.5,
    "int": -7,
    "int-or-string": "http",
    "json": {"a": [1, None]},
    "list-message": ["x", "y"],
    "micro-time": "2026-01-02T03:04:05.000006Z",
    "quantity": "500m",
    "schema-or-array": [{"type": "string"}],
    "schema-or-bool": {"type": "string"},
    "schema-or-strings": ["x"],
    "string": "text",
    "time": "2026-01-02T03:04:05Z",
}


def value_of(type_: str, depth: int) -> Any:
    """Return a value of a type in the table, with every field of messages."""
    if type_.startswith("[]"):
        return [value_of(type_[2:], depth)]
    if type_.startswith("{}"):
        return {"key": value_of(type_[2:], depth)}
    if type_ in VALUES:
        return VALUES[type_]
    members: dict[str, Any] = {}
    for name, member, _ in _table().message(type_).values() if depth else ():
        value = value_of(member, depth - 1)
        members |= {name: value} if name else value
    return members


@pytest.mark.parametrize("kind", sorted(_table().kinds))
def test_each_field_of_a_kind_is_read_as_it_was_written(kind: str) -> None:
    api_version, _, name = kind.rpartition("/")
    head = {"apiVersion": api_version or "v1", "kind": name}
    obj = head | value_of(_table().kinds[kind], depth=6)

    assert decode_protobuf(encode_protobuf(obj)) == obj


@pytest.mark.parametrize("value", [True, False, {"type": "string"}, {}])
def test_a_flag_may_stand_for_a_schema(value: Any) -> None:
    assert schema_with("additionalProperties", value) == value


@pytest.mark.parametrize("value", [{"type": "string"}, [{"type": "string"}, {}], {}])
def test_a_list_may_stand_for_a_schema(value: Any) -> None:
    assert schema_with("items", value) == value


@pytest.mark.parametrize("value", [["a", "b"], {"minimum": 2}, {"maximum": -0.5}])
def test_names_may_stand_for_a_schema(value: Any) -> None:
    assert schema_with("dependencies", {"x": value}) == {"x": value}


@pytest.mark.parametrize("value", [0, "", False, [], {}, 3.25, 7, "text", {"a": None}])
def test_a_default_is_any_json(value: Any) -> None:
    read = schema_with("default", value)

    assert (read, type(read)) == (value, type(value))


def schema_with(field: str, value: Any) -> Any:
    """Return a field of a definition's schema after it was written and read."""
    schema = {"properties": {"a": {field: value}}}
    version = {"name": "v1", "schema": {"openAPIV3Schema": schema}}
    head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    read = decode_protobuf(encode_protobuf(head | {"spec": {"versions": [version]}}))
    [read_version] = read["spec"]["versions"]
    return read_version["schema"]["openAPIV3Schema"]["properties"]["a"][field]


# -- over HTTP


class Binary:
    """A client that sends and accepts nothing but protobuf."""

    def __init__(self, url: str) -> None:
        self._url = url

    def call(self, method: str, path: str, obj: dict[str, Any] | None = None, **query: str) -> Any:
        response = self.open(method, path, obj, **query)
        assert response.headers["content-type"] == PROTOBUF_TYPE
        body = decode_protobuf(response.data)
        return Answer(response.status, body)

    def open(
        self, method: str, path: str, obj: dict[str, Any] | None = None, **query: str
    ) -> urllib3.BaseHTTPResponse:
        return urllib3.request(
            method,
            self._url + path,
            fields=query if obj is None else None,
            body=None if obj is None else encode_protobuf(obj),
            headers={"Content-Type": PROTOBUF_TYPE, "Accept": PROTOBUF_TYPE},
            retries=False,
            preload_content=query.get("watch") is None,
        )


@pytest.fixture
def binary(server: EmbeddedAPIServer) -> Binary:
    return Binary(server.url)


@pytest.fixture(scope="module")
def shared_server() -> Iterator[EmbeddedAPIServer]:
    with EmbeddedAPIServer() as server:
        yield server


def in_both(obj: Any, message_obj: Any) -> bool:
    """Compare an object in JSON with what is left of it in protobuf: no nulls, no empty lists."""
    return _plain(obj) == _plain(message_obj)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        members = {key: _plain(member) for key, member in value.items()}
        return {key: member for key, member in members.items() if member not in (None, "", [], {})}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value or None


@pytest.mark.parametrize("resource", KINDS, ids=lambda item: f"{item.api_version}-{item.kind}")
def test_each_list_is_answered_in_protobuf(
    shared_server: EmbeddedAPIServer, resource: Resource
) -> None:
    if "list" not in resource.verbs:
        pytest.skip("it has no list")
    binary, api = Binary(shared_server.url), Api(shared_server.url)
    path = path_of(resource)

    answer = binary.call("GET", path)

    assert answer.status == 200
    assert answer.body["kind"] == resource.list_kind
    items = api.get(path)["items"]
    for item in items:
        item.update({"apiVersion": resource.api_version, "kind": resource.kind})
    shown = [
        {"apiVersion": resource.api_version, "kind": resource.kind, **item}
        for item in answer.body.get("items", ())
    ]
    assert in_both(items, shown)


def test_objects_that_a_real_server_was_sent_are_the_same_in_protobuf(
    shared_server: EmbeddedAPIServer,
) -> None:
    binary, api = Binary(shared_server.url), Api(shared_server.url)
    seen = set()
    for path, resource, obj in recorded_objects():
        kind = resource.api_version, resource.kind
        created = api.call("POST", path, obj, dryRun="All")
        if kind in seen or created.status != 201 or "generateName" in obj["metadata"]:
            continue
        answer = binary.call("POST", f"{path}?dryRun=All", obj)
        assert answer.status == 201, answer.body
        for body in (created.body, answer.body):
            for name in ("uid", "creationTimestamp", "managedFields"):
                body["metadata"].pop(name, None)
        text = json.dumps([_plain(created.body), _plain(answer.body)])
        # These have labels, addresses, and the kinds of templates, which protobuf leaves out.
        if resource.kind not in ("Job", "Service", "StatefulSet"):
            assert in_both(created.body, answer.body), text
        seen.add(kind)
    assert len(seen) > 25


def test_a_definition_and_an_api_service_are_created_in_protobuf(binary: Binary, api: Api) -> None:
    definition = copy_json(widget_crd())
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"]["any"] = {
        "type": "object",
        "additionalProperties": {"type": "array", "items": {"type": "number", "minimum": 0.5}},
        "default": {"a": [1.5]},
    }

    head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    created = binary.call("POST", CRDS, definition | head)

    assert created.status == 201, created.body
    stored = api.get(f"{CRDS}/{definition['metadata']['name']}")
    assert stored["spec"]["versions"][0]["schema"] == definition["spec"]["versions"][0]["schema"]
    service = {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": "v1.x.example.com"},
        "spec": {
            "group": "x.example.com",
            "version": "v1",
            "groupPriorityMinimum": 100,
            "versionPriority": 10,
            "service": {"namespace": "default", "name": "s", "port": 443},
            "insecureSkipTLSVerify": True,
        },
    }
    assert binary.call("POST", "/apis/apiregistration.k8s.io/v1/apiservices", service).status == 201


def test_a_failure_is_a_status_in_protobuf(binary: Binary) -> None:
    answer = binary.call("GET", f"{CONFIGMAPS}/none")

    assert (answer.status, answer.body["kind"], answer.body["reason"]) == (
        404,
        "Status",
        "NotFound",
    )
    assert answer.body["details"] == {"name": "none", "kind": "configmaps"}


def test_what_clients_post_to_subresources_is_read_and_answered(binary: Binary, api: Api) -> None:
    core = "/api/v1/namespaces/default"
    pod = {"containers": [{"name": "c", "image": "image"}]}
    api.create(f"{core}/pods", {"metadata": {"name": "p"}, "spec": pod})
    api.create(f"{core}/serviceaccounts", {"metadata": {"name": "a"}})
    apps = "/apis/apps/v1/namespaces/default/deployments"
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    api.create(apps, {"metadata": {"name": "d"}, "spec": spec})

    scale = binary.call("GET", f"{apps}/d/scale").body
    scaled = binary.call("PUT", f"{apps}/d/scale", scale | {"spec": {"replicas": 3}})
    token = binary.call(
        "POST",
        f"{core}/serviceaccounts/a/token",
        {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}},
    )
    review = binary.call(
        "POST",
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}},
        },
    )
    eviction = binary.call(
        "POST",
        f"{core}/pods/p/eviction",
        {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}},
    )

    assert (scaled.status, scaled.body["spec"]) == (200, {"replicas": 3})
    assert (token.status, token.body["status"]["token"].count(".")) == (201, 2)
    assert (review.status, review.body["status"]["allowed"]) == (201, True)
    assert (eviction.status, eviction.body["status"]) == (201, "Success")
    assert api.call("GET", f"{core}/pods/p").status == 404


def test_deletions_take_their_options_and_answer_in_protobuf(binary: Binary, api: Api) -> None:
    uid = api.create(CONFIGMAPS, configmap("a"))["metadata"]["uid"]
    options = {"apiVersion": "v1", "kind": "DeleteOptions"}

    refused = binary.call("DELETE", f"{CONFIGMAPS}/a", options | {"preconditions": {"uid": "x"}})
    deleted = binary.call("DELETE", f"{CONFIGMAPS}/a", options | {"preconditions": {"uid": uid}})

    assert (refused.status, refused.body["reason"]) == (409, "Conflict")
    assert (deleted.status, deleted.body["details"]["uid"]) == (200, uid)


def test_a_watch_is_frames_of_events(binary: Binary, api: Api) -> None:
    created = api.create(CONFIGMAPS, configmap("a"))
    response = binary.open("GET", CONFIGMAPS, watch="1", timeoutSeconds="1")
    frames = response.read()

    assert response.headers["content-type"] == f"{PROTOBUF_TYPE};stream=watch"
    size = int.from_bytes(frames[:4], "big")
    event = dict(read_fields(frames[4 : 4 + size]))
    obj = decode_protobuf(dict(read_fields(event[2]))[1])  # type: ignore[arg-type]
    assert event[1] == b"ADDED"
    assert in_both(obj, created)


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/api", "APIVersions"), ("/apis", "APIGroupList"), ("/apis/apps", "APIGroup"),
     ("/apis/apps/v1", "APIResourceList"), ("/api/v1", "APIResourceList")],
)  # fmt: skip
def test_discovery_is_answered_in_protobuf(
    shared_server: EmbeddedAPIServer, path: str, kind: str
) -> None:
    answer = Binary(shared_server.url).call("GET", path)

    assert (answer.status, answer.body["kind"]) == (200, kind)
    if kind == "APIResourceList":
        assert all("get" in item["verbs"] or item["verbs"] for item in answer.body["resources"])


def test_a_custom_resource_has_metadata_but_no_object_in_protobuf(
    widgets: Api, binary: Binary
) -> None:
    widgets.create(WIDGETS, widget("w"))
    accept = f"{PROTOBUF_TYPE};as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

    whole = urllib3.request("GET", widgets.url + WIDGETS, headers={"Accept": PROTOBUF_TYPE})
    part = urllib3.request("GET", f"{widgets.url}{WIDGETS}/w", headers={"Accept": accept})

    assert (whole.status, decode_protobuf(whole.data)["reason"]) == (406, "NotAcceptable")
    assert part.status == 200
    assert decode_protobuf(part.data)["metadata"]["name"] == "w"


@pytest.mark.parametrize(
    "accept", [f"{PROTOBUF_TYPE},application/json", f"{PROTOBUF_TYPE}, */*", "application/json"]
)
def test_a_client_that_accepts_json_gets_it(shared_server: EmbeddedAPIServer, accept: str) -> None:
    response = urllib3.request("GET", shared_server.url + "/api/v1", headers={"Accept": accept})
    objects = urllib3.request("GET", shared_server.url + CONFIGMAPS, headers={"Accept": accept})

    assert response.headers["content-type"] == "application/json"
    assert objects.headers["content-type"] == "application/json"


# -- limits


def test_a_body_of_very_many_values_is_refused_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A body of 3 MB can have a million and a half empty messages."""
    header = message((1, "v1"), (2, "Pod"))
    containers = b"\x12\x00" * (decoding._MOST_VALUES + 1)
    body = b"k8s\x00" + message((1, header), (2, message((2, containers))))
    started = time.process_time()

    with pytest.raises(ProtobufError, match="more than 100000 values"):
        decode_protobuf(body)

    assert time.process_time() - started < 5
