"""The defaults of a pod's spec, for pods and pod templates.

Upstream: ``pkg/apis/core/v1/defaults.go``.
"""

from __future__ import annotations

from typing import Any

from clientgo.apiserver.storage.storage import Object


def default_pod_spec(spec: Object) -> None:
    """Set the defaults of a pod's spec, in place."""
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("securityContext", {})
    if "serviceAccountName" in spec:
        spec.setdefault("serviceAccount", spec["serviceAccountName"])
    for container in (*spec.get("initContainers", ()), *spec.get("containers", ())):
        _default_container(container)
    for volume in spec.get("volumes", ()):
        _default_volume(volume)


def _default_container(container: Object) -> None:
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    container.setdefault("imagePullPolicy", _pull_policy(container.get("image", "")))
    container.setdefault("resources", {})
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        if probe in container:
            _default_probe(container[probe])
    for variable in container.get("env", ()):
        source = variable.get("valueFrom", {})
        if "fieldRef" in source:
            source["fieldRef"].setdefault("apiVersion", "v1")
    resources = container["resources"]
    if "limits" in resources:
        resources["requests"] = {**resources["limits"], **resources.get("requests", {})}


def _pull_policy(image: str) -> str:
    """Return Always for an image without a tag or with the tag latest."""
    last = image.rpartition("/")[2]
    _, colon, tag = last.partition(":")
    pinned = "@" in last or (colon and tag != "latest")
    return "IfNotPresent" if pinned else "Always"


def _default_probe(probe: Object) -> None:
    probe.setdefault("timeoutSeconds", 1)
    probe.setdefault("periodSeconds", 10)
    probe.setdefault("successThreshold", 1)
    probe.setdefault("failureThreshold", 3)
    if "httpGet" in probe:
        probe["httpGet"].setdefault("path", "/")
        probe["httpGet"].setdefault("scheme", "HTTP")


_FILE_MODE = 0o644


def _default_volume(volume: Object) -> None:
    for source in ("secret", "configMap", "downwardAPI", "projected"):
        if isinstance(found := volume.get(source), dict):
            found.setdefault("defaultMode", _FILE_MODE)
    if not any(key != "name" for key in volume):
        volume["emptyDir"] = {}


def default_template(spec: dict[str, Any]) -> None:
    """Set the defaults of the pod template in a workload's spec, in place."""
    template = spec.setdefault("template", {})
    default_pod_spec(template.setdefault("spec", {}))
