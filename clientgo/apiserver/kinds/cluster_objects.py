"""Nodes, limit ranges, disruption budgets: what their tables can't say.

Upstream: ``pkg/registry/core/node``, ``pkg/apis/core/v1/defaults.go``, ``pkg/registry/policy``.
"""

from __future__ import annotations

from clientgo.apiserver.kinds.builtin_strategies import BuiltinStrategy, StatusStrategy
from clientgo.apiserver.resources.names import PATH_SEGMENT
from clientgo.apiserver.storage.storage import Object


class NodeStrategy(StatusStrategy):
    """Nodes: a kubelet creates its node with the status."""

    selectable_fields = {
        "spec.unschedulable": lambda obj: str(bool(obj["spec"].get("unschedulable"))).lower()
    }

    def default(self, obj: Object) -> None:
        """Bring the two fields for the range of pods into step; set the zeros of a status."""
        spec = obj.setdefault("spec", {})
        if spec.get("podCIDR"):
            spec["podCIDRs"] = [spec["podCIDR"], *spec.get("podCIDRs", [])[1:]]
        elif spec.get("podCIDRs"):
            spec["podCIDR"] = spec["podCIDRs"][0]

    def prepare_for_create(self, obj: Object) -> None:
        """Keep the status."""
        obj.setdefault("status", {})


class LimitRangeStrategy(BuiltinStrategy):
    """Limit ranges: the limits of containers complete each other."""

    def default(self, obj: Object) -> None:
        """Set the defaults of containers from their maximum and minimum."""
        for item in obj["spec"].get("limits") or ():
            if item.get("type") != "Container":
                continue
            limits = {**item.get("max", {}), **item.get("default", {})}
            requests = {**item.get("min", {}), **limits, **item.get("defaultRequest", {})}
            if limits:
                item["default"] = limits
            if requests:
                item["defaultRequest"] = requests


class DisruptionBudgetStrategy(StatusStrategy):
    """Disruption budgets; an update needs the resourceVersion."""

    allow_unconditional_update = False
    name_rule = PATH_SEGMENT
