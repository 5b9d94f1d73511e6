"""What the server sets in the spec of a pod, beyond the defaults of its table.

Upstream: ``pkg/apis/core/v1/defaults.go``.
"""

from __future__ import annotations

from clientgo.apiserver.storage.storage import Object


def request_limits(spec: Object) -> None:
    """Set the requests of containers that have limits only, in place."""
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        resources = container["resources"]
        if "limits" in resources:
            resources["requests"] = {**resources["limits"], **resources.get("requests", {})}
