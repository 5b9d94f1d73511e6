"""Nodes.

Upstream: ``pkg/registry/core/node`` and ``pkg/apis/core/v1/conversion.go``.
"""

from __future__ import annotations

from clientgo.apiserver.kinds.builtin_strategies import StatusStrategy
from clientgo.apiserver.storage.storage import Object


class NodeStrategy(StatusStrategy):
    """Nodes: a kubelet creates its node with the status."""

    selectable_fields = {
        "spec.unschedulable": lambda obj: str(bool(obj["spec"].get("unschedulable"))).lower()
    }

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

    def prepare_for_create(self, obj: Object) -> None:
        """Keep the status."""
        obj.setdefault("status", {})
