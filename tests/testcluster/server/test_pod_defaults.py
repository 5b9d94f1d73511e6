"""The defaults of pods and pod templates, and what admission sets in pods."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testcluster.server.http_api import Api

PODS = "/api/v1/namespaces/default/pods"
TEMPLATES = "/api/v1/namespaces/default/podtemplates"
NOT_READY = "node.kubernetes.io/not-ready"
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
UNREACHABLE = "node.kubernetes.io/unreachable"


def _spec(container: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    image = {"name": "main", "image": "example.com/app:1"}
    return {"containers": [{**image, **(container or {})}], **fields}


def _pod(api: Api, spec: dict[str, Any]) -> dict[str, Any]:
    created: dict[str, Any] = api.create(PODS, {"metadata": {"name": "a"}, "spec": spec})
    return created["spec"]


def _template(api: Api, spec: dict[str, Any]) -> dict[str, Any]:
    body = {"metadata": {"name": "a"}, "template": {"spec": spec}}
    created: dict[str, Any] = api.create(TEMPLATES, body)
    return created["template"]["spec"]


def test_a_limit_is_the_request_of_a_pod_but_not_of_a_template(api: Api) -> None:
    resources = {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}
    spec = _spec({"resources": resources})

    [pod] = _pod(api, spec)["containers"]
    [template] = _template(api, spec)["containers"]

    assert pod["resources"]["requests"] == {"cpu": "500m", "memory": "1Gi"}
    assert template["resources"]["requests"] == {"cpu": "500m"}


def test_admission_sets_priority_and_tolerations_of_pods_but_not_of_templates(api: Api) -> None:
    pod, template = _pod(api, _spec()), _template(api, _spec())

    assert (pod["priority"], pod["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    assert pod["enableServiceLinks"] is True
    assert [(item["key"], item["tolerationSeconds"]) for item in pod["tolerations"]] == [
        (NOT_READY, 300),
        (UNREACHABLE, 300),
    ]
    added = {"priority", "preemptionPolicy", "enableServiceLinks", "tolerations"}
    assert not added & template.keys()


@pytest.mark.parametrize(
    ("toleration", "added"),
    [
        ({"operator": "Exists"}, []),
        ({"operator": "Exists", "effect": "NoSchedule"}, [NOT_READY, UNREACHABLE]),
        ({"key": NOT_READY, "operator": "Exists"}, [UNREACHABLE]),
        ({"key": "other", "operator": "Exists"}, [NOT_READY, UNREACHABLE]),
    ],
)
def test_a_toleration_of_the_pod_replaces_the_default_it_covers(
    api: Api, toleration: dict[str, Any], added: list[str]
) -> None:
    first, *others = _pod(api, _spec(tolerations=[toleration]))["tolerations"]

    assert first == toleration
    assert [item["key"] for item in others] == added


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("a__b/c--d", "Always"),
        ("r.example.com:5000/x/y:latest", "Always"),
        ("nginx:1", "IfNotPresent"),
        ("a..b", "IfNotPresent"),
        ("Bad Image", "IfNotPresent"),
        ("a" * 64, "IfNotPresent"),
        ("g" * 64, "Always"),
        ("g" * 247 + ":latest", "Always"),
        ("g" * 248, "IfNotPresent"),
        ("g/" + "a" * 253, "Always"),
        ("g/" + "a" * 254, "IfNotPresent"),
        ("r.example.com/" + "a" * 255 + ":latest", "Always"),
        ("localhost:5000/" + "a" * 256, "IfNotPresent"),
        ("a" * 1_000_000, "IfNotPresent"),
        ("[2001:db8::1]:5000/a", "Always"),
        ("r..example.com/a", "IfNotPresent"),
        ("nginx:latest@sha256:" + "a" * 64, "Always"),
        ("nginx:latest@sha256:" + "a" * 63, "IfNotPresent"),
        ("nginx:1@sha256:" + "a" * 64, "IfNotPresent"),
        ("nginx@sha256:" + "a" * 64, "IfNotPresent"),
    ],
)
def test_only_an_image_that_names_the_latest_is_always_pulled(
    api: Api, image: str, policy: str
) -> None:
    [container] = _pod(api, _spec({"image": image}))["containers"]

    assert container["imagePullPolicy"] == policy


def test_what_the_pod_says_is_kept(api: Api) -> None:
    pod = _pod(api, _spec(enableServiceLinks=False))

    assert pod["enableServiceLinks"] is False


def test_an_update_without_the_fields_of_admission_keeps_them(api: Api) -> None:
    created = _pod(api, _spec())
    answer = api.call("PUT", f"{PODS}/a", {"metadata": {"name": "a"}, "spec": _spec()})

    assert answer.body["spec"] == created
    assert answer.body["metadata"]["generation"] == 1


def test_sources_of_volumes_and_variables_have_defaults_in_templates_too(api: Api) -> None:
    token = {"serviceAccountToken": {"path": "token"}}
    divided = {"resourceFieldRef": {"resource": "limits.cpu"}}
    probe = {"tcpSocket": {"port": 1}, "initialDelaySeconds": 0}
    spec = _template(
        api,
        _spec(
            {"env": [{"name": "A", "valueFrom": divided}], "livenessProbe": probe},
            volumes=[
                {"name": "a", "projected": {"sources": [token]}},
                {"name": "b", "hostPath": {"path": "/b"}},
                {"name": "c", "ephemeral": {"volumeClaimTemplate": {"spec": CLAIM}}},
            ],
        ),
    )

    [container] = spec["containers"]
    projected, host, ephemeral = spec["volumes"]
    assert container["env"][0]["valueFrom"]["resourceFieldRef"]["divisor"] == "0"
    assert "initialDelaySeconds" not in container["livenessProbe"]
    [source] = projected["projected"]["sources"]
    assert source["serviceAccountToken"]["expirationSeconds"] == 3600
    assert host["hostPath"]["type"] == ""
    claim = ephemeral["ephemeral"]["volumeClaimTemplate"]
    assert claim["spec"]["volumeMode"] == "Filesystem"
