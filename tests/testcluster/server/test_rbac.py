"""Which requests roles and bindings allow, and how a refusal is worded."""

from __future__ import annotations

from queue import SimpleQueue
from typing import Any

import pytest

from clientgo.testcluster.server import Attributes, EmbeddedAPIServer, User
from clientgo.testcluster.server.auth.authorization.rbac import RBAC
from clientgo.testcluster.server.controllers import background
from clientgo.testcluster.server.controllers.background import BackgroundWork
from clientgo.testcluster.server.controllers.role_aggregation import RoleAggregationController
from clientgo.testcluster.server.storage.storage import Storage
from tests.testcluster.server.http_api import Api
from tests.testcluster.server.users import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    PODS,
    RBAC_GROUP,
    ROLE_BINDINGS,
    ROLES,
    Users,
    rule,
)

SECRETS = "/api/v1/namespaces/default/secrets"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
APPLY = "application/apply-patch+yaml"


def deployment(name: str) -> dict[str, Any]:
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    spec = {"selector": {"matchLabels": {"app": name}}, "template": template}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": spec,
    }


@pytest.mark.parametrize(
    ("method", "path", "message", "details"),
    [
        (
            "GET",
            PODS,
            'pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the '
            'namespace "default"',
            {"kind": "pods"},
        ),
        (
            "GET",
            f"{PODS}?watch=1",
            'pods is forbidden: User "jane" cannot watch resource "pods" in API group "" in the '
            'namespace "default"',
            {"kind": "pods"},
        ),
        (
            "GET",
            f"{PODS}?fieldSelector=metadata.name%3Da",
            'pods "a" is forbidden: User "jane" cannot list resource "pods" in API group "" in '
            'the namespace "default"',
            {"kind": "pods", "name": "a"},
        ),
        (
            "GET",
            f"{PODS}/a/log",
            'pods "a" is forbidden: User "jane" cannot get resource "pods/log" in API group "" in '
            'the namespace "default"',
            {"kind": "pods", "name": "a"},
        ),
        (
            "GET",
            "/api/v1/namespaces/default/services/a/proxy/b/c",
            'services "a" is forbidden: User "jane" cannot get resource "services/proxy" in API '
            'group "" in the namespace "default"',
            {"kind": "services", "name": "a"},
        ),
        (
            "DELETE",
            DEPLOYMENTS,
            'deployments.apps is forbidden: User "jane" cannot deletecollection resource '
            '"deployments" in API group "apps" in the namespace "default"',
            {"group": "apps", "kind": "deployments"},
        ),
        (
            "GET",
            "/api/v1/nodes",
            'nodes is forbidden: User "jane" cannot list resource "nodes" in API group "" at the '
            "cluster scope",
            {"kind": "nodes"},
        ),
        (
            "GET",
            "/api/v1/namespaces/default",
            'namespaces "default" is forbidden: User "jane" cannot get resource "namespaces" in '
            'API group "" in the namespace "default"',
            {"kind": "namespaces", "name": "default"},
        ),
        (
            "GET",
            "/apis/example.com/v1/things",
            'things.example.com is forbidden: User "jane" cannot list resource "things" in API '
            'group "example.com" at the cluster scope',
            {"group": "example.com", "kind": "things"},
        ),
        ("GET", "/metrics", 'forbidden: User "jane" cannot get path "/metrics"', {}),
        (
            "GET",
            "/api/v1/watch/namespaces/default/pods/a",
            'pods "a" is forbidden: User "jane" cannot watch resource "pods" in API group "" in '
            'the namespace "default"',
            {"kind": "pods", "name": "a"},
        ),
    ],
)
def test_a_refusal_is_worded_as_by_a_real_server(
    users: Users, method: str, path: str, message: str, details: dict[str, str] | None
) -> None:
    answer = users.call(method, path, user="jane")

    assert answer.status == 403
    assert answer.body["message"] == message
    assert answer.body["reason"] == "Forbidden"
    assert answer.body.get("details") == details


def test_a_refusal_never_looks_like_html(users: Users) -> None:
    message = users.call("GET", PODS, user="<b>&").body["message"]

    assert message.startswith('pods is forbidden: User "&lt;b&gt;&amp;" cannot list')


def test_the_administrator_may_do_everything(users: Users) -> None:
    assert users.call("GET", "/api/v1/nodes").status == 200
    assert users.call("GET", "/api/v1/nodes", user="x", groups=["system:masters"]).status == 200


def test_an_anonymous_client_may_read_the_version_alone(users: Users) -> None:
    assert users.call("GET", "/version", token=None).status == 200
    assert users.call("GET", "/readyz", token=None).status == 200
    refused = users.call("GET", "/apis", token=None)
    assert (refused.status, refused.body["message"]) == (
        403,
        'forbidden: User "system:anonymous" cannot get path "/apis"',
    )


