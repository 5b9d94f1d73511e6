"""Limit ranges and disruption budgets.

Upstream: ``pkg/apis/core/v1/defaults.go`` and ``pkg/registry/policy``.
"""

from __future__ import annotations

from clientgo.testcluster.server.kinds.builtin_strategies import BuiltinStrategy, StatusStrategy
from clientgo.testcluster.server.resources.names import PATH_SEGMENT
from clientgo.testcluster.server.resources.resource_type import ResourceType
from clientgo.testcluster.server.storage.storage import Object


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


class EvictionStrategy(BuiltinStrategy):
    """Evictions; the version before, which has the same fields, is read too."""

    def check_type(self, resource: ResourceType, obj: Object) -> None:
        """Refuse an object of another type.

        Raises:
            FailedRequestError: 400.
        """
        if obj.get("apiVersion") == "policy/v1beta1":
            obj["apiVersion"] = resource.api_version
        super().check_type(resource, obj)


class DisruptionBudgetStrategy(StatusStrategy):
    """Disruption budgets."""

    name_rule = PATH_SEGMENT
