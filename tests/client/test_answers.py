"""What comes with HTTP 200 and is no answer: every operation crossed with every such body.

A real client-go takes ``{}`` and a gateway's message for an empty object or list. Here neither is
"there is nothing": a Status of failure is its error, anything else a DecodeError.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec
import pytest

from clientgo.api.authentication_v1 import TokenReview, TokenReviewSpec
from clientgo.api.authorization_v1 import (
    SelfSubjectAccessReview,
    SelfSubjectAccessReviewSpec,
    SelfSubjectRulesReview,
    SelfSubjectRulesReviewSpec,
)
from clientgo.api.core_v1 import ConfigMap, Pod
from clientgo.client import Client, DiscoveryClient
from clientgo.leaderelection import LeaderElectionRecord, LeaseLock
from clientgo.meta import (
    APIResource,
    DecodeError,
    ExpiredError,
    GroupVersion,
    NotFoundError,
    ObjectDecodeError,
    StatusError,
    Unstructured,
)
from clientgo.rest import RestConfig
from clientgo.testing.scripted_server import ScriptedServer, answer, answer_json

encode = msgspec.json.encode


def config_map(name: str = "a", **changes: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "ns", "resourceVersion": "5", "uid": "u"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata} | changes


def listing(*items: Any, **changes: Any) -> dict[str, Any]:
    metadata = {"resourceVersion": "7"}
    page = {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": metadata}
    return page | {"items": list(items)} | changes


def status(**changes: Any) -> dict[str, Any]:
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"} | changes


GONE: Final = status(reason="NotFound", code=404, message="no such thing")

NO_ANSWERS: Final[dict[str, tuple[bytes, Any]]] = {
    "status: not found": (encode(GONE), NotFoundError),
    "status: expired": (encode(status(reason="Expired", code=410)), ExpiredError),
    "status: without a code": (encode(status(message="boom")), StatusError),
    "status: with nulls": (encode(status(code=404, details=None, reason=None)), NotFoundError),
    "status: with garbage": (encode(status(code={"a": 1})), DecodeError),
    "gateway message": (b'{"message":"no Route matched with those values"}', DecodeError),
    "gateway error": (b'{"error":{"code":503,"status":"UNAVAILABLE"}}', DecodeError),
    "gateway status": (b'{"status":"Failure","code":503}', DecodeError),
    "empty object": (b"{}", DecodeError),
    "empty list": (b"[]", DecodeError),
    "null": (b"null", DecodeError),
    "true": (b"true", DecodeError),
    "number": (b"200", DecodeError),
    "text": (b'"ok"', DecodeError),
    "plain text": (b"ok", DecodeError),
    "html": (b"<!doctype html><html><body>Log in</body></html>", DecodeError),
    "nothing": (b"", DecodeError),
    "blank": (b" \n", DecodeError),
    "cut short": (encode(config_map(data={"k": "v"}))[:-9], DecodeError),
    "cut within a list": (encode(listing(config_map()))[:-9], DecodeError),
    "garbage behind": (encode(config_map()) + b"}", DecodeError),
    "twice": (encode(config_map()) * 2, DecodeError),
    "list twice": (encode(listing()) * 2, DecodeError),
    "byte order mark": (b"\xef\xbb\xbf" + encode(config_map()), DecodeError),
    "utf-16": (encode(config_map()).decode().encode("utf-16"), DecodeError),
    "metadata alone": (b'{"metadata":{}}', DecodeError),
    "no name": (encode(config_map(metadata={"namespace": "ns"})), DecodeError),
    "null metadata": (encode(config_map(metadata=None)), DecodeError),
    "kind that is no text": (encode(config_map(kind=3)), DecodeError),
    "another kind": (encode(config_map(kind="Secret")), DecodeError),
    "another version": (encode(config_map(apiVersion="v2")), DecodeError),
    "another group": (encode(config_map(apiVersion="example.com/v1")), DecodeError),
    "table": (
        b'{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{},"rows":[]}',
        DecodeError,
    ),
    "list without items": (b'{"kind":"ConfigMapList","apiVersion":"v1"}', DecodeError),
    "null items of nothing": (b'{"items":null}', DecodeError),
    "items that are an object": (encode(listing(items={})), DecodeError),
    "items that are text": (encode(listing(items="none")), DecodeError),
    "list of another kind": (encode(listing(kind="SecretList")), DecodeError),
    "list of another group": (encode(listing(apiVersion="example.com/v1")), DecodeError),
    "list of nulls": (encode(listing(None)), DecodeError),
    "list of text": (encode(listing("a")), DecodeError),
    "list of numbers": (encode(listing(config_map(), 5)), DecodeError),
    "list of empty objects": (encode(listing({})), DecodeError),
    "list of objects without names": (encode(listing({"metadata": {}})), DecodeError),
    "list of statuses": (encode(listing(GONE)), (DecodeError, StatusError)),
    "list that says no kind, of another kind": (
        encode({"items": [config_map(kind="Secret")]}),
        DecodeError,
    ),
    "list of v1, of another kind": (
        encode(listing(config_map(kind="Secret"), kind="List")),
        DecodeError,
    ),
    "success": (encode(status(status="Success")), DecodeError),
    "object": (encode(config_map()), DecodeError),
    "list": (encode(listing(config_map())), DecodeError),
}
"""Each body, and the error that it is for whoever does not accept it."""

_OBJECTS: Final = frozenset({"object"})
_LISTS: Final = frozenset({"list"})
_OTHERS: Final = frozenset({"another kind", "another version", "another group"})
_ANYTHING_CREATED: Final = _OBJECTS | _OTHERS

Call = Callable[[Any], Any]

PATCH: Final = {"data": {"k": "v"}}
OPERATIONS: Final[dict[str, tuple[Call, frozenset[str]]]] = {
    "get": (lambda c: c.get("a"), _OBJECTS),
    "get status": (lambda c: c.get("a", subresource="status"), _OBJECTS),
    "create": (lambda c: c.create(config_map()), _OBJECTS),
    "create with a generated name": (
        lambda c: c.create({"metadata": {"namespace": "ns", "generateName": "a-"}}),
        _OBJECTS,
    ),
    "update": (lambda c: c.update(config_map()), _OBJECTS),
    "update status": (lambda c: c.update_status(config_map()), _OBJECTS),
    "patch": (lambda c: c.patch("a", PATCH), _OBJECTS),
    "apply": (lambda c: c.apply(config_map(), field_manager="m"), _OBJECTS),
    "apply status": (lambda c: c.apply_status(config_map(), field_manager="m"), _OBJECTS),
    "list": (lambda c: c.list(), _LISTS),
}


@pytest.fixture(name="server")
def _server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


@pytest.fixture(name="client")
def _client(server: ScriptedServer) -> Iterator[Client]:
    with Client(RestConfig(server=server.url, qps=-1)) as client:
        yield client


CONFIG_MAPS: Final = APIResource(version="v1", kind="ConfigMap", plural="configmaps")


def resource_client(client: Client, form: str) -> Any:
    if form == "headers":
        return client.metadata(ConfigMap).namespace("ns")
    kind: Any = ConfigMap if form == "typed" else CONFIG_MAPS
    return client.resource(kind).namespace("ns")


def check_refused(call: Callable[[], Any], case: str) -> None:
    """The typed error, with what came or what it means, and the request."""
    _, error = NO_ANSWERS[case]
    with pytest.raises(error) as raised:
        call()
    assert re.search(r"\((GET|POST|PUT|PATCH|DELETE) http://", str(raised.value))


@pytest.mark.parametrize("form", ["typed", "unstructured", "headers"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_what_is_no_answer_is_an_error(server, client, operation, form):
    call, accepted = OPERATIONS[operation]
    if form == "unstructured" and operation.startswith("create"):
        # An aggregated API may create another kind, and the object says what it is.
        accepted = _ANYTHING_CREATED
    resource = resource_client(client, form)
    for case, (body, _) in NO_ANSWERS.items():
        server.on("*", answer(body=body))
        if case in accepted:
            call(resource)
        else:
            check_refused(lambda: call(resource), case)


@pytest.mark.parametrize("operation", ["delete", "delete_collection"])
def test_a_deletion_is_answered_by_success_an_object_or_a_list(server, client, operation):
    """The rest is a gateway's: nothing was deleted."""
    resource = client.resource(ConfigMap).namespace("ns")
    accepted = {"success", "object", "list", *_OTHERS} | {
        case
        for case, (body, _) in NO_ANSWERS.items()
        if body.startswith((b'{"kind":"ConfigMapList"', b'{"kind":"SecretList"', b'{"kind":"List"'))
        and case not in ("list twice", "cut within a list")
    }
    for case, (body, _) in NO_ANSWERS.items():
        server.on("*", answer(body=body))
        call = resource.delete_collection if operation != "delete" else lambda: resource.delete("a")
        if case in accepted:
            call()
        else:
            check_refused(call, case)