@pytest.mark.parametrize("shown", ["Basic amFuZTp4", "Bearer", "Bearer ", "nonsense"])
def test_a_header_without_a_token_is_that_of_an_anonymous_client(users: Users, shown: str) -> None:
    headers = [("Authorization", shown)]

    answer = users.call("GET", "/apis", token=None, headers=headers)

    assert answer.status == 403
    assert 'User "system:anonymous"' in answer.body["message"]


def test_every_user_may_read_discovery(users: Users) -> None:
    assert users.may("jane", "GET", "/apis")
    assert users.may("jane", "GET", "/openapi/v3")


def test_a_wrong_token_is_no_anonymous_client(users: Users) -> None:
    for path in ("/version", "/readyz"):
        answer = users.call("GET", path, token="wrong")

        assert (answer.status, answer.body["message"]) == (401, "Unauthorized")


def test_a_role_allows_its_verbs_in_its_namespace(users: Users) -> None:
    users.grant("readers", rule("get list", "pods"), user="jane")

    assert users.may("jane", "GET", PODS)
    assert users.may("jane", "GET", f"{PODS}/a")
    assert not users.may("jane", "GET", f"{PODS}?watch=true")
    assert not users.may("jane", "GET", "/api/v1/namespaces/kube-system/pods")
    assert not users.may("jane", "GET", "/api/v1/pods")
    assert not users.may("joe", "GET", PODS)


def test_a_cluster_role_that_is_bound_in_a_namespace_holds_there(users: Users) -> None:
    users.bind("view", {"kind": "User", "name": "jane"}, kind="ClusterRole")

    assert users.may("jane", "GET", PODS)
    assert not users.may("jane", "GET", "/api/v1/pods")
    assert not users.may("jane", "GET", SECRETS)


def test_a_cluster_role_binding_holds_everywhere(users: Users) -> None:
    users.grant_everywhere("readers", rule("list", "pods nodes"), user="jane")

    assert users.may("jane", "GET", "/api/v1/nodes")
    assert users.may("jane", "GET", "/api/v1/pods")
    assert users.may("jane", "GET", PODS)


def test_groups_and_service_accounts_are_subjects(users: Users) -> None:
    users.role("readers", rule("list", "pods"))
    users.bind(
        "readers", {"kind": "Group", "name": "devs"}, {"kind": "ServiceAccount", "name": "r"}
    )

    assert users.call("GET", PODS, user="jane", groups=["devs"]).status == 200
    assert users.call("GET", PODS, user="system:serviceaccount:default:r").status == 200
    assert users.call("GET", PODS, user="system:serviceaccount:other:r").status == 403


def test_names_of_objects_limit_a_rule(users: Users) -> None:
    users.grant("one", rule("get list", "secrets", names=["a"]), user="jane")

    assert users.may("jane", "GET", f"{SECRETS}/a")
    assert not users.may("jane", "GET", f"{SECRETS}/b")
    assert not users.may("jane", "GET", SECRETS)
    assert users.may("jane", "GET", f"{SECRETS}?fieldSelector=metadata.name%3Da")


def test_paths_that_are_no_resources_need_their_own_rules(users: Users) -> None:
    users.role("metrics", {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}, path=CLUSTER_ROLES)
    assert not users.may("jane", "GET", "/metrics")
    subject = {"kind": "User", "name": "jane"}
    users.bind("metrics", subject, kind="ClusterRole", path=CLUSTER_ROLE_BINDINGS)

    assert users.may("jane", "GET", "/metrics")


def test_a_change_of_a_role_or_binding_holds_immediately(users: Users) -> None:
    users.grant("readers", rule("list", "pods"), user="jane")
    assert users.may("jane", "GET", PODS)

    changed = {"metadata": {"name": "readers"}, "rules": [rule("list", "secrets")]}
    assert users.call("PUT", f"{ROLES}/readers", changed).status == 200
    assert not users.may("jane", "GET", PODS)
    assert users.may("jane", "GET", SECRETS)

    assert users.call("DELETE", f"{ROLE_BINDINGS}/readers").status == 200
    assert not users.may("jane", "GET", SECRETS)


def test_a_refusal_names_the_role_that_is_missing(users: Users) -> None:
    users.bind("ghost", {"kind": "User", "name": "jane"}, kind="ClusterRole")

    message = users.call("GET", PODS, user="jane").body["message"]

    assert message.endswith(': RBAC: clusterrole.rbac.authorization.k8s.io "ghost" not found')


