"""Leases.

Upstream: ``pkg/registry/coordination``.
"""

from __future__ import annotations

from clientgo.apiserver.kinds.builtin_strategies import BuiltinStrategy


class LeaseStrategy(BuiltinStrategy):
    """Leases; an update needs the resourceVersion."""

    allow_unconditional_update = False