SCALE: Final = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}}


@pytest.mark.parametrize(
    "call",
    [
        lambda c: c.get("a", subresource="scale"),
        lambda c: c.update(SCALE, name="a", subresource="scale"),
        lambda c: c.patch("a", {}, subresource="scale"),
    ],
)
def test_a_part_of_an_object_may_be_of_any_kind(server, client, call):
    resource = client.resource(ConfigMap).namespace("ns")
    server.on("*", answer_json(SCALE))

    assert call(resource).to_dict()["kind"] == "Scale"
    for case in ("status: not found", "success", "gateway message", "empty object", "html"):
        server.on("*", answer(body=NO_ANSWERS[case][0]))
        check_refused(lambda: call(resource), case)


def test_an_eviction_is_answered_by_a_status_of_success(server, client):
    """Source: pods/eviction and pods/binding answer so, never with what was sent."""
    pods = client.resource(Pod).namespace("ns")
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}}

    def evict() -> Any:
        return pods.create(eviction, name="a", subresource="eviction")

    server.on("*", answer_json(status(status="Success")))
    evict()
    for case in ("status: not found", "gateway message", "empty object", "html", "nothing"):
        server.on("*", answer(body=NO_ANSWERS[case][0]))
        check_refused(evict, case)


ACCESS: Final = SelfSubjectAccessReview(spec=SelfSubjectAccessReviewSpec())
REVIEWS: Final = [
    ACCESS,
    SelfSubjectRulesReview(spec=SelfSubjectRulesReviewSpec(namespace="ns")),
    TokenReview(spec=TokenReviewSpec(token="t")),
]