def test_an_apply_that_creates_needs_the_verb_create_too(users: Users) -> None:
    users.grant("patchers", rule("patch", "deployments", "apps"), user="jane")
    path = f"{DEPLOYMENTS}/web?fieldManager=m"

    answer = users.call("PATCH", path, deployment("web"), user="jane", content_type=APPLY)
    assert answer.status == 403
    assert 'cannot create resource "deployments" in API group "apps"' in answer.body["message"]

    users.create(DEPLOYMENTS, deployment("web"))
    answer = users.call("PATCH", path, deployment("web"), user="jane", content_type=APPLY)
    assert answer.status in (200, 409)


def test_an_update_that_creates_needs_the_verb_create_too(users: Users) -> None:
    users.grant("updaters", rule("update", "services"), user="jane")
    path = "/api/v1/namespaces/default/services"
    service = {"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}}

    refused = users.call("PUT", f"{path}/web", service, user="jane")
    assert refused.status == 403
    assert 'cannot create resource "services"' in refused.body["message"]

    users.create(path, service)
    assert users.call("PUT", f"{path}/web", service, user="jane").status == 200


def test_the_server_remembers_what_it_refused_once(users: Users) -> None:
    for _ in range(2):
        users.call("GET", PODS, user="jane")
    users.call("GET", "/metrics", user="jane")

    seen = [(item.verb, item.resource, item.path) for item in users.server.refused()]

    assert seen == [("list", "pods", ""), ("get", "", "/metrics")]


def test_long_requests_of_clients_are_not_remembered(users: Users) -> None:
    path = "/metrics/" + "x" * 5000

    answer = users.call("GET", path, token=None)

    assert answer.status == 403
    assert users.server.refused() == []


def test_decisions_that_are_kept_are_bounded_in_number_and_length() -> None:
    rbac = RBAC(storage := Storage())
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "b", "uid": "1"},
        "roleRef": {"kind": "ClusterRole", "name": "r"},
        "subjects": [{"kind": "Group", "name": "g"}],
    }
    collection = storage.collection(("rbac.authorization.k8s.io", "clusterrolebindings"))
    storage.put(collection, "b", binding, {})
    jane = User("jane", groups=("g",))
    for number in range(1000):
        rbac.authorize(Attributes(jane, "get", path=f"/{number}"))
        rbac.authorize(Attributes(jane, "get", path=f"/{'x' * 2000}{number}"))
        rbac.authorize(Attributes(User(f"{number}", groups=("g",)), "get", path="/"))
        rbac.authorize(Attributes(User("x" * 2000, groups=(f"{number}",)), "get", path="/"))

    kept = rbac._granted.values()

    assert 0 < len(kept) <= 512
    assert 0 < max(len(grants.decisions) for grants in kept) <= 256
    assert all(len(key[-1]) < 10 for grants in kept for key in grants.decisions)
    assert all(len(key[0]) < 10 for key in rbac._granted)


def test_the_roles_of_a_real_server_are_there(users: Users) -> None:
    """With the rules that the aggregated ones collect."""
    lists = {
        plural: users.call("GET", f"{RBAC_GROUP}/{plural}").body["items"]
        for plural in ("clusterroles", "clusterrolebindings", "roles", "rolebindings")
    }

    assert {name: len(items) for name, items in lists.items()} == {
        "clusterroles": 70,
        "clusterrolebindings": 51,
        "roles": 7,
        "rolebindings": 7,
    }
    rules = {item["metadata"]["name"]: item["rules"] for item in lists["clusterroles"]}
    assert {name: bool(rules[name]) for name in ("admin", "edit", "view")} == dict.fromkeys(
        ("admin", "edit", "view"), True
    )


def test_a_role_of_the_start_that_was_changed_or_deleted(tmp_path: Any) -> None:
    """A changed one stays as it is; a deleted one is made again at the next start."""
    with EmbeddedAPIServer(authorization="RBAC", data_dir=tmp_path) as server:
        users = Users(server)
        changed = {"metadata": {"name": "system:basic-user"}, "rules": [rule("get", "pods")]}
        assert users.call("PUT", f"{CLUSTER_ROLES}/system:basic-user", changed).status == 200
        assert users.call("DELETE", f"{CLUSTER_ROLES}/system:discovery").status == 200
        server.restart()

        kept = users.call("GET", f"{CLUSTER_ROLES}/system:basic-user").body
        assert kept["rules"] == [rule("get", "pods")]
        assert users.call("GET", f"{CLUSTER_ROLES}/system:discovery").status == 200
        assert users.may("jane", "GET", f"{PODS}/a") is True
        assert users.may("jane", "GET", "/apis") is True


