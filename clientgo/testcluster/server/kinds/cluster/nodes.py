"""Nodes.

Upstream: ``pkg/registry/core/node`` and ``pkg/apis/core/v1/conversion.go``.
"""

from __future__ import annotations

from clientgo.meta.validation.field_errors import FieldError
from clientgo.testcluster.server.kinds.builtin_strategies import StatusStrategy
from clientgo.testcluster.server.kinds.tables.validation.cluster_functions import node_errors
from clientgo.testcluster.server.storage.storage import Object


class NodeStrategy(StatusStrategy):
    """Nodes: a kubelet creates its node with the status."""

    def default(self, obj: Object) -> None:
        """Set the range of pods in both fields, and what can be allocated."""
        spec = obj.setdefault("spec", {})
        first = spec.get("podCIDR")
        if first and spec.get("podCIDRs", [""])[0] != first:
            spec["podCIDRs"] = [first]
        elif spec.get("podCIDRs"):
            spec["podCIDR"] = spec["podCIDRs"][0]
        status = obj.get("status", {})
        if "capacity" in status:
            status.setdefault("allocatable", dict(status["capacity"]))

    def validate_change(self, new: Object, old: Object) -> list[FieldError]:
        """Return the errors of addresses; as upstream, taints and amounts are checked again."""
        checked_again = {"spec": {"taints": new.get("spec", {}).get("taints") or []}}
        checked_again["status"] = status = new.get("status", {})
        return node_errors(checked_again, "") + _address_errors(status)

    def validate_status_update(self, new: Object, old: Object) -> list[FieldError]:
        """Return the errors of a status: the whole node is checked as in other updates."""
        return self.validate_change(new, old)

    def prepare_for_create(self, obj: Object) -> None:
        """Keep the status."""
        obj.setdefault("status", {})

    def prepare_for_update(self, new: Object, old: Object) -> None:
        """Keep the status; a kubelet no longer takes its configuration from the API."""
        super().prepare_for_update(new, old)
        if "configSource" not in old.get("spec", {}):
            new["spec"].pop("configSource", None)

    def prepare_for_status_update(self, new: Object, old: Object) -> None:
        """Keep the spec, and drop the state of a configuration that nothing reads."""
        super().prepare_for_status_update(new, old)
        if "config" not in old.get("status", {}):
            new.get("status", {}).pop("config", None)


def _address_errors(status: Object) -> list[FieldError]:
    """Return the addresses that a status has twice."""
    seen: list[Object] = []
    errors = []
    for index, address in enumerate(status.get("addresses") or ()):
        if address in seen:
            errors.append(FieldError.duplicate(f"status.addresses[{index}]", address))
        seen.append(address)
    return errors
