"""How often a cause is in the response to an update."""

from __future__ import annotations

import pytest

from tests.testcluster.server.http_api import MERGE_PATCH, Api
from tests.testcluster.server.kinds.causes import (
    BUDGETS,
    CLAIM,
    CLAIMS,
    CORE,
    PORT,
    SERVICES,
    VOLUMES,
    Object,
    named,
)

NEW_POD = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
NEW_VOLUME = {
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
        "hostPath": {"path": "/x"},
    }
}


BAD_LABEL = {"metadata": {"labels": {"a": "b c"}}}


@pytest.mark.parametrize(
    ("collection", "body", "subresource", "change", "expected"),
    [
        (CLAIMS, {"spec": CLAIM}, "", BAD_LABEL, ["metadata.labels:Invalid"] * 4),
        (
            CLAIMS,
            {"spec": CLAIM},
            "",
            {"spec": {"accessModes": ["X"]}},
            ["spec.accessModes:NotSupported", "spec:Forbidden"],
        ),
        (VOLUMES, NEW_VOLUME, "", {"spec": {"accessModes": []}}, ["spec.accessModes:Required"] * 2),
        (SERVICES, {"spec": {"ports": [PORT]}}, "", BAD_LABEL, ["metadata.labels:Invalid"] * 3),
        (
            f"{CORE}/pods",
            NEW_POD,
            "",
            {"spec": {"tolerations": [{"key": "-x", "operator": "Exists"}]}},
            ["spec.tolerations[0].key:Invalid"] * 2,
        ),
        (
            "/apis/scheduling.k8s.io/v1/priorityclasses",
            {"value": 1},
            "",
            {"value": 2000000000, "preemptionPolicy": "X"},
            ["preemptionPolicy:Invalid", "value:Forbidden"],
        ),
        (
            BUDGETS,
            {"spec": {"minAvailable": 1}},
            "/status",
            {"status": {"conditions": [{"status": "X", "reason": "a b"}]}},
            [
                "status.conditions[0].lastTransitionTime:Required",
                "status.conditions[0].reason:Invalid",
                "status.conditions[0].status:NotSupported",
                "status.conditions[0].type:Invalid",
                "status.conditions[0].type:Invalid",
            ],
        ),
    ],
)
def test_an_update_has_each_cause_as_often_as_on_a_real_server(
    api: Api, collection: str, body: Object, subresource: str, change: Object, expected: list[str]
) -> None:
    api.create(collection, {"metadata": {"name": "a"}, **body})
    answer = api.call("PATCH", f"{collection}/a{subresource}", change, MERGE_PATCH)
    found = answer.body["details"]["causes"]
    assert sorted(
        f"{cause['field']}:{cause['reason'].removeprefix('FieldValue')}" for cause in found
    ) == sorted(expected)


@pytest.mark.parametrize(("prefix", "accepted"), [("g-", True), ("Bad_", False)])
def test_an_update_writes_the_prefix_of_a_generated_name(
    shared: Api, prefix: str, accepted: bool
) -> None:
    collection = "/api/v1/namespaces/default/configmaps"
    name = prefix.strip("-_").lower()
    shared.create(collection, {"metadata": {"name": name}})

    body = {"metadata": {"name": name, "generateName": prefix}}
    answer = shared.call("PUT", f"{collection}/{name}", body)

    if accepted:
        assert answer.body["metadata"]["generateName"] == prefix
    else:
        assert [cause["field"] for cause in answer.body["details"]["causes"]] == [
            "metadata.generateName"
        ]


@pytest.mark.parametrize(
    ("collection", "body"),
    [
        ("/apis/node.k8s.io/v1/runtimeclasses", {"handler": "h"}),
        ("/apis/storage.k8s.io/v1/csidrivers", {"spec": {}}),
        ("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", {}),
    ],
)
def test_some_kinds_are_updated_with_their_version_only(
    shared: Api, collection: str, body: Object
) -> None:
    created = shared.create(collection, named(**body))

    answer = shared.call("PUT", f"{collection}/a", named(**body))

    assert (answer.status, answer.body["details"]["kind"]) == (422, collection.rpartition("/")[2])
    assert [cause["field"] for cause in answer.body["details"]["causes"]] == [
        "metadata.resourceVersion"
    ]
    assert shared.call("PUT", f"{collection}/a", created).status == 200


def test_a_service_account_keeps_only_the_names_of_secrets(shared: Api) -> None:
    secrets = [{"name": "s", "kind": "Secret", "uid": "u"}]
    account = {"metadata": {"name": "keeper"}, "secrets": secrets}

    created = shared.create("/api/v1/namespaces/default/serviceaccounts", account)

    assert created["secrets"] == [{"name": "s"}]