def test_an_aggregated_role_follows_the_roles_that_it_selects(users: Users) -> None:
    selector = {"matchLabels": {"to": "sum"}}
    users.create(
        CLUSTER_ROLES,
        {
            "metadata": {"name": "sum"},
            "aggregationRule": {"clusterRoleSelectors": [selector]},
            "rules": [rule("get", "nodes")],
        },
    )
    subject = {"kind": "User", "name": "jane"}
    users.bind("sum", subject, kind="ClusterRole", path=CLUSTER_ROLE_BINDINGS)
    assert not users.may("jane", "GET", "/api/v1/nodes/a"), "its own rules are replaced"

    part = {"metadata": {"name": "part", "labels": {"to": "sum"}}, "rules": [rule("list", "pods")]}
    users.create(CLUSTER_ROLES, part)
    assert users.may("jane", "GET", PODS)

    users.call("DELETE", f"{CLUSTER_ROLES}/part")
    assert not users.may("jane", "GET", PODS)


WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


def refuse_updates_of_roles(api: Api) -> None:
    """Until the webhook configuration w is deleted."""
    updates = {
        "operations": ["UPDATE"],
        "apiGroups": ["rbac.authorization.k8s.io"],
        "apiVersions": ["*"],
        "resources": ["clusterroles"],
    }
    webhook = {
        "name": "w.example.com",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "rules": [updates],
    }
    api.create(WEBHOOKS, {"metadata": {"name": "w"}, "webhooks": [webhook]})


def test_an_aggregated_role_gets_its_rules_when_a_webhook_no_longer_refuses_them(api: Api) -> None:
    refuse_updates_of_roles(api)
    watch = api.watch(CLUSTER_ROLES, fieldSelector="metadata.name=sum")
    everything = {"clusterRoleSelectors": [{}]}
    api.create(CLUSTER_ROLES, {"metadata": {"name": "sum"}, "aggregationRule": everything})
    assert api.call("PUT", f"{CLUSTER_ROLES}/sum", {"metadata": {"name": "sum"}}).status == 500
    assert not api.get(f"{CLUSTER_ROLES}/sum")["rules"]
    api.delete(f"{WEBHOOKS}/w")

    assert any(event["object"]["rules"] for event in watch)
    watch.close()


@pytest.fixture
def delays(monkeypatch: pytest.MonkeyPatch) -> SimpleQueue[float]:
    """The delays of rounds of role aggregation; 0 when they begin again. The first one is 1 ms."""
    monkeypatch.setattr(background, "_RETRY_SECONDS", 0.001)
    found: SimpleQueue[float] = SimpleQueue()
    retry, forget = BackgroundWork.retry, BackgroundWork.forget

    def is_of_roles(function: Any) -> bool:
        return isinstance(getattr(function, "__self__", None), RoleAggregationController)

    def noted_retry(self: BackgroundWork, function: Any, *args: Any) -> None:
        if is_of_roles(function) and (function, args) not in self._waiting:
            found.put(self._delays.get((function, args), 0.001))
        retry(self, function, *args)

    def noted_forget(self: BackgroundWork, function: Any, *args: Any) -> None:
        if is_of_roles(function):
            found.put(0)
        forget(self, function, *args)

    monkeypatch.setattr(BackgroundWork, "retry", noted_retry)
    monkeypatch.setattr(BackgroundWork, "forget", noted_forget)
    return found


def test_the_delays_between_rounds_of_roles_that_never_agree_double(
    delays: SimpleQueue[float], api: Api
) -> None:
    refuse_updates_of_roles(api)
    for name, verbs, selected in (
        ("a", "pur", "bc"),
        ("b", "qutsp", "cd"),
        ("c", "supqt", "abd"),
        ("d", "trq", "c"),
    ):
        selector = {"matchExpressions": [{"key": "is", "operator": "In", "values": [*selected]}]}
        role = {
            "metadata": {"name": name, "labels": {"is": name}},
            "rules": [rule(verb, "pods") for verb in verbs],
            "aggregationRule": {"clusterRoleSelectors": [selector]},
        }
        api.create(CLUSTER_ROLES, role)
    while not delays.empty():
        delays.get()
    api.delete(f"{WEBHOOKS}/w")

    since_they_began: list[float] = []
    while len(since_they_began) < 8:
        delay = delays.get(timeout=60)
        since_they_began = [*since_they_began, delay] if delay else []
    assert since_they_began == [0.001 * 2**number for number in range(8)]


@pytest.mark.parametrize("mode", ["ABAC", "rbac", ""])
def test_other_authorization_modes_are_refused(mode: str) -> None:
    with pytest.raises(ValueError, match="AuthorizationMode"):
        EmbeddedAPIServer(authorization=mode)