@pytest.mark.parametrize("review", REVIEWS, ids=lambda review: review.kind)
def test_a_review_that_was_not_decided_is_neither_yes_nor_no(server, client, review):
    """The status that is sent is a default, and says "denied" or "not authenticated"."""
    plain = {"apiVersion": review.api_version, "kind": review.kind, "metadata": {}, "spec": {}}
    bodies = [encode(plain), encode(plain | {"status": None})]
    bodies += [body for name, (body, _) in NO_ANSWERS.items() if name != "status: without a code"]
    for body in bodies:
        server.on("*", answer(body=body))
        with pytest.raises((DecodeError, StatusError)):
            client.resource(type(review)).create(review)


def test_a_review_without_allowed_is_no_decision(server, client):
    plain = {"apiVersion": ACCESS.api_version, "kind": ACCESS.kind, "metadata": {}, "spec": {}}
    server.on("*", answer_json(plain | {"status": {}}))
    reviewed = client.resource(SelfSubjectAccessReview).create(ACCESS)
    with pytest.raises(ObjectDecodeError, match="allowed"):
        _ = reviewed.status

    server.on("*", answer_json(plain | {"status": {"allowed": True}}))
    assert client.resource(SelfSubjectAccessReview).create(ACCESS).status.allowed is True


LEASE: Final = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}


@pytest.mark.parametrize("case", NO_ANSWERS)
@pytest.mark.parametrize("verb", ["get", "create"])
def test_what_is_no_lease_is_not_a_lease_without_a_holder(server, client, verb, case):
    lock = LeaseLock(client, "ns", "a", "me")
    record = LeaderElectionRecord(holder_identity="me")
    server.on("*", answer(body=NO_ANSWERS[case][0]))

    calls = {"get": lambda: lock.get(timeout=5), "create": lambda: lock.create(record, timeout=5)}
    with pytest.raises((DecodeError, StatusError)):
        calls[verb]()


ASKED: Final[dict[str, tuple[Callable[[DiscoveryClient], Any], dict[str, Any]]]] = {
    "groups": (lambda d: d.groups(), {"kind": "APIGroupList", "groups": []}),
    "resources": (
        lambda d: d.resources(GroupVersion("apps", "v1")),
        {"kind": "APIResourceList", "groupVersion": "apps/v1", "resources": []},
    ),
    "version": (lambda d: d.server_version(), {"major": "1", "minor": "31", "gitVersion": "v1"}),
}


