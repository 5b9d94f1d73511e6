"""Roles and bindings.

Upstream: ``pkg/registry/rbac``, ``pkg/apis/rbac/validation`` and ``defaults.go``.
"""

from __future__ import annotations

from clientgo.apiserver.kinds.builtin_strategies import BuiltinStrategy
from clientgo.apiserver.resources.names import PATH_SEGMENT
from clientgo.apiserver.storage.storage import Object
from clientgo.schema.field_errors import FieldError


class RoleStrategy(BuiltinStrategy):
    """Roles and cluster roles, as plain storage."""

    name_rule = PATH_SEGMENT

    def default(self, obj: Object) -> None:
        """Rules are told even if there are none."""
        obj.setdefault("rules", None)


class RoleBindingStrategy(BuiltinStrategy):
    """Role bindings and cluster role bindings."""

    name_rule = PATH_SEGMENT

    def default(self, obj: Object) -> None:
        """References are to the RBAC group; so are users and groups."""
        group = "rbac.authorization.k8s.io"
        if not obj["roleRef"].get("apiGroup"):
            obj["roleRef"]["apiGroup"] = group
        for subject in obj.get("subjects", ()):
            if subject.get("kind") in ("User", "Group"):
                subject.setdefault("apiGroup", group)

    def validate_change(self, new: Object, old: Object) -> list[FieldError]:
        """The role can't change."""
        if new["roleRef"] == old["roleRef"]:
            return []
        return [FieldError.invalid("roleRef", new["roleRef"], "cannot change roleRef")]
