"""Ingresses, network policies and endpoint slices.

Upstream: ``pkg/apis/networking/v1/defaults.go``, ``pkg/registry/networking``.
"""

from __future__ import annotations

from clientgo.testcluster.server.kinds.builtin_strategies import BuiltinStrategy, StatusStrategy
from clientgo.testcluster.server.storage.storage import Object


class IngressStrategy(StatusStrategy):
    """Ingresses."""

    def warnings(self, new: Object, old: Object | None) -> list[str]:
        """Warn of the annotation that stood for the class of a new ingress."""
        annotated = _INGRESS_CLASS in new["metadata"].get("annotations", {})
        if old is not None or not annotated or "ingressClassName" in new["spec"]:
            return []
        return [
            f"annotation \"{_INGRESS_CLASS}\" is deprecated, please use 'spec.ingressClassName' "
            "instead"
        ]


_INGRESS_CLASS = "kubernetes.io/ingress.class"


class NetworkPolicyStrategy(BuiltinStrategy):
    """Network policies."""

    def default(self, obj: Object) -> None:
        """Set the types: ingress always, egress if the policy has rules for it."""
        spec = obj["spec"]
        if not spec.get("policyTypes"):
            spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


class EndpointSliceStrategy(BuiltinStrategy):
    """Endpoint slices; their topology was a field of an earlier version."""

    def prepare_for_create(self, obj: Object) -> None:
        """Drop the topology."""
        super().prepare_for_create(obj)
        _drop_topology(obj)

    def prepare_for_update(self, new: Object, old: Object) -> None:
        """Drop the topology, unless the endpoints stay as they are."""
        super().prepare_for_update(new, old)
        if new.get("endpoints") != old.get("endpoints"):
            _drop_topology(new)

    def warnings(self, new: Object, old: Object | None) -> list[str]:
        """Warn of addresses that are names too."""
        if new.get("addressType") == "FQDN":
            return ["spec.addressType: FQDN endpoints are deprecated"]
        return super().warnings(new, old)


def _drop_topology(slice_: Object) -> None:
    for endpoint in slice_.get("endpoints") or ():
        endpoint.pop("deprecatedTopology", None)
