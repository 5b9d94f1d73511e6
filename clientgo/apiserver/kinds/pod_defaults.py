"""The defaults of a pod's spec, for pods and pod templates.

Upstream: ``pkg/apis/core/v1/defaults.go``.
"""

from __future__ import annotations

from typing import Any

from clientgo.apiserver.storage.storage import Object


def default_pod(spec: Object) -> None:
    """Set the defaults of the spec of a pod, in place: those of a template, and some more."""
    default_pod_spec(spec)
    spec.setdefault("enableServiceLinks", True)
    for container in _containers(spec):
        resources = container["resources"]
        if "limits" in resources:
            resources["requests"] = {**resources["limits"], **resources.get("requests", {})}


def _containers(spec: Object) -> tuple[Object, ...]:
    return (*spec.get("initContainers", ()), *spec.get("containers", ()))


def default_pod_spec(spec: Object) -> None:
    """Set the defaults of the spec of a pod or a pod template, in place."""
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("securityContext", {})
    if "serviceAccountName" in spec:
        spec.setdefault("serviceAccount", spec["serviceAccountName"])
    for container in (*_containers(spec), *spec.get("ephemeralContainers", ())):
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
        if "resourceFieldRef" in source:
            source["resourceFieldRef"].setdefault("divisor", "0")


def _pull_policy(image: str) -> str:
    """Return Always for an image without a tag or with the tag latest."""
    if not image:
        return "IfNotPresent"
    last = image.rpartition("/")[2]
    _, colon, tag = last.partition(":")
    pinned = "@" in last or (colon and tag != "latest")
    return "IfNotPresent" if pinned else "Always"


def _default_probe(probe: Object) -> None:
    if probe.get("initialDelaySeconds") == 0:
        del probe["initialDelaySeconds"]  # the zero value is not written
    probe.setdefault("timeoutSeconds", 1)
    probe.setdefault("periodSeconds", 10)
    probe.setdefault("successThreshold", 1)
    probe.setdefault("failureThreshold", 3)
    if "httpGet" in probe:
        probe["httpGet"].setdefault("path", "/")
        probe["httpGet"].setdefault("scheme", "HTTP")


_FILE_MODE = 0o644
_TOKEN_SECONDS = 3600


def _default_volume(volume: Object) -> None:
    for source in ("secret", "configMap", "downwardAPI", "projected"):
        if isinstance(found := volume.get(source), dict):
            found.setdefault("defaultMode", _FILE_MODE)
    for source in volume.get("projected", {}).get("sources", ()):
        if "serviceAccountToken" in source:
            source["serviceAccountToken"].setdefault("expirationSeconds", _TOKEN_SECONDS)
    if claim := volume.get("ephemeral", {}).get("volumeClaimTemplate"):
        claim.get("spec", {}).setdefault("volumeMode", "Filesystem")
    if "hostPath" in volume:
        volume["hostPath"].setdefault("type", "")
    if not any(key != "name" for key in volume):
        volume["emptyDir"] = {}


def default_template(spec: dict[str, Any]) -> None:
    """Set the defaults of the pod template in a workload's spec, in place."""
    template = spec.setdefault("template", {})
    default_pod_spec(template.setdefault("spec", {}))
