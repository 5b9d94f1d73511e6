"""Certificate signing requests: decided and signed through their subresources.

Upstream: ``pkg/registry/certificates``.
"""

from __future__ import annotations

import time
from typing import Any

from clientgo.meta.timestamps import format_time
from clientgo.meta.validation.field_errors import FieldError
from clientgo.testcluster.server.kinds.builtin_strategies import StatusStrategy, take
from clientgo.testcluster.server.storage.storage import Object

_DECISIONS = ("Approved", "Denied")
"""Types of the conditions that only the approval subresource changes."""


class CertificateRequestStrategy(StatusStrategy):
    """Certificate signing requests: the spec never changes."""

    def prepare_for_update(self, new: Object, old: Object) -> None:
        """Keep spec and status."""
        super().prepare_for_update(new, old)
        take(new, old, "spec")

    def prepare_for_status_update(self, new: Object, old: Object) -> None:
        """Keep the decision."""
        super().prepare_for_status_update(new, old)
        others = [item for item in _conditions(new) if item.get("type") not in _DECISIONS]
        decisions = [item for item in _conditions(old) if item.get("type") in _DECISIONS]
        _set_conditions(new.setdefault("status", {}), [*decisions, *others])

    def prepare_for_subresource(self, subresource: str, new: Object, old: Object) -> None:
        """Keep everything except the conditions."""
        super().prepare_for_status_update(new, old)
        conditions = _conditions(new)
        new["status"] = {**old.get("status", {})}
        _set_conditions(new["status"], conditions)

    def validate_subresource_update(
        self, subresource: str, new: Object, old: Object
    ) -> list[FieldError]:
        """Return the errors of the conditions."""
        return self.validate_status_update(new, old)


def _conditions(obj: Object) -> list[Any]:
    return obj.get("status", {}).get("conditions") or []


def _set_conditions(status: Object, conditions: list[Any]) -> None:
    """Set the conditions; those without times get the time now."""
    if not conditions:
        status.pop("conditions", None)
        return
    now = format_time(int(time.time()))
    for condition in conditions:
        for name in ("lastUpdateTime", "lastTransitionTime"):
            if not condition.get(name):
                condition[name] = now
    status["conditions"] = conditions
