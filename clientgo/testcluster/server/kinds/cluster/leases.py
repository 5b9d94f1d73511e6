"""Leases.

Upstream: ``pkg/registry/coordination``.
"""

from __future__ import annotations

from clientgo.testcluster.server.kinds.builtin_strategies import BuiltinStrategy
from clientgo.testcluster.server.storage.storage import Object


class LeaseStrategy(BuiltinStrategy):
    """Leases; an update needs the resourceVersion."""

    allow_unconditional_update = False

    def prepare_for_create(self, obj: Object) -> None:
        """Drop the fields of coordinated leader election, which a real server has off."""
        super().prepare_for_create(obj)
        _drop_unserved(obj, {})

    def prepare_for_update(self, new: Object, old: Object) -> None:
        """Drop the fields of coordinated leader election, unless the lease had them."""
        super().prepare_for_update(new, old)
        _drop_unserved(new, old)


def _drop_unserved(new: Object, old: Object) -> None:
    for field in ("strategy", "preferredHolder"):
        if field not in old.get("spec", {}):
            new.get("spec", {}).pop(field, None)
