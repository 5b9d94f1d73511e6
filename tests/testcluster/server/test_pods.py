"""Pods: what an update and each subresource may change, and what is warned of."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from clientgo.testcluster.server.kinds.builtin_resources import builtin_resources
from clientgo.testcluster.server.kinds.pod_warnings import pod_warnings
from clientgo.testcluster.server.kinds.pods import PodStrategy

PODS = PodStrategy("v1", "Pod")
RESOURCE = next(item for item in builtin_resources() if item.plural == "pods")


def pod(**spec: Any) -> dict[str, Any]:
    """Return a pod as it is stored, with fields of its spec."""
    containers = [{"name": "c", "image": "i:1"}]
    obj = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "creationTimestamp": "2024-01-02T03:04:05Z"},
        "spec": {"containers": containers, **spec},
    }
    stored = PODS.decode(RESOURCE, copy.deepcopy(obj)).obj
    PODS.prepare_for_create(stored)
    return stored


def causes(
    new: dict[str, Any], old: dict[str, Any], subresource: str = ""
) -> list[tuple[str, str]]:
    """Return field and reason of the causes of an update."""
    if subresource:
        errors = PODS.validate_subresource_update(subresource, new, old)
    else:
        errors = PODS.validate_update(new, old)
    return sorted((e.field, e.reason.value.removeprefix("FieldValue")) for e in errors)


GATE = [{"name": "example.com/a"}]
TOLERATION = {"key": "a", "operator": "Exists"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({}, {"containers": [{"name": "c", "image": "other"}]}),
        ({}, {"activeDeadlineSeconds": 5}),
        ({"activeDeadlineSeconds": 5}, {"activeDeadlineSeconds": 4}),
        ({"tolerations": [TOLERATION]}, {"tolerations": [{**TOLERATION, "value": ""}, TOLERATION]}),
        ({"schedulingGates": GATE}, {}),
        ({"schedulingGates": GATE}, {"nodeSelector": {"a": "b"}, "schedulingGates": GATE}),
    ],
)
def test_an_update_may_change_some_fields(old: dict[str, Any], new: dict[str, Any]) -> None:
    changed, before = pod(**new), pod(**old)
    policy = before["spec"]["containers"][0]["imagePullPolicy"]
    changed["spec"]["containers"][0]["imagePullPolicy"] = policy
    assert causes(changed, before) == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({}, {"hostname": "h"}, [("spec", "Forbidden")]),
        ({}, {"nodeSelector": {"a": "b"}}, [("spec", "Forbidden")]),
        (
            {},
            {"containers": [{"name": "c", "image": "i:1"}, {"name": "d", "image": "i:1"}]},
            [("spec.containers", "Forbidden")],
        ),
        (
            {},
            {"initContainers": [{"name": "d", "image": "i:1"}]},
            [("spec.initContainers", "Forbidden")],
        ),
        (
            {"activeDeadlineSeconds": 5},
            {"activeDeadlineSeconds": 6},
            [("spec.activeDeadlineSeconds", "Invalid")],
        ),
        ({"activeDeadlineSeconds": 5}, {}, [("spec.activeDeadlineSeconds", "Invalid")]),
        ({"tolerations": [TOLERATION]}, {}, [("spec.tolerations", "Forbidden")]),
        ({}, {"schedulingGates": GATE}, [("spec.schedulingGates[0].name", "Forbidden")]),
        (
            {"schedulingGates": GATE, "nodeSelector": {"a": "b"}},
            {"schedulingGates": GATE},
            [("spec.nodeSelector", "Invalid")],
        ),
    ],
)
def test_an_update_may_not_change_others(
    old: dict[str, Any], new: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    assert causes(pod(**new), pod(**old)) == expected


def test_ephemeral_containers_are_only_added() -> None:
    debug = {"name": "d", "image": "x"}
    old, new = pod(), pod(hostname="ignored")
    new["spec"]["ephemeralContainers"] = [debug]
    PODS.prepare_for_subresource("ephemeralcontainers", new, old)
    assert "hostname" not in new["spec"]
    new = PODS.decode(RESOURCE, new).obj
    assert causes(new, old, "ephemeralcontainers") == []
    assert causes(old, new, "ephemeralcontainers") == [("spec.ephemeralContainers", "Forbidden")]
    assert causes(new, old) == [("spec", "Forbidden")]


def test_a_resize_keeps_the_quality_of_service_and_all_resources() -> None:
    def resized(**requests: str) -> dict[str, Any]:
        container = {"name": "c", "image": "i:1", "resources": {"requests": requests}}
        return pod(containers=[container])

    old = resized(cpu="1", memory="1Gi")
    assert causes(resized(cpu="2", memory="1Gi"), old, "resize") == []
    path = "spec.containers[0].resources.requests"
    assert causes(resized(cpu="2"), old, "resize") == [(path, "Forbidden")]
    assert causes(resized(cpu="1"), pod(), "resize") == [("spec", "Invalid")]


def test_a_gated_pod_says_that_it_waits_and_a_negative_grace_period_is_one() -> None:
    obj = pod(schedulingGates=GATE, terminationGracePeriodSeconds=-5)
    assert obj["status"]["conditions"][0]["reason"] == "SchedulingGated"
    assert obj["spec"]["terminationGracePeriodSeconds"] == 1


def test_duplicates_and_fractions_of_bytes_are_warned_of() -> None:
    port = {"containerPort": 80, "name": "http", "protocol": "TCP"}
    spec = {
        "containers": [
            {"env": [{"name": "A"}, {"name": "A"}], "ports": [port]},
            {"ports": [port], "resources": {"limits": {"memory": "100m", "cpu": "100m"}}},
        ],
        "hostAliases": [{"ip": "1.2.3.4"}, {"ip": "1.2.3.4"}],
        "imagePullSecrets": [{"name": ""}, {"name": "s"}, {"name": "s"}],
    }
    assert [text.partition(": ")[0] for text in pod_warnings({"spec": spec})] == [
        "spec.hostAliases[1].ip",
        "spec.imagePullSecrets[2].name",
        "spec.imagePullSecrets[0].name",
        "spec.containers[0].env[1]",
        "spec.containers[1].resources.limits[memory]",
        "spec.containers[1].ports[0]",
        "spec.containers[1].ports[0]",
    ]


def test_a_variable_that_extends_an_earlier_one_does_not_hide_it() -> None:
    def warned(**second: Any) -> bool:
        env = [{"name": "A", "value": "1"}, {"name": "A", **second}]
        return bool(pod_warnings({"spec": {"containers": [{"env": env}]}}))

    assert not warned(value="$(A)-x")
    assert warned(value="$(A)")
    assert warned(value="$(B)")
    assert warned(valueFrom={"fieldRef": {"fieldPath": "spec.nodeName"}})


def test_selectors_of_nothing_are_warned_of() -> None:
    field = "DuringSchedulingIgnoredDuringExecution"
    selects: dict[str, Any] = {"labelSelector": {}}
    spec = {
        "containers": [],
        "topologySpreadConstraints": [selects, {}],
        "affinity": {
            "podAffinity": {f"required{field}": [{}, selects]},
            "podAntiAffinity": {f"preferred{field}": [{"podAffinityTerm": {}}]},
        },
    }
    problem = "labelSelector: a null labelSelector results in matching no pod"
    assert pod_warnings({"spec": spec}) == [
        f"spec.topologySpreadConstraints[1].{problem}",
        f"spec.affinity.podAffinity.required{field}[0].{problem}",
        f"spec.affinity.podAntiAffinity.preferred{field}[0].podAffinityTerm.{problem}",
    ]


def test_files_of_a_volume_that_replace_each_other_are_warned_of() -> None:
    items = [{"path": "a"}, {"path": "a/b"}, {"path": "c"}]
    token = {"serviceAccountToken": {"path": "t"}}
    request = {"spec": {"resources": {"requests": {"storage": "200m"}}}}
    volumes = [
        {"name": "v", "configMap": {"name": "m", "items": items}},
        {"name": "w", "projected": {"sources": [token, token, {}]}},
        {"name": "x", "gitRepo": {}},
        {"name": "y", "ephemeral": {"volumeClaimTemplate": request}},
        {"name": "z", "storageos": {}},
    ]
    assert pod_warnings({"spec": {"containers": [], "volumes": volumes}}) == [
        "spec.volumes[2].gitRepo: deprecated in v1.11",
        "spec.volumes[3].ephemeral.volumeClaimTemplate.spec.resources.requests[storage]: "
        'fractional byte value "200m" is invalid, must be an integer',
        "spec.volumes[4].storageOS: deprecated in v1.22, non-functional in v1.25+",
        'volume "v" (ConfigMap "m"): overlapping paths: "a/b" with "a"',
        'volume "w" (Projected): overlapping paths: "t" (ServiceAccountToken) '
        'with "t" (ServiceAccountToken)',
        'volume "w" (Projected) has no sources provided',
    ]


def test_an_ended_container_does_not_run_again_unless_the_pod_restarts_it() -> None:
    def with_state(policy: str, **state: Any) -> dict[str, Any]:
        obj = pod(restartPolicy=policy)
        obj["status"]["containerStatuses"] = [{"name": "c", "state": state}]
        return obj

    for policy, code, refused in (
        ("Always", 0, False),
        ("OnFailure", 1, False),
        ("OnFailure", 0, True),
        ("Never", 1, True),
    ):
        old = with_state(policy, terminated={"exitCode": code})
        errors = PODS.validate_status_update(with_state(policy, running={}), old)
        expected = ["status.containerStatuses[0].state"] if refused else []
        assert [error.field for error in errors] == expected


def test_custom_conditions_have_qualified_names() -> None:
    new = pod()
    new["status"]["conditions"] = [{"type": "Ready"}, {"type": "example.com/a"}, {"type": "a b"}]
    errors = PODS.validate_status_update(new, pod())
    assert [error.field for error in errors] == ["status.conditions[2].Type"]
