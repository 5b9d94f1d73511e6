"""Acting as another user, and who may."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.testcluster.server.http.webhook_client import WebhookClient
from tests.testcluster.server.users import PODS, Users, rule

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
    for header in ("Impersonate-Group", "Impersonate-Uid", "Impersonate-Extra-a"):
        assert users.call("GET", "/api", headers=[(header, "devs")]).status == 400


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


NODE = "system:node:n1"
ROBOT = "system:serviceaccount:default:robot"
INFO = rule("impersonate:user-info", "users", "authentication.k8s.io", names=["joe"])


@pytest.fixture
def robot(users: Users) -> Users:
    """The robot runs in a pod on the node n1; joe lists pods."""
    users.create("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "robot"}})
    users.create("/api/v1/nodes", {"metadata": {"name": "n1"}})
    containers = [{"name": "c", "image": "i"}]
    spec = {"serviceAccountName": "robot", "nodeName": "n1", "containers": containers}
    users.create(PODS, {"metadata": {"name": "p"}, "spec": spec})
    users.grant("readers", rule("list watch", "pods"), user="joe")
    return users


def as_robot(users: Users, path: str, *headers: tuple[str, str]) -> Any:
    reference = {"kind": "Pod", "apiVersion": "v1", "name": "p"}
    request = {"spec": {"boundObjectRef": reference}}
    path_of_token = "/api/v1/namespaces/default/serviceaccounts/robot/token"
    token = users.create(path_of_token, request)["status"]["token"]
    return users.call("GET", path, token=token, headers=headers)


def test_a_constrained_mode_allows_some_verbs_only(robot: Users) -> None:
    on = rule("impersonate-on:user-info:list", "pods")
    robot.grant_everywhere("impersonators", INFO, on, user=ROBOT)

    listed = as_robot(robot, PODS, ("Impersonate-User", "joe"))
    watched = as_robot(robot, f"{PODS}?watch=1", ("Impersonate-User", "joe"))
    other = as_robot(robot, PODS, ("Impersonate-User", "kim"))

    assert listed.status == 200
    assert (watched.status, watched.body["message"]) == (
        403,
        f'pods is forbidden: User "{ROBOT}" cannot impersonate-on:user-info:watch resource "pods" '
        'in API group "" in the namespace "default"',
    )
    assert (other.status, other.body["message"]) == (
        403,
        f'users.authentication.k8s.io "kim" is forbidden: User "{ROBOT}" cannot '
        'impersonate:user-info resource "users" in API group "authentication.k8s.io" at the '
        "cluster scope",
    )


@pytest.mark.parametrize(
    ("user", "mode"),
    [
        ("joe", "user-info"),
        (NODE, "associated-node"),
        ("system:node:n2", "arbitrary-node"),
        ("system:serviceaccount:a:b", "serviceaccount"),
        ("system:node:N2", "user-info"),
    ],
)
def test_the_refusal_of_a_new_user_is_that_of_the_first_mode(
    robot: Users, user: str, mode: str
) -> None:
    message = as_robot(robot, "/api", ("Impersonate-User", user)).body["message"]

    assert message == f'forbidden: User "{ROBOT}" cannot impersonate-on:{mode}:get path "/api"'


def test_an_account_acts_as_the_node_that_it_runs_on(robot: Users) -> None:
    nodes = rule("impersonate:associated-node", "nodes", "authentication.k8s.io")
    on = rule("impersonate-on:associated-node:list", "pods")
    robot.grant_everywhere("agents", nodes, on, user=ROBOT)
    robot.role("node-readers", rule("list", "pods"))
    robot.bind("node-readers", {"kind": "Group", "name": "system:nodes"})

    assert as_robot(robot, PODS, ("Impersonate-User", NODE)).status == 200
    assert as_robot(robot, PODS, ("Impersonate-User", "system:node:n2")).status == 403


def test_a_node_has_the_group_of_nodes(users: Users) -> None:
    assert who(users, ("Impersonate-User", NODE))["groups"] == [
        "system:nodes",
        "system:authenticated",
    ]


@pytest.mark.parametrize(
    ("headers", "why"),
    [
        ([("Impersonate-Group", "")], "impersonating the empty string group is not allowed"),
        (
            [("Impersonate-Group", "system:masters")],
            "impersonating the system:masters group is not allowed",
        ),
        (
            [("Impersonate-Extra-Scopes", "a")],
            "impersonating an invalid key in extra is not allowed: extra.key: Invalid value: "
            '"scopes": must be a domain-prefixed path (such as "acme.io/foo")',
        ),
        (
            [("Impersonate-Extra-Acme.io%2Fa", "")],
            "impersonating the empty string value in extra is not allowed",
        ),
    ],
)
def test_what_a_constrained_mode_allows_to_no_user(
    robot: Users, headers: list[tuple[str, str]], why: str
) -> None:
    everything = rule("impersonate:user-info", "*", "authentication.k8s.io")
    robot.grant_everywhere("all", everything, rule("*", "pods"), user=ROBOT)

    refused = as_robot(robot, PODS, ("Impersonate-User", "joe"), *headers)

    assert refused.status == 403
    assert refused.body["message"].endswith(f": {why}")


@pytest.mark.parametrize(("count", "status"), [(3, 403), (4, 200)])
def test_many_groups_may_be_allowed_by_one_wildcard(robot: Users, count: int, status: int) -> None:
    groups = rule("impersonate:user-info", "groups", "authentication.k8s.io", names=["*"])
    robot.grant_everywhere("many", INFO, groups, rule("*", "pods"), user=ROBOT)

    headers = [("Impersonate-Group", f"g{number}") for number in range(count)]

    assert as_robot(robot, PODS, ("Impersonate-User", "joe"), *headers).status == status