@pytest.mark.parametrize("content_type", ["application/json", "aggregated"])
@pytest.mark.parametrize("asked", ASKED)
def test_what_is_no_discovery_document_does_not_say_that_nothing_is_served(
    server, asked, content_type
):
    if content_type == "aggregated":
        content_type = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    call, good = ASKED[asked]
    discovery = DiscoveryClient(server.url)
    server.on("/api", answer_json({"kind": "APIVersions", "versions": ["v1"]}))
    for body, error in NO_ANSWERS.values():
        for path in ("/apis", "/apis/apps/v1", "/version"):
            server.on(path, answer(body=body, content_type=content_type))
        with pytest.raises(error):
            call(discovery)
    if content_type == "application/json":
        for path in ("/apis", "/apis/apps/v1", "/version"):
            server.on(path, answer_json(good))
        call(discovery)


def test_a_group_whose_document_is_none_has_failed_and_is_asked_for_again(server, client):
    gateway = answer_json({"message": "no route"})
    apps = {"name": "apps", "versions": [{"groupVersion": "apps/v1"}]}
    deployments = {"name": "deployments", "kind": "Deployment", "verbs": ["list"]}
    server.on("/api", answer_json({"versions": ["v1"]}))
    server.on("/apis", answer_json({"groups": [apps]}))
    server.on("/api/v1", answer_json({"resources": [deployments]}))
    server.on("/apis/apps/v1", gateway, gateway, answer_json({"resources": [deployments]}))

    failed = client.discovery.discover().failed
    served = client.discovery.resources(GroupVersion("apps", "v1"))

    assert list(failed) == [GroupVersion("apps", "v1")]
    assert isinstance(failed[GroupVersion("apps", "v1")], DecodeError)
    assert [resource.plural for resource in served] == ["deployments"]


EMPTY_LISTS: Final = {
    "plain": listing(),
    "null items": listing(items=None),
    "no metadata": {"kind": "ConfigMapList", "apiVersion": "v1", "items": []},
    "null metadata": listing(metadata=None),
    "no kind": {"metadata": {"resourceVersion": "7"}, "items": []},
    "v1 List": listing(kind="List"),
}


@pytest.mark.parametrize("form", ["typed", "unstructured", "headers"])
@pytest.mark.parametrize("case", EMPTY_LISTS)
def test_what_says_that_there_is_nothing_is_an_empty_list(server, client, case, form):
    server.on("*", answer_json(EMPTY_LISTS[case]))

    assert resource_client(client, form).list().items == []


def test_a_definition_may_name_its_list_as_it_likes(server, client):
    """``spec.names.listKind``; it ends in List."""
    widgets = APIResource(group="example.com", version="v1", kind="Widget", plural="widgets")
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}}
    page = {"kind": "AllWidgetsList", "apiVersion": "example.com/v1", "metadata": {}}
    resource = client.resource(widgets).namespace("ns")

    server.on("*", answer_json(page | {"items": []}))
    assert resource.list().items == []
    server.on("*", answer_json(page | {"items": [widget]}))
    assert [obj.metadata.name for obj in resource.list().items] == ["a"]
    server.on("*", answer_json(page | {"items": [widget | {"kind": "Gadget"}]}))
    with pytest.raises(DecodeError, match=r"not a Widget of example.com/v1 but a Gadget"):
        resource.list()


def test_an_error_names_both_kinds_and_the_request(server, client):
    server.on("*", answer_json(config_map(kind="Secret")))

    with pytest.raises(DecodeError) as raised:
        client.resource(ConfigMap).namespace("ns").get("a")

    assert str(raised.value) == (
        "not a ConfigMap of v1 but a Secret of v1; got "
        f"{encode(config_map(kind='Secret'))[:120]!r} "
        f"(GET {server.url}/api/v1/namespaces/ns/configmaps/a; is this the API server, or a "
        "proxy or gateway that answers for it?)"
    )


def test_an_object_of_a_kind_called_status_is_no_refusal(server, client):
    """Another group may have such a kind."""
    kind = APIResource(group="example.com", version="v1", kind="Status", plural="statuses")
    mine = {"apiVersion": "example.com/v1", "kind": "Status", "metadata": {"name": "a"}}
    server.on("*", answer_json(mine))

    got = client.resource(kind).namespace("ns").get("a")

    assert isinstance(got, Unstructured)
    assert got.to_dict() == mine
