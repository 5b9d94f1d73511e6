"""Network policies and endpoint slices.

Upstream: ``pkg/apis/networking/v1/defaults.go``.
"""

from __future__ import annotations

from clientgo.apiserver.kinds.builtin_strategies import BuiltinStrategy
from clientgo.apiserver.storage.storage import Object


class NetworkPolicyStrategy(BuiltinStrategy):
    """Network policies."""

    def default(self, obj: Object) -> None:
        """Set the types: ingress always, egress if the policy has rules for it."""
        spec = obj["spec"]
        if not spec.get("policyTypes"):
            spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


class EndpointSliceStrategy(BuiltinStrategy):
    """Endpoint slices."""

    def warnings(self, new: Object, old: Object | None) -> list[str]:
        """Warn of addresses that are names."""
        if new.get("addressType") != "FQDN":
            return []
        return ["spec.addressType: FQDN endpoints are deprecated"]
