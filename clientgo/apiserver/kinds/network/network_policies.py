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
        """Warn of addresses that are names."""
        if new.get("addressType") != "FQDN":
            return []
        return ["spec.addressType: FQDN endpoints are deprecated"]


def _drop_topology(slice_: Object) -> None:
    for endpoint in slice_.get("endpoints") or ():
        endpoint.pop("deprecatedTopology", None)
