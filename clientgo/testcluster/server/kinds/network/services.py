"""Services: warnings. Addresses and node ports are kept and allocated in admission.

Upstream: ``pkg/registry/core/service`` and ``pkg/api/service``.
"""

from __future__ import annotations

from clientgo.meta.validation.field_errors import FieldError
from clientgo.testcluster.server.kinds.builtin_strategies import StatusStrategy
from clientgo.testcluster.server.resources.names import DNS_LABEL
from clientgo.testcluster.server.storage.storage import Object

_INGRESS = "status.loadBalancer.ingress"
_TOPOLOGY_HINTS = "service.kubernetes.io/topology-aware-hints"
_TOPOLOGY_MODE = "service.kubernetes.io/topology-mode"


class ServiceStrategy(StatusStrategy):
    """Services."""

    name_rule = DNS_LABEL

    def default(self, obj: Object) -> None:
        """Remove the configuration of an affinity that is off."""
        if obj["spec"].get("sessionAffinity") == "None":
            obj["spec"].pop("sessionAffinityConfig", None)

    def prepare_for_create(self, obj: Object) -> None:
        """Set the status; a name outside of the cluster has no traffic in it."""
        super().prepare_for_create(obj)
        _drop_traffic_policy(obj["spec"])

    def prepare_for_update(self, new: Object, old: Object) -> None:
        """Keep the status; only a load balancer has addresses there."""
        super().prepare_for_update(new, old)
        _drop_traffic_policy(new["spec"])
        status = new.get("status", {})
        if new["spec"].get("type") != "LoadBalancer" and status.get("loadBalancer"):
            new["status"] = {**status, "loadBalancer": {}}

    def validate_status_update(self, new: Object, old: Object) -> list[FieldError]:
        """Return the errors of a status; where no addresses are allowed, theirs do not count."""
        errors = super().validate_status_update(new, old)
        if any(error.field == _INGRESS for error in errors):
            return [error for error in errors if not error.field.startswith(f"{_INGRESS}[")]
        return errors

    def initial_status(self, obj: Object) -> Object:
        """Return an empty load balancer status."""
        return {"loadBalancer": {}}

    def warnings(self, new: Object, old: Object | None) -> list[str]:
        """Warn of fields that are ignored or deprecated."""
        spec = new["spec"]
        warnings = []
        if _TOPOLOGY_HINTS in new["metadata"].get("annotations", {}):
            warnings.append(
                f"annotation {_TOPOLOGY_HINTS} is deprecated, please use {_TOPOLOGY_MODE} instead"
            )
        is_used = spec.get("clusterIP") != "None" and spec.get("type") != "ExternalName"
        if spec.get("externalIPs") and is_used:
            warnings.append(
                "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
            )
        if spec.get("clusterIP") == "None":
            if spec.get("loadBalancerIP"):
                warnings.append("spec.loadBalancerIP is ignored for headless services")
            if spec.get("externalIPs"):
                warnings.append("spec.externalIPs is ignored for headless services")
            if spec.get("sessionAffinity") != "None":
                warnings.append("spec.SessionAffinity is ignored for headless services")
        warnings += super().warnings(new, old)
        if spec.get("type") == "ExternalName":
            if spec.get("externalIPs"):
                warnings.append('spec.externalIPs is ignored when spec.type is "ExternalName"')
        elif spec.get("externalName"):
            warnings.append('spec.externalName is ignored when spec.type is not "ExternalName"')
        if spec.get("trafficDistribution") == "PreferClose":
            warnings.append(
                'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'
            )
        return warnings


def _drop_traffic_policy(spec: Object) -> None:
    """Remove what upstream stores and does not show."""
    if spec.get("type") == "ExternalName":
        spec.pop("internalTrafficPolicy", None)
