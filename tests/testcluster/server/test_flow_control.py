"""Flow schemas: those of the start, their condition, and which request belongs to which."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.server.auth.authorization.authorizer import Attributes
from clientgo.testcluster.server.auth.flow_control import LEVELS as LEVELS_KEY
from clientgo.testcluster.server.auth.flow_control import SCHEMAS as SCHEMAS_KEY
from clientgo.testcluster.server.auth.flow_control import FlowControl
from clientgo.testcluster.server.auth.users import User
from clientgo.testcluster.server.storage.storage import Storage
from clientgo.testing.operator import eventually
from tests.testcluster.server.http_api import CONFIGMAPS, Answer, Api

SCHEMAS = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"
LEVELS = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations"


def schema(name: str, precedence: int, level: str = "workload-low", **rule: Any) -> dict[str, Any]:
    subjects = [{"kind": "User", "user": {"name": "*"}}]
    return {
        "metadata": {"name": name},
        "spec": {
            "matchingPrecedence": precedence,
            "priorityLevelConfiguration": {"name": level},
            "rules": [{"subjects": subjects, **rule}],
        },
    }


def uids(api: Api, name: str, level: str) -> tuple[str, str]:
    found = api.get(f"{SCHEMAS}/{name}"), api.get(f"{LEVELS}/{level}")
    return found[0]["metadata"]["uid"], found[1]["metadata"]["uid"]


def named_by(answer: Answer) -> tuple[str | None, str | None]:
    headers = answer.headers
    return (
        headers.get("x-kubernetes-pf-flowschema-uid"),
        headers.get("x-kubernetes-pf-prioritylevel-uid"),
    )


def dangling(api: Api, name: str) -> tuple[str, str]:
    [condition] = api.get(f"{SCHEMAS}/{name}")["status"]["conditions"]
    assert condition["type"] == "Dangling"
    return condition["status"], condition["reason"]


def test_every_cluster_has_schemas_and_levels_that_fit(api: Api) -> None:
    schemas, levels = api.get(SCHEMAS)["items"], api.get(LEVELS)["items"]
    by_precedence = sorted(schemas, key=lambda each: each["spec"]["matchingPrecedence"])

    assert (len(schemas), len(levels)) == (11, 8)
    assert by_precedence[0]["metadata"]["name"] == "exempt"
    assert by_precedence[-1]["metadata"]["name"] == "catch-all"
    assert {dangling(api, each["metadata"]["name"]) for each in schemas} == {("False", "Found")}
    for path, each in [(SCHEMAS, each) for each in schemas] + [(LEVELS, each) for each in levels]:
        # It is what a client could have written.
        same = api.call("PUT", f"{path}/{each['metadata']['name']}", each)
        assert (same.status, same.body["spec"]) == (200, each["spec"])


def test_what_a_client_changed_stays_after_a_restart(tmp_path: Path) -> None:
    change = {"spec": {"matchingPrecedence": 9999}}
    with EmbeddedAPIServer(data_dir=tmp_path) as first:
        Api(first.url).patch(f"{SCHEMAS}/global-default", change)
        Api(first.url).delete(f"{SCHEMAS}/probes")
    with EmbeddedAPIServer(data_dir=tmp_path) as second:
        kept = Api(second.url).get(f"{SCHEMAS}/global-default")
        assert kept["spec"]["matchingPrecedence"] == 9999
        assert Api(second.url).call("GET", f"{SCHEMAS}/probes").status == 200


def test_the_condition_says_whether_the_level_exists(api: Api) -> None:
    api.create(SCHEMAS, schema("mine", 500, level="mine"))
    eventually(lambda: dangling(api, "mine") == ("True", "NotFound"))

    reject = {"nominalConcurrencyShares": 1, "limitResponse": {"type": "Reject"}}
    spec = {"type": "Limited", "limited": reject}
    api.create(LEVELS, {"metadata": {"name": "mine"}, "spec": spec})
    eventually(lambda: dangling(api, "mine") == ("False", "Found"))

    api.delete(f"{LEVELS}/mine")
    eventually(lambda: dangling(api, "mine") == ("True", "NotFound"))
    api.patch(f"{SCHEMAS}/mine", {"spec": {"priorityLevelConfiguration": {"name": "system"}}})
    eventually(lambda: dangling(api, "mine") == ("False", "Found"))


def test_a_response_names_the_schema_and_the_level_of_its_request(api: Api) -> None:
    exempt = uids(api, "exempt", "exempt")
    for path in (CONFIGMAPS, f"{CONFIGMAPS}/missing", "/apis", "/nowhere", "/version"):
        assert named_by(api.call("GET", path)) == exempt, path
    watch = api.call("GET", CONFIGMAPS, watch="1", timeoutSeconds="1")
    assert named_by(watch) == exempt
    assert named_by(api.call("GET", "/api/v1/namespaces/default/pods/a/log")) == (None, None)

    user = {"Impersonate-User": "alice"}
    answer = api.call("GET", CONFIGMAPS, headers=user)
    assert named_by(answer) == uids(api, "catch-all", "catch-all") or named_by(answer) == uids(
        api, "global-default", "global-default"
    )

    everything = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"], "namespaces": ["*"]}
    api.create(SCHEMAS, schema("mine", 500, resourceRules=[everything]))
    assert named_by(api.call("GET", CONFIGMAPS, headers=user)) == uids(api, "mine", "workload-low")
    assert named_by(api.call("GET", "/version", headers=user)) != uids(api, "mine", "workload-low")


def test_a_refused_request_belongs_to_a_schema_and_an_unknown_client_to_none(
    tmp_path: Path,
) -> None:
    with EmbeddedAPIServer(token="right") as server:
        assert named_by(Api(server.url).call("GET", CONFIGMAPS)) == (None, None)
        assert None not in named_by(Api(server.url, token="right").call("GET", "/nowhere"))


def test_the_metrics_share_requests_among_the_levels(api: Api) -> None:
    """The seats of a real server with its defaults."""

    def seats() -> dict[str, str]:
        lines = api.call("GET", "/metrics").body.splitlines()
        found = [line for line in lines if line.startswith("apiserver_flowcontrol_nominal")]
        return {line.split('"')[1]: line.split()[1] for line in found}

    assert seats() == {
        "catch-all": "13",
        "exempt": "0",
        "global-default": "49",
        "leader-election": "25",
        "node-high": "98",
        "system": "74",
        "workload-high": "98",
        "workload-low": "245",
    }

    api.patch(f"{LEVELS}/catch-all", {"spec": {"limited": {"nominalConcurrencyShares": 260}}})
    assert (seats()["catch-all"], seats()["system"]) == ("312", "36")


# -- rules


ALICE = User("alice", groups=("people", "system:authenticated"))
ACCOUNT = User("system:serviceaccount:prod:robot", groups=("system:serviceaccounts",))
READ = Attributes(ALICE, "get", "", "v1", "pods", "", "prod", "a")


def matches(request: Attributes, **rule: Any) -> bool:
    """Return True if a rule applies to a request; what it does not say is everything."""
    everything = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"], "namespaces": ["*"]}
    given = {"subjects": [{"kind": "Group", "group": {"name": "*"}}]}
    given["resourceRules"] = [everything | rule.pop("resource", {})]
    body = schema("only", 1)
    body["spec"]["rules"] = [given | rule]
    storage = Storage()
    for key, obj in ((SCHEMAS_KEY, body), (LEVELS_KEY, {"metadata": {"name": "workload-low"}})):
        obj["metadata"]["uid"] = key[1]
        storage.put(storage.collection(key), obj["metadata"]["name"], obj, {})
    return bool(FlowControl(storage).headers(request))


@pytest.mark.parametrize(
    ("subject", "user", "expected"),
    [
        ({"kind": "User", "user": {"name": "alice"}}, ALICE, True),
        ({"kind": "User", "user": {"name": "*"}}, ALICE, True),
        ({"kind": "User", "user": {"name": "bob"}}, ALICE, False),
        ({"kind": "Group", "group": {"name": "people"}}, ALICE, True),
        ({"kind": "Group", "group": {"name": "alice"}}, ALICE, False),
        (("prod", "robot"), ACCOUNT, True),
        (("prod", "*"), ACCOUNT, True),
        (("pro", "*"), ACCOUNT, False),
        (("prod", "other"), ACCOUNT, False),
        (("prod", "*"), ALICE, False),
    ],
)
def test_subjects(subject: Any, user: User, expected: bool) -> None:
    if isinstance(subject, tuple):
        account = {"namespace": subject[0], "name": subject[1]}
        subject = {"kind": "ServiceAccount", "serviceAccount": account}
    request = Attributes(user, "get", "", "v1", "pods", "", "prod", "a")

    assert matches(request, subjects=[subject]) is expected


@pytest.mark.parametrize(
    ("resource", "request_", "expected"),
    [
        ({}, READ, True),
        ({"verbs": ["list", "get"]}, READ, True),
        ({"verbs": ["list"]}, READ, False),
        ({"resources": ["pods"]}, READ, True),
        ({"resources": ["pods/status"]}, READ, False),
        (
            {"resources": ["pods/status"]},
            Attributes(ALICE, "get", "", "v1", "pods", "status", "prod", "a"),
            True,
        ),
        ({"apiGroups": ["apps"]}, READ, False),
        ({"namespaces": ["prod"]}, READ, True),
        ({"namespaces": ["test"]}, READ, False),
        ({}, Attributes(ALICE, "list", "", "v1", "pods"), False),
        ({"clusterScope": True}, Attributes(ALICE, "list", "", "v1", "pods"), True),
    ],
)
def test_resources(resource: dict[str, Any], request_: Attributes, expected: bool) -> None:
    assert matches(request_, resource=resource) is expected


@pytest.mark.parametrize(
    ("urls", "path", "expected"),
    [
        (["*"], "/version", True),
        (["/version"], "/version", True),
        (["/version"], "/version/x", True),
        (["/version"], "/versions", False),
        (["/apis/*"], "/apis/apps", True),
        (["/apis/*"], "/apis", False),
        (["/api"], "/apis", False),
    ],
)
def test_paths(urls: list[str], path: str, expected: bool) -> None:
    rules = [{"nonResourceURLs": urls, "verbs": ["get"]}]
    request = Attributes(ALICE, "get", path=path)

    assert matches(request, nonResourceRules=rules) is expected
    other = Attributes(ALICE, "post", path=path)
    assert not matches(other, nonResourceRules=rules)
