"""The table of pods and their templates: rules of upstream's validation, one case each."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.testcluster.schema.openapi import builtin_type
from clientgo.testcluster.server.kinds.tables.builtin_table import BuiltinTable
from clientgo.testcluster.server.kinds.typed_objects import read_typed

C = "spec.containers[0]"


def causes(api_version: str, kind: str, spec: dict[str, Any]) -> list[tuple[str, str]]:
    """Return field and reason of the causes of a new object with a spec."""
    table, openapi_type = BuiltinTable(api_version, kind), builtin_type(api_version, kind)
    assert openapi_type is not None
    obj, _ = read_typed({"metadata": {"name": "a"}, "spec": spec}, openapi_type)
    table.set_defaults(obj)
    errors = table.validate(obj)
    return sorted((e.field, e.reason.value.removeprefix("FieldValue")) for e in errors)


def pod(*, container: dict[str, Any] | None = None, **spec: Any) -> list[tuple[str, str]]:
    """Return the causes of a pod with one container."""
    containers = [{"name": "c", "image": "i", **(container or {})}]
    return causes("v1", "Pod", {"containers": containers, **spec})


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        ({}, []),
        ({"name": ""}, [(f"{C}.name", "Required")]),
        ({"image": ""}, [(f"{C}.image", "Required")]),
        ({"ports": [{"containerPort": 0}]}, [(f"{C}.ports[0].containerPort", "Required")]),
        ({"ports": [{"containerPort": 70000}]}, [(f"{C}.ports[0].containerPort", "Invalid")]),
        ({"env": [{"name": "a=b"}]}, [(f"{C}.env[0].name", "Invalid")]),
        ({"env": [{"name": "A", "valueFrom": {}}]}, [(f"{C}.env[0].valueFrom", "Invalid")]),
        ({"envFrom": [{}]}, [(f"{C}.envFrom", "Invalid")]),
        (
            {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.bogus"}}}]},
            [(f"{C}.env[0].valueFrom.fieldRef.fieldPath", "Invalid")],
        ),
        (
            {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels"}}}]},
            [(f"{C}.env[0].valueFrom.fieldRef.fieldPath", "NotSupported")],
        ),
        (
            {"volumeMounts": [{"name": "v", "mountPath": ""}]},
            [
                (f"{C}.volumeMounts[0].mountPath", "Required"),
                (f"{C}.volumeMounts[0].name", "NotFound"),
            ],
        ),
        (
            {"resources": {"limits": {"bogus": "1"}}},
            [(f"{C}.resources.limits[bogus]", "Invalid")] * 2,
        ),
        (
            {"resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}},
            [(f"{C}.resources.requests", "Invalid")],
        ),
        (
            {"resources": {"requests": {"example.com/gpu": "1"}}},
            [(f"{C}.resources.limits", "Required")],
        ),
        ({"livenessProbe": {}}, [(f"{C}.livenessProbe", "Required")]),
        (
            {"livenessProbe": {"exec": {"command": ["x"]}, "successThreshold": 2}},
            [(f"{C}.livenessProbe.successThreshold", "Invalid")],
        ),
        (
            {"readinessProbe": {"httpGet": {}, "tcpSocket": {"port": 1}}},
            [
                (f"{C}.readinessProbe.httpGet.port", "Invalid"),
                (f"{C}.readinessProbe.tcpSocket", "Forbidden"),
            ],
        ),
        (
            {"lifecycle": {"preStop": {"sleep": {"seconds": 100}}}},
            [(f"{C}.lifecycle.preStop.sleep", "Invalid")],
        ),
        (
            {"securityContext": {"privileged": True, "allowPrivilegeEscalation": False}},
            [(f"{C}.securityContext", "Invalid")],
        ),
        (
            {"securityContext": {"procMount": "Unmasked"}},
            [(f"{C}.securityContext.procMount", "Invalid")],
        ),
        ({"resources": {"claims": [{"name": "x"}]}}, [(f"{C}.resources.claims[0]", "NotFound")]),
    ],
)
def test_a_container_is_checked(container: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert pod(container=container) == expected


V = "spec.volumes[0]"


@pytest.mark.parametrize(
    ("volume", "expected"),
    [
        ({"name": ""}, [(f"{V}.name", "Required")]),
        (
            {"name": "v", "emptyDir": {}, "hostPath": {"path": "/"}},
            [(f"{V}.hostPath", "Forbidden")],
        ),
        ({"name": "v", "hostPath": {"path": "/a/.."}}, [(f"{V}.hostPath.path", "Invalid")]),
        (
            {"name": "v", "nfs": {"server": "s"}},
            [(f"{V}.nfs.path", "Invalid"), (f"{V}.nfs.path", "Required")],
        ),
        (
            {"name": "v", "secret": {"defaultMode": 512}},
            [(f"{V}.secret.defaultMode", "Invalid"), (f"{V}.secret.secretName", "Required")],
        ),
        (
            {"name": "v", "downwardAPI": {"items": [{"path": "/x"}]}},
            [(f"{V}.downwardAPI", "Required"), (f"{V}.downwardAPI.path", "Invalid")],
        ),
        (
            {
                "name": "v",
                "projected": {"sources": [{"configMap": {"name": "a"}, "secret": {"name": "b"}}]},
            },
            [(f"{V}.projected.sources[0]", "Forbidden")],
        ),
        (
            {"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
            [
                (f"{V}.ephemeral.volumeClaimTemplate.spec.accessModes", "Required"),
                (f"{V}.ephemeral.volumeClaimTemplate.spec.resources[storage]", "Required"),
            ],
        ),
        (
            {"name": "v", "csi": {"driver": "x" * 64}},
            [(f"{V}.csi.driver", "Invalid"), (f"{V}.csi.driver", "TooLong")],
        ),
    ],
)
def test_a_volume_is_checked(volume: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    if "csi" in volume:
        expected = expected[1:]  # a long name of valid characters
    assert pod(volumes=[volume]) == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"restartPolicy": "Bogus"}, [("spec.restartPolicy", "NotSupported")]),
        ({"dnsPolicy": "None"}, [("spec.dnsConfig", "Required")]),
        ({"tolerations": [{"value": "x"}]}, [("spec.tolerations[0].operator", "Invalid")]),
        ({"os": {"name": "plan9"}}, [("spec.os", "NotSupported")]),
        ({"os": {"name": "windows"}, "hostPID": True}, [("spec.hostPID", "Forbidden")]),
        (
            {"initContainers": [{"name": "c", "image": "i"}]},
            [("spec.initContainers[0].name", "Duplicate")],
        ),
        (
            {"topologySpreadConstraints": [{"topologyKey": "z", "whenUnsatisfiable": "Bogus"}] * 2},
            [
                ("spec.topologySpreadConstraints[0].maxSkew", "Invalid"),
                ("spec.topologySpreadConstraints[0].whenUnsatisfiable", "NotSupported"),
                (
                    "spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}",
                    "Duplicate",
                ),
                ("spec.topologySpreadConstraints[1].maxSkew", "Invalid"),
                ("spec.topologySpreadConstraints[1].whenUnsatisfiable", "NotSupported"),
            ],
        ),
        (
            {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}},
            [
                (
                    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
                    ".nodeSelectorTerms",
                    "Required",
                )
            ],
        ),
        (
            {"ephemeralContainers": [{"name": "d", "image": "i"}]},
            [("spec.ephemeralContainers", "Forbidden")],
        ),
    ],
)
def test_the_spec_of_a_pod_is_checked(
    spec: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    assert pod(**spec) == expected


def test_a_template_may_not_restart_otherwise_than_always() -> None:
    pod_spec = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod_spec}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    for kind in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"):
        expected = [("spec.template.spec.restartPolicy", "NotSupported")]
        assert causes("apps/v1", kind, spec) == expected


def test_a_replication_controller_needs_labels_or_a_selector() -> None:
    pod_spec = {"containers": [{"name": "c", "image": "i"}]}
    assert causes("v1", "ReplicationController", {"template": {"spec": pod_spec}}) == [
        ("spec.selector", "Required")
    ]
    labelled = {"metadata": {"labels": {"a": "b"}}, "spec": pod_spec}
    assert causes("v1", "ReplicationController", {"template": labelled}) == []
    other = {"template": labelled, "selector": {"a": "c"}}
    assert causes("v1", "ReplicationController", other) == [
        ("spec.template.metadata.labels", "Invalid")
    ]
