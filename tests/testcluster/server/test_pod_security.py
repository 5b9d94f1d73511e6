"""Pod Security: what the labels of a namespace refuse and warn of."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.testcluster.server.admission.plugins.pod_security import plugin
from clientgo.testcluster.server.admission.plugins.pod_security.levels import Levels
from tests.testcluster.server.http_api import MERGE_PATCH, Answer, Api
from tests.testcluster.server.test_warnings import texts, warnings_of

Object = dict[str, Any]

NAMESPACES = "/api/v1/namespaces"
PREFIX = "pod-security.kubernetes.io/"
BARE: Object = {"containers": [{"name": "c", "image": "i"}]}
PROBLEMS = (
    'allowPrivilegeEscalation != false (container "c" must set '
    "securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "
    '"c" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or '
    'container "c" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container '
    '"c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")'
)
HARDENED: Object = {
    "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
    "containers": [
        {
            "name": "c",
            "image": "i",
            "securityContext": {
                "allowPrivilegeEscalation": False,
                "capabilities": {"drop": ["ALL"]},
            },
        }
    ],
}


def labels(**levels: str) -> Object:
    """Labels for levels; ``enforce_version`` is the label of the version."""
    return {PREFIX + mode.replace("_", "-"): value for mode, value in levels.items()}


class Namespace:
    """A namespace with levels."""

    def __init__(self, api: Api, name: str = "a", **levels: str) -> None:
        self.api = api
        self.name = name
        api.create(NAMESPACES, {"metadata": {"name": name, "labels": labels(**levels)}})

    def change(self, **levels: str) -> Answer:
        body = {"metadata": {"labels": labels(**levels)}}
        path = f"{NAMESPACES}/{self.name}"
        return self.api.call("PATCH", path, body, content_type=MERGE_PATCH)

    def post(self, path: str, body: Object) -> Answer:
        return self.api.call("POST", path.replace("{ns}", self.name), body)

    def pod(self, name: str = "p", spec: Object = BARE, **metadata: Any) -> Answer:
        body = {"metadata": {"name": name, **metadata}, "spec": spec}
        return self.post("/api/v1/namespaces/{ns}/pods", body)

    def patch_pod(self, body: Object, subresource: str = "") -> Answer:
        path = f"{NAMESPACES}/{self.name}/pods/p{subresource}"
        return self.api.call("PATCH", path, body, content_type=MERGE_PATCH)


def refusal(answer: Answer) -> str:
    assert (answer.status, answer.body["reason"]) == (403, "Forbidden"), answer.body
    return str(answer.body["message"])


# -- pods


def test_a_pod_that_the_level_does_not_allow_is_refused(api: Api) -> None:
    namespace = Namespace(api, enforce="restricted")

    refused = namespace.pod("x")

    why = f'violates PodSecurity "restricted:latest": {PROBLEMS}'
    assert refusal(refused) == f'pods "x" is forbidden: {why}'
    assert refused.body["details"] == {"name": "x", "kind": "pods"}
    assert refused.warnings == ()
    assert texts(namespace.pod("x", HARDENED)) == []


def test_the_generated_name_is_in_the_refusal(api: Api) -> None:
    refused = Namespace(api, enforce="restricted").pod("", generateName="web-")

    assert refusal(refused).startswith('pods "web-')
    assert not refusal(refused).startswith('pods "web-"')


@pytest.mark.parametrize(
    ("levels", "spec", "refused"),
    [
        ({}, {**BARE, "hostPID": True}, ""),
        ({"enforce": "privileged"}, {**BARE, "hostPID": True}, ""),
        ({"enforce": "baseline"}, BARE, ""),
        (
            {"enforce": "baseline"},
            {**BARE, "hostPID": True},
            '"baseline:latest": host namespaces (hostPID=true)',
        ),
        (
            {"enforce": "baseline", "enforce_version": "v1.99"},
            {**BARE, "hostPID": True},
            '"baseline:v1.99": host namespaces (hostPID=true)',
        ),
        (
            {"enforce": "restricted", "enforce_version": "v1.7"},
            BARE,
            '"restricted:v1.7": runAsNonRoot != true (pod or container "c" must set '
            "securityContext.runAsNonRoot=true)",
        ),
        ({"enforce_version": "v1.7", "audit": "restricted"}, {**BARE, "hostPID": True}, ""),
    ],
)
def test_the_labels_choose_level_and_version(
    api: Api, levels: dict[str, str], spec: Object, refused: str
) -> None:
    answer = Namespace(api, **levels).pod(spec=spec)

    if refused:
        assert refusal(answer) == f'pods "p" is forbidden: violates PodSecurity {refused}'
    else:
        assert texts(answer) == []


@pytest.mark.parametrize(
    ("levels", "warning"),
    [
        ({"warn": "restricted"}, "restricted:latest"),
        ({"warn": "restricted", "enforce": "baseline"}, "restricted:latest"),
        ({"warn": "restricted", "warn_version": "v1.30"}, "restricted:v1.30"),
        ({"warn": "restricted", "enforce_version": "v1.30"}, "restricted:latest"),
    ],
)
def test_a_pod_is_accepted_with_a_warning(api: Api, levels: dict[str, str], warning: str) -> None:
    accepted = Namespace(api, **levels).pod()

    assert texts(accepted) == [f'would violate PodSecurity "{warning}": {PROBLEMS}']


def test_warnings_of_the_object_come_before_those_of_its_admission(api: Api) -> None:
    """A refused object has the warnings of the object, too."""
    spec = {**BARE, "nodeSelector": {"beta.kubernetes.io/os": "linux"}}
    old = 'spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os"'

    first, second = texts(Namespace(api, warn="restricted").pod(spec=spec))
    refused = Namespace(api, "b", enforce="restricted").pod(spec=spec)

    assert first.startswith(old)
    assert second.startswith('would violate PodSecurity "restricted:latest"')
    assert refusal(refused)
    assert warnings_of(refused) == [first]


def test_a_change_of_a_pod_that_matters_is_refused(api: Api) -> None:
    namespace = Namespace(api)
    namespace.pod()
    namespace.change(enforce="restricted")
    debug = {"ephemeralContainers": [{"name": "debug", "image": "i"}]}

    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    assert namespace.patch_pod({"metadata": {"labels": {"a": "b"}}}).status == 200
    assert namespace.patch_pod({"status": ready}, "/status").status == 200
    image = {"spec": {"containers": [{"name": "c", "image": "j"}]}}
    assert refusal(namespace.patch_pod(image)).endswith(f'"restricted:latest": {PROBLEMS}')
    refused = refusal(namespace.patch_pod({"spec": debug}, "/ephemeralcontainers"))
    assert 'containers "c", "debug" must set securityContext.allowPriv' in refused


def test_an_ephemeral_container_is_checked(api: Api) -> None:
    namespace = Namespace(api, enforce="restricted")
    namespace.pod(spec=HARDENED)
    debug = {"name": "debug", "image": "i"}
    allowed = {**debug, "securityContext": HARDENED["containers"][0]["securityContext"]}

    for container, status in ((debug, 403), (allowed, 200)):
        body = {"spec": {"ephemeralContainers": [container]}}
        assert namespace.patch_pod(body, "/ephemeralcontainers").status == status


# -- workloads

SELECTED = {"selector": {"matchLabels": {"a": "b"}}}
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": BARE}
JOB = {"template": {"spec": {**BARE, "restartPolicy": "Never"}}}
APPS = "/apis/apps/v1/namespaces/{ns}"
BATCH = "/apis/batch/v1/namespaces/{ns}"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/v1/namespaces/{ns}/podtemplates", {"template": TEMPLATE}),
        (
            "/api/v1/namespaces/{ns}/replicationcontrollers",
            {"spec": {"selector": {"a": "b"}, "template": TEMPLATE}},
        ),
        (f"{APPS}/deployments", {"spec": {**SELECTED, "template": TEMPLATE}}),
        (f"{APPS}/replicasets", {"spec": {**SELECTED, "template": TEMPLATE}}),
        (f"{APPS}/daemonsets", {"spec": {**SELECTED, "template": TEMPLATE}}),
        (f"{APPS}/statefulsets", {"spec": {**SELECTED, "template": TEMPLATE}}),
        (f"{BATCH}/jobs", {"spec": JOB}),
        (f"{BATCH}/cronjobs", {"spec": {"schedule": "@daily", "jobTemplate": {"spec": JOB}}}),
    ],
)
def test_a_workload_is_accepted_with_a_warning(api: Api, path: str, body: Object) -> None:
    """Its pods are refused later."""
    body = {"metadata": {"name": "w"}, **body}

    accepted = Namespace(api, enforce="restricted").post(path, body)

    assert texts(accepted) == [f'would violate PodSecurity "restricted:latest": {PROBLEMS}']
    assert texts(Namespace(api, "b", enforce="restricted", warn="baseline").post(path, body)) == []
    assert texts(Namespace(api, "c").post(path, body)) == []


def test_each_update_of_a_workload_is_warned_of(api: Api) -> None:
    namespace = Namespace(api, warn="restricted")
    path = f"{APPS}/deployments".replace("{ns}", namespace.name)
    namespace.post(path, {"metadata": {"name": "w"}, "spec": {**SELECTED, "template": TEMPLATE}})

    def patched(body: Object, subresource: str = "") -> list[str]:
        path_of_one = f"{path}/w{subresource}"
        return texts(api.call("PATCH", path_of_one, body, content_type=MERGE_PATCH))

    assert len(patched({"metadata": {"labels": {"a": "b"}}})) == 1
    assert patched({"spec": {"replicas": 2}}, "/scale") == []
    assert patched({"status": {"replicas": 2}}, "/status") == []


# -- namespaces

LEVEL = "must be one of privileged, baseline, restricted"
VERSION = 'must be "latest" or "v1.x"'


@pytest.mark.parametrize(
    ("label", "value", "detail"),
    [
        ("enforce", "strict", LEVEL),
        ("enforce", "", LEVEL),
        ("audit", "Baseline", LEVEL),
        ("warn", "none", LEVEL),
        ("enforce-version", "1.30", VERSION),
        ("audit-version", "v2.0", VERSION),
        ("warn-version", "v1.030", VERSION),
        ("warn-version", "v1.30.1", VERSION),
    ],
)
def test_labels_of_a_namespace_are_validated(api: Api, label: str, value: str, detail: str) -> None:
    body = {"metadata": {"name": "a", "labels": {PREFIX + label: value}}}
    created = api.call("POST", NAMESPACES, body)
    api.create(NAMESPACES, {"metadata": {"name": "a"}})
    changed = api.call("PATCH", f"{NAMESPACES}/a", body, content_type=MERGE_PATCH)

    why = f'metadata.labels[{PREFIX}{label}]: Invalid value: "{value}": {detail}'
    for answer in (created, changed):
        assert answer.status == 422
        assert answer.body["message"] == f'Namespace "a" is invalid: {why}'


def test_all_wrong_labels_are_named(api: Api) -> None:
    wrong = labels(enforce="x", enforce_version="x", audit="x", warn="x", warn_version="x")
    answer = api.call("POST", NAMESPACES, {"metadata": {"name": "a", "labels": wrong}})

    fields = [cause["field"] for cause in answer.body["details"]["causes"]]
    order = ("enforce", "enforce-version", "audit", "warn", "warn-version")
    assert fields == [f"metadata.labels[{PREFIX}{label}]" for label in order]


def test_pods_that_a_new_level_does_not_allow_are_warned_of(api: Api) -> None:
    namespace = Namespace(api)
    for name in ("c", "b", "a"):
        namespace.pod(name)
    namespace.pod("host", {**BARE, "hostPID": True})
    port = {"name": "c", "image": "i", "ports": [{"containerPort": 1, "hostPort": 1}]}
    namespace.pod("port", {"containers": [port]})
    namespace.pod("good", HARDENED)
    reasons = (
        "allowPrivilegeEscalation != false, unrestricted capabilities, runAsNonRoot != true, "
        "seccompProfile"
    )

    assert texts(namespace.change(warn="restricted")) == []
    assert texts(namespace.change(enforce="baseline")) == [
        'existing pods in namespace "a" violate the new PodSecurity enforce level '
        '"baseline:latest"',
        "host: host namespaces",
        "port: hostPort",
    ]
    assert texts(namespace.change(enforce="restricted")) == [
        'existing pods in namespace "a" violate the new PodSecurity enforce level '
        '"restricted:latest"',
        f"a (and 2 other pods): {reasons}",
        f"host: host namespaces, {reasons}",
        f"port: hostPort, {reasons}",
    ]
    assert texts(namespace.change(audit="baseline")) == []
    assert texts(namespace.change(enforce="baseline")) == []
    assert len(texts(namespace.change(enforce_version="v1.30"))) == 3
    assert texts(namespace.change(enforce="privileged", enforce_version="v1.31")) == []


def test_two_pods_with_the_same_problem_are_one_warning(api: Api) -> None:
    namespace = Namespace(api)
    for name in ("b", "a"):
        namespace.pod(name, {**BARE, "hostIPC": True})

    assert texts(namespace.change(enforce="baseline"))[1:] == [
        "a (and 1 other pod): host namespaces"
    ]


@pytest.mark.parametrize(
    ("limit", "value", "checked"), [("_MOST_PODS", 3, 3), ("_MOST_SECONDS", 0.0, 1)]
)
def test_some_pods_of_each_owner_are_looked_at(
    api: Api, monkeypatch: pytest.MonkeyPatch, limit: str, value: float, checked: int
) -> None:
    monkeypatch.setattr(plugin, limit, value)
    namespace = Namespace(api)
    for name, uid in (("a", "1"), ("b", "1"), ("c", "1"), ("d", "2"), ("e", "")):
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": uid}
        spec = {**BARE, "hostPID": name in "ade"}
        namespace.pod(name, spec, ownerReferences=[owner] if uid else [])

    first, _, pods = texts(namespace.change(enforce="baseline"))

    assert first == (
        f"new PodSecurity enforce level only checked against the first {checked} of 5 existing pods"
    )
    others = {1: "a: ", 3: "a (and 2 other pods): "}
    assert pods == f"{others[checked]}host namespaces"


def test_a_namespace_without_labels_for_it_has_no_levels() -> None:
    assert Levels.of({}) is None
    assert Levels.of({"kubernetes.io/metadata.name": "a"}) is None


def test_wrong_labels_that_were_stored_earlier_mean_the_strictest_level() -> None:
    levels = Levels.of(labels(enforce="x", enforce_version="x", audit="x", warn="x"))

    assert levels is not None
    assert (str(levels.enforce), str(levels.warn)) == ("restricted:latest", "privileged:latest")
    unwarned = Levels.of(labels(enforce="x"))
    assert unwarned is not None
    assert str(unwarned.warn) == "privileged:latest"
