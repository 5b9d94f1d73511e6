"""Reviews of what a user may do."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testcluster.server.http_api import Api
from tests.testcluster.server.users import Users, rule

GROUP = "/apis/authorization.k8s.io/v1"
SELF = f"{GROUP}/selfsubjectaccessreviews"
ANYONE = f"{GROUP}/subjectaccessreviews"
LOCAL = f"{GROUP}/namespaces/default/localsubjectaccessreviews"
RULES = f"{GROUP}/selfsubjectrulesreviews"

LIST_PODS = {"verb": "list", "resource": "pods", "namespace": "default"}


@pytest.fixture
def jane(users: Users) -> Users:
    users.grant("readers", rule("list", "pods"), user="jane")
    return users


def test_a_user_asks_what_it_may_do_itself(jane: Users) -> None:
    def ask(user: str, attributes: dict[str, str]) -> Any:
        spec = {"spec": {"resourceAttributes": attributes}}
        return jane.call("POST", SELF, spec, user=user).body["status"]

    assert ask("jane", LIST_PODS) == {
        "allowed": True,
        "reason": 'RBAC: allowed by RoleBinding "readers/default" of Role "readers" to User "jane"',
    }
    assert ask("jane", {**LIST_PODS, "verb": "watch"}) == {"allowed": False}
    assert ask("jane", {**LIST_PODS, "subresource": "status"}) == {"allowed": False}
    assert ask("joe", LIST_PODS) == {"allowed": False}


def test_a_review_answers_for_any_user_or_group(jane: Users) -> None:
    def allowed(path: str, **spec: Any) -> bool:
        answer: bool = jane.create(path, {"spec": spec})["status"]["allowed"]
        return answer

    pods, version = {"resourceAttributes": LIST_PODS}, {"path": "/version", "verb": "get"}
    assert allowed(ANYONE, user="jane", **pods)
    assert not allowed(ANYONE, user="joe", **pods)
    assert allowed(ANYONE, user="joe", groups=["system:masters"], **pods)
    assert allowed(ANYONE, groups=["system:authenticated"], nonResourceAttributes=version)
    assert not allowed(ANYONE, user="joe", nonResourceAttributes=version)
    assert allowed(LOCAL, user="jane", **pods)


@pytest.mark.parametrize(
    ("path", "spec", "message"),
    [
        (SELF, {}, "exactly one of nonResourceAttributes or resourceAttributes must be specified"),
        (
            SELF,
            {"resourceAttributes": LIST_PODS, "nonResourceAttributes": {"path": "/"}},
            "cannot be specified in combination with resourceAttributes",
        ),
        (
            ANYONE,
            {"resourceAttributes": LIST_PODS},
            "at least one of user or group must be specified",
        ),
        (
            LOCAL,
            {"user": "jane", "resourceAttributes": {**LIST_PODS, "namespace": "other"}},
            "must match metadata.namespace",
        ),
    ],
)
def test_reviews_that_are_refused(
    jane: Users, path: str, spec: dict[str, Any], message: str
) -> None:
    answer = jane.call("POST", path, {"spec": spec})

    assert answer.status == 422
    assert message in answer.body["message"]


def selecting(**selectors: Any) -> dict[str, Any]:
    return {"spec": {"resourceAttributes": {**LIST_PODS, **selectors}}}


@pytest.mark.parametrize(
    ("selector", "ignored"),
    [
        ({"fieldSelector": {"rawSelector": "spec.nodeName=a"}}, None),
        ({"fieldSelector": {"rawSelector": "spec.nodeName"}}, "fieldSelector ignored"),
        ({"labelSelector": {"rawSelector": "a in (b"}}, "labelSelector ignored"),
        (
            {"labelSelector": {"requirements": [{"key": "a", "operator": "Near"}]}},
            "labelSelector ignored",
        ),
        (
            {
                "fieldSelector": {
                    "requirements": [
                        {"key": "a", "operator": "In", "values": ["b"]},
                        {"key": "a", "operator": "In", "values": ["b", "c"]},
                        {"key": "a", "operator": "Exists"},
                    ]
                }
            },
            "fieldSelector partially ignored",
        ),
    ],
)
def test_a_review_says_which_selectors_it_could_not_read(
    jane: Users, selector: dict[str, Any], ignored: str | None
) -> None:
    status = jane.call("POST", SELF, selecting(**selector), user="jane").body["status"]

    expected = f"spec.resourceAttributes.{ignored} due to parse error" if ignored else None
    assert (status["allowed"], status.get("evaluationError")) == (True, expected)


@pytest.mark.parametrize("name", ["fieldSelector", "labelSelector"])
@pytest.mark.parametrize(
    ("selector", "path", "reason"),
    [
        ({}, "requirements", "Required"),
        (
            {"rawSelector": "a", "requirements": [{"key": "a", "operator": "Exists"}]},
            "rawSelector",
            "Invalid",
        ),
        (
            {"requirements": [{"key": "a", "operator": "In"}]},
            "requirements[0].values",
            "Required",
        ),
        (
            {"requirements": [{"key": "a", "operator": "Exists", "values": ["b"]}]},
            "requirements[0].values",
            "Forbidden",
        ),
    ],
)
def test_selectors_that_a_review_refuses(
    jane: Users, name: str, selector: dict[str, Any], path: str, reason: str
) -> None:
    answer = jane.call("POST", SELF, selecting(**{name: selector}))

    (cause,) = answer.body["details"]["causes"]
    assert cause["field"] == f"spec.resourceAttributes.{name}.{path}"
    assert cause["reason"] == f"FieldValue{reason}"


def test_a_review_has_no_metadata_but_its_namespace_and_owners(jane: Users) -> None:
    spec = {"user": "jane", "resourceAttributes": LIST_PODS}
    named = {"metadata": {"name": "a"}, "spec": spec}
    nameless = {"metadata": {"creationTimestamp": None}, "spec": spec}

    for path in (ANYONE, LOCAL):
        answer = jane.call("POST", path, named)
        assert answer.status == 422
        assert answer.body["details"]["causes"][0]["field"] == "metadata"
    assert jane.create(ANYONE, nameless)["metadata"].keys() == {"managedFields"}
    local = jane.create(LOCAL, nameless)["metadata"]
    assert (local.keys(), local["namespace"]) == ({"managedFields", "namespace"}, "default")
    other = jane.call("POST", LOCAL, {"metadata": {"namespace": "other"}, "spec": spec})
    assert (other.status, other.body["message"]) == (
        400,
        "the namespace of the provided object does not match the namespace sent on the request",
    )


def test_a_review_of_a_client_itself_has_the_time_as_its_only_metadata(jane: Users) -> None:
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"

    answer = jane.create(path, {"metadata": {"name": "a"}})

    assert list(answer["metadata"]) == ["creationTimestamp"]


def test_a_user_lists_its_rules(jane: Users) -> None:
    status = jane.call("POST", RULES, {"spec": {"namespace": "default"}}, user="jane").body[
        "status"
    ]

    assert rule("list", "pods") in status["resourceRules"]
    assert {"verbs": ["get"], "nonResourceURLs": ["/healthz"]} not in status["resourceRules"]
    assert any("/api" in item["nonResourceURLs"] for item in status["nonResourceRules"])
    assert status["incomplete"] is False


def test_without_rbac_every_user_may_do_everything(api: Api) -> None:
    """And lists rules that say so."""
    wanted = {"spec": {"user": "jane", "resourceAttributes": LIST_PODS}}
    assert api.create(ANYONE, wanted)["status"] == {"allowed": True}
    rules = api.create(RULES, {"spec": {"namespace": "default"}})["status"]
    assert rules["resourceRules"] == [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]
    assert rules["nonResourceRules"] == [{"verbs": ["*"], "nonResourceURLs": ["*"]}]
