"""Acting as another user, and who may."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.apiserver.http.webhook_client import WebhookClient
from tests.apiserver.users import Users, rule

REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


def who(users: Users, *headers: tuple[str, str]) -> dict[str, Any]:
    answer = users.call("POST", REVIEWS, {}, headers=headers)
    assert answer.status == 201, answer
    found: dict[str, Any] = answer.body["status"]["userInfo"]
    return found


def test_a_user_is_impersonated_with_groups_uid_and_extra(users: Users) -> None:
    found = who(
        users,
        ("Impersonate-User", "jane"),
        ("Impersonate-Group", "devs"),
        ("Impersonate-Group", "testers"),
        ("Impersonate-Uid", "1"),
        ("Impersonate-Extra-Scopes", "a"),
        ("Impersonate-Extra-Scopes", "b"),
        ("Impersonate-Extra-Acme.com%2Fproject", "p"),
    )

    assert found == {
        "username": "jane",
        "uid": "1",
        "groups": ["devs", "testers", "system:authenticated"],
        "extra": {"scopes": ["a", "b"], "acme.com/project": ["p"]},
    }


@pytest.mark.parametrize(
    ("user", "groups"),
    [
        ("jane", ["system:authenticated"]),
        (
            "system:serviceaccount:ns:robot",
            ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"],
        ),
    ],
)
def test_a_user_has_the_groups_of_its_kind(users: Users, user: str, groups: list[str]) -> None:
    assert who(users, ("Impersonate-User", user))["groups"] == groups


def test_the_anonymous_user_is_not_authenticated(users: Users) -> None:
    """So it may read the version, but not discovery."""
    read = [users.call("GET", path, user="system:anonymous") for path in ("/version", "/apis")]

    assert [answer.status for answer in read] == [200, 403]


def test_groups_without_a_user_are_refused(users: Users) -> None:
    assert users.call("GET", "/api", headers=[("Impersonate-Group", "devs")]).status == 500


def test_webhooks_see_the_user_who_is_impersonated(
    users: Users, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, Any]] = []

    async def allow(_self: Any, _config: Any, review: dict[str, Any], *_: Any) -> Any:
        seen.append(review["request"]["userInfo"])
        response = {"uid": review["request"]["uid"], "allowed": True}
        return {**review, "response": response}

    monkeypatch.setattr(WebhookClient, "post", allow)
    webhook = {
        "name": "a.example.com",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [
            {
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "resources": ["configmaps"],
                "operations": ["CREATE"],
            }
        ],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    users.create(path, {"metadata": {"name": "a"}, "webhooks": [webhook]})

    body = {"metadata": {"name": "a"}}
    path = "/api/v1/namespaces/default/configmaps"
    answer = users.call("POST", path, body, user="jane", groups=["system:masters"])

    assert answer.status == 201
    assert seen == [{"username": "jane", "groups": ["system:masters", "system:authenticated"]}]


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        (
            [("Impersonate-User", "joe")],
            'users "joe" is forbidden: User "jane" cannot impersonate resource "users" in API '
            'group "" at the cluster scope',
        ),
        (
            [("Impersonate-User", "system:serviceaccount:ns:robot")],
            'serviceaccounts "robot" is forbidden: User "jane" cannot impersonate resource '
            '"serviceaccounts" in API group "" in the namespace "ns"',
        ),
        (
            [("Impersonate-User", "kim"), ("Impersonate-Group", "devs")],
            'groups "devs" is forbidden: User "jane" cannot impersonate resource "groups" in API '
            'group "" at the cluster scope',
        ),
        (
            [("Impersonate-User", "kim"), ("Impersonate-Extra-Scopes", "a")],
            'userextras.authentication.k8s.io "a" is forbidden: User "jane" cannot impersonate '
            'resource "userextras/scopes" in API group "authentication.k8s.io" at the cluster '
            "scope",
        ),
        (
            [("Impersonate-User", "kim"), ("Impersonate-Uid", "1")],
            'uids.authentication.k8s.io "1" is forbidden: User "jane" cannot impersonate resource '
            '"uids" in API group "authentication.k8s.io" at the cluster scope',
        ),
    ],
)
def test_each_name_needs_the_verb_impersonate(
    users: Users, headers: list[tuple[str, str]], message: str
) -> None:
    jane = "system:serviceaccount:default:jane"
    users.create("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "jane"}})
    token = users.create("/api/v1/namespaces/default/serviceaccounts/jane/token", {"spec": {}})
    users.grant_everywhere("kims", rule("impersonate", "users", names=["kim"]), user=jane)
    shown = token["status"]["token"]

    allowed = users.call("GET", "/api", token=shown, headers=[("Impersonate-User", "kim")])
    refused = users.call("GET", "/api", token=shown, headers=headers)

    assert allowed.status == 200
    assert (refused.status, refused.body["message"]) == (
        403,
        message.replace('"jane"', f'"{jane}"'),
    )
