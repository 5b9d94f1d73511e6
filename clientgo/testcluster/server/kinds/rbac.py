"""Roles and bindings.

Upstream: ``pkg/registry/rbac``, ``pkg/apis/rbac/validation`` and ``defaults.go``.
"""

from __future__ import annotations

from clientgo.testcluster.server.kinds.builtin_strategies import BuiltinStrategy
from clientgo.testcluster.server.resources.names import PATH_SEGMENT
from clientgo.testcluster.server.storage.storage import Object


class RoleStrategy(BuiltinStrategy):
    """Roles and cluster roles."""

    name_rule = PATH_SEGMENT

    def default(self, obj: Object) -> None:
        """Set missing rules to null."""
        obj.setdefault("rules", None)


class RoleBindingStrategy(BuiltinStrategy):
    """Role bindings and cluster role bindings."""

    name_rule = PATH_SEGMENT

    def default(self, obj: Object) -> None:
        """Set the API group of the role and of users and groups."""
        group = "rbac.authorization.k8s.io"
        if not obj["roleRef"].get("apiGroup"):
            obj["roleRef"]["apiGroup"] = group
        for subject in obj.get("subjects", ()):
            if subject.get("kind") in ("User", "Group"):
                subject.setdefault("apiGroup", group)
