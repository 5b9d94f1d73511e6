"""A selector that can't be read is refused: later writes need it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testcluster.server.http_api import CONFIGMAPS, Api, configmap

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
BAD = {"matchExpressions": [{"key": "a", "operator": "Like", "values": ["b"]}]}
WEBHOOK = {
    "name": "w.example.com",
    "clientConfig": {"url": "https://127.0.0.1:1/x"},
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
}
REFERENCE = {"selector": BAD, "parameterNotFoundAction": "Allow"}
BINDING = {"policyName": "p", "validationActions": ["Deny"]}


@pytest.mark.parametrize(
    ("plural", "content"),
    [
        ("validatingwebhookconfigurations", {"webhooks": [{**WEBHOOK, "objectSelector": BAD}]}),
        ("mutatingwebhookconfigurations", {"webhooks": [{**WEBHOOK, "namespaceSelector": BAD}]}),
        (
            "validatingadmissionpolicybindings",
            {"spec": {**BINDING, "matchResources": {"objectSelector": BAD}}},
        ),
        ("validatingadmissionpolicybindings", {"spec": {**BINDING, "paramRef": REFERENCE}}),
    ],
)
def test_a_selector_that_is_not_valid_is_refused(
    api: Api, plural: str, content: dict[str, Any]
) -> None:
    """Found by random requests: every later write of the kind was answered with 500."""
    answer = api.call("POST", f"{ADMISSION}/{plural}", {"metadata": {"name": "a"}, **content})

    assert answer.status == 422, answer.body
    assert "elector" in answer.body["message"]
    assert api.call("POST", CONFIGMAPS, configmap("a")).status == 201
