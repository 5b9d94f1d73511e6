"""Responses of admission webhooks that are not as they should be."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from clientgo.testcluster.server.admission.webhook_responses import read_response
from clientgo.testcluster.server.http.webhook_client import WebhookCallError
from tests.conformance.webhook_server import WebhookServer
from tests.testcluster.server.conversion_webhook import ConversionWebhook, serve_two_versions
from tests.testcluster.server.http_api import CONFIGMAPS, WIDGETS, Api, configmap, widget

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
PATCH = base64.b64encode(b"[]").decode()


@pytest.fixture
def webhook() -> Iterator[WebhookServer]:
    server = WebhookServer()
    yield server
    server.close()


@pytest.fixture
def hooked(api: Api, webhook: WebhookServer) -> Api:
    """A client for a server that asks the webhook twice for a new ConfigMap, or Widget as v2."""
    rules = [
        {"apiGroups": [group], "apiVersions": [version], "resources": [resource]}
        | {"operations": ["CREATE"]}
        for group, version, resource in (("", "v1", "configmaps"), ("example.com", "v2", "widgets"))
    ]
    webhooks = [
        {
            "name": f"{name}.example.com",
            "clientConfig": {
                "url": f"{webhook.url}/{name}",
                "caBundle": base64.b64encode(webhook.ca_pem).decode(),
            },
            "rules": rules,
            "objectSelector": {"matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]},
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "failurePolicy": policy,
        }
        for name, policy in (("first", "Fail"), ("second", "Ignore"))
    ]
    webhook.answers["/second"] = {"response": {"allowed": True}}
    api.create(CONFIGURATIONS, {"metadata": {"name": "a"}, "webhooks": webhooks})
    return api


def review(**response: Any) -> dict[str, Any]:
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {"uid": "u", "allowed": True, **response},
    }


@pytest.mark.parametrize(
    "response",
    [
        {},
        {"warnings": None, "status": None, "patch": None, "auditAnnotations": {"k": "v"}},
        {"patch": PATCH, "patchType": "JSONPatch"},
        {"unknown": [1]},
    ],
)
def test_a_correct_response_is_read(response: dict[str, Any]) -> None:
    assert read_response(review(**response), "u", mutating=True).allowed


@pytest.mark.parametrize(
    ("response", "problem"),
    [
        ({"allowed": "false"}, "Expected `bool"),
        ({"warnings": "text"}, "Expected `array"),
        ({"warnings": [1]}, "Expected `str"),
        ({"status": "denied"}, "Expected `object"),
        ({"status": {"code": 2**40}}, "Expected `int`"),
        ({"status": {"details": {"causes": 1}}}, "Expected `array"),
        ({"patch": 1}, "Expected `str"),
        ({"patch": "%"}, "response.patch is no base64"),
        ({"patch": "é"}, "response.patch is no base64"),
        ({"uid": "other"}, 'expected response.uid="u", got "other"'),
        ({"patch": PATCH}, "webhook returned response.patch but not response.patchType"),
        ({"patchType": "JSONPatch"}, "webhook returned response.patchType but not response.patch"),
        ({"patch": PATCH, "patchType": "Merge"}, 'invalid response.patchType of "Merge"'),
    ],
)
def test_an_incorrect_response_is_a_failed_call(response: dict[str, Any], problem: str) -> None:
    with pytest.raises(WebhookCallError) as failed:
        read_response(review(**response), "u", mutating=True)

    assert problem in str(failed.value)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ({}, "webhook response was absent"),
        ({"response": 1}, "Expected `object"),
        ({**review(), "kind": "Status"}, "got admission.k8s.io/v1, Kind=Status"),
        (review(patch=PATCH), "validating webhook may not return response.patch"),
        (review(patchType="JSONPatch"), "validating webhook may not return response.patchType"),
    ],
)
def test_a_validating_webhook_answers_a_review_without_a_patch(answer: Any, problem: str) -> None:
    with pytest.raises(WebhookCallError) as failed:
        read_response(answer, "u", mutating=False)

    assert problem in str(failed.value)


@pytest.mark.parametrize(
    ("code", "expected"), [(None, 400), (0, 400), (200, 400), (418, 418), (600, 599)]
)
def test_a_denial_is_an_error_whatever_its_code(code: int | None, expected: int) -> None:
    status = {"code": code, "message": "no", "details": {"causes": [{"field": "f"}]}}
    error = read_response(review(status=status), "u", mutating=True).denial("w")

    assert (error.code, str(error)) == (expected, 'admission webhook "w" denied the request: no')
    assert error.details == {"causes": [{"field": "f"}]}


@pytest.mark.parametrize(
    "patch",
    [
        5,
        ["x"],
        [{"op": "replace", "path": "/metadata", "value": 1}],
        [{"op": "add", "path": "/metadata/labels", "value": ["x"]}],
        [{"op": "replace", "path": "/data", "value": "x"}],
        [{"op": "remove", "path": "/missing"}],
    ],
)
def test_a_patch_that_can_not_be_applied_fails_the_write(
    hooked: Api, webhook: WebhookServer, patch: Any
) -> None:
    """Also one that leaves an object which the next webhook could not be asked about."""
    encoded = base64.b64encode(json.dumps(patch).encode()).decode()
    response = {"allowed": True, "patch": encoded, "patchType": "JSONPatch"}
    webhook.answers["/first"] = {"response": response}

    answer = hooked.call("POST", CONFIGMAPS, configmap("a"))

    assert (answer.status, answer.body["reason"]) == (500, "InternalError")
    assert 'patch of webhook "first.example.com"' in answer.body["message"]


@pytest.mark.parametrize(
    "step",
    [
        {"op": "replace", "path": "/apiVersion", "value": ["v2"]},
        {"op": "replace", "path": "/kind", "value": None},
        {"op": "replace", "path": "/apiVersion", "value": "example.com/v3"},
    ],
)
def test_a_patch_leaves_an_object_of_the_version_that_the_webhook_was_asked_about(
    hooked: Api, webhook: WebhookServer, step: dict[str, Any]
) -> None:
    conversion = ConversionWebhook()
    serve_two_versions(hooked, conversion)
    encoded = base64.b64encode(json.dumps([step]).encode()).decode()
    response = {"allowed": True, "patch": encoded, "patchType": "JSONPatch"}
    webhook.answers["/first"] = {"response": response}

    answer = hooked.call("POST", WIDGETS, widget("a"))
    conversion.close()

    assert answer.status == 500
    assert "an unexpected error" not in answer.body["message"]


def test_the_failure_policy_decides_on_a_response_that_can_not_be_read(
    hooked: Api, webhook: WebhookServer
) -> None:
    deep = '{"response":' * 5000 + "1" + "}" * 5000
    webhook.answers["/first"] = {"response": {"allowed": True}}
    webhook.answers["/second"] = {"raw": deep}
    ignored = hooked.call("POST", CONFIGMAPS, configmap("a"))
    webhook.answers["/first"] = {"raw": deep}
    failed = hooked.call("POST", CONFIGMAPS, configmap("b"))

    assert ignored.status == 201
    assert failed.status == 500
    assert 'failed calling webhook "first.example.com"' in failed.body["message"]
