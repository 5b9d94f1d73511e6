"""The bodies of subresources are read by their types, as those of other requests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from clientgo.testcluster.server import EmbeddedAPIServer
from tests.testcluster.server.http_api import MERGE_PATCH, Api

_CORE = "/api/v1/namespaces/default"
_POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
_CONTROLLER = {"metadata": {"name": "r"}, "spec": {"selector": {"a": "b"}, "replicas": 2}}
_TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": _POD["spec"]}

BODIES = {
    "Binding": ("POST", f"{_CORE}/pods/p/binding"),
    "Eviction": ("POST", f"{_CORE}/pods/p/eviction"),
    "TokenRequest": ("POST", f"{_CORE}/serviceaccounts/a/token"),
    "Scale": ("PUT", f"{_CORE}/replicationcontrollers/r/scale"),
}


@pytest.fixture(scope="module")
def shared() -> Iterator[Api]:
    """A client for a server with a pod, a service account and a replication controller."""
    with EmbeddedAPIServer() as server:
        api = Api(server.url)
        api.create(f"{_CORE}/pods", _POD)
        api.create(f"{_CORE}/serviceaccounts", {"metadata": {"name": "a"}})
        spec = {**_CONTROLLER["spec"], "template": _TEMPLATE}
        api.create(f"{_CORE}/replicationcontrollers", {**_CONTROLLER, "spec": spec})
        yield api


@pytest.mark.parametrize("kind", BODIES)
@pytest.mark.parametrize(
    "body",
    [
        {"metadata": "x"},
        {"metadata": 80},
        {"metadata": [[]]},
        {"metadata": {"name": 1}},
        {"metadata": {"resourceVersion": 1}},
        {"metadata": {"labels": "x"}},
        {"kind": "Pod", "apiVersion": "v1"},
        {"kind": 1},
        {"apiVersion": True},
        {"spec": "x", "target": "x", "deleteOptions": "x"},
        [],
    ],
)
def test_a_body_of_a_subresource_that_its_type_can_not_hold_is_refused(
    shared: Api, kind: str, body: Any
) -> None:
    method, path = BODIES[kind]

    answer = shared.call(method, path, body)

    assert (answer.status, answer.body["reason"]) == (400, "BadRequest"), answer.body


@pytest.mark.parametrize(
    ("kind", "body", "path"),
    [
        ("Binding", {"target": {"name": 1}}, "target.name"),
        ("Eviction", {"deleteOptions": {"gracePeriodSeconds": "x"}}, "gracePeriodSeconds"),
        ("TokenRequest", {"spec": {"audiences": {}}}, "spec.audiences"),
        ("Scale", {"spec": {"replicas": "3"}}, "spec.replicas"),
    ],
)
def test_the_refusal_names_the_kind_and_the_field(
    shared: Api, kind: str, body: Any, path: str
) -> None:
    method, address = BODIES[kind]

    message = shared.call(method, address, body).body["message"]

    assert f"cannot be handled as a {kind}: cannot unmarshal" in message
    assert path in message


@pytest.mark.parametrize("kind", BODIES)
def test_a_field_that_the_type_lacks_is_an_error_of_strict_validation(
    shared: Api, kind: str
) -> None:
    method, path = BODIES[kind]

    answer = shared.call(method, path, {"x": 1}, fieldValidation="Strict")

    assert answer.status == 400
    assert 'unknown field "x"' in answer.body["message"]


@pytest.mark.parametrize("body", [{"metadata": [[]]}, {"kind": "Pod"}, {"spec": []}])
def test_a_patched_scale_is_read_by_its_type(shared: Api, body: Any) -> None:
    answer = shared.call("PATCH", BODIES["Scale"][1], body, MERGE_PATCH)

    assert (answer.status, answer.body["reason"]) == (422, "Invalid"), answer.body


def test_an_eviction_may_be_of_the_version_before(shared: Api) -> None:
    body = {"apiVersion": "policy/v1beta1", "kind": "Eviction", "metadata": {"name": "p"}}

    answer = shared.call("POST", BODIES["Eviction"][1], body, dryRun="All")

    assert answer.status == 201, answer.body


def test_a_health_check_port_outside_of_the_range_is_an_error_of_the_server(shared: Api) -> None:
    spec = {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": [{"port": 80}]}
    body = {"metadata": {"name": "s"}, "spec": {**spec, "healthCheckNodePort": 80}}

    answer = shared.call("POST", f"{_CORE}/services", body)

    assert (answer.status, answer.body["reason"]) == (500, "InternalError")
