"""Leases.

Upstream: ``pkg/registry/coordination`` and ``pkg/apis/coordination/validation``.
"""

from __future__ import annotations

from clientgo.apiserver.kinds.builtin_strategies import BuiltinStrategy
from clientgo.apiserver.storage.storage import Object
from clientgo.schema.field_errors import FieldError


class LeaseStrategy(BuiltinStrategy):
    """Leases; an update needs the resourceVersion."""

    allow_unconditional_update = False

    def validate(self, obj: Object) -> list[FieldError]:
        """Return the errors of durations and counts."""
        errors = super().validate(obj)
        spec = obj["spec"]
        duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
        if duration is not None and duration <= 0:
            path = "spec.leaseDurationSeconds"
            errors.append(FieldError.invalid(path, duration, "must be greater than 0"))
        if transitions is not None and transitions < 0:
            detail = "must be greater than or equal to 0"
            errors.append(FieldError.invalid("spec.leaseTransitions", transitions, detail))
        return errors
