"""What stands in the way of an apply: fields that other managers own.

Promises: `ApplyConflictError` is the API's answer, with one cause a field.

Upstream: ``internal/conflict.go`` in ``k8s.io/apimachinery/pkg/util/managedfields`` and
``merge/conflict.go`` in ``sigs.k8s.io/structured-merge-diff``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from clientgo.meta.errors import ConflictError
from clientgo.meta.status import Status, StatusCause, StatusDetails
from clientgo.testcluster.fields.managed_fields.entries import ManagerId
from clientgo.testcluster.fields.managed_fields.fields.field_path import Path, format_path
from clientgo.util.copies import CopyableError


class FieldConflict(NamedTuple):
    """A field that an apply would take from its owner."""

    manager: ManagerId
    path: Path


class OwnershipConflictError(CopyableError):
    """An apply that is not forced would change fields that others own."""

    def __init__(self, conflicts: Iterable[FieldConflict]) -> None:
        self.conflicts = tuple(conflicts)
        super().__init__(f"{len(self.conflicts)} fields are owned by others")


class ApplyConflictError(ConflictError):
    """An apply would change fields that other managers own; `conflicts` says which and whose.

    Apply with force to take the fields over, or leave them out to give them up.
    """

    def __init__(self, conflicts: Iterable[FieldConflict]) -> None:
        self.conflicts = tuple(conflicts)
        causes = [
            StatusCause(
                reason="FieldManagerConflict",
                message=f"conflict with {conflict.manager}",
                field_=format_path(conflict.path),
            )
            for conflict in self.conflicts
        ]
        super().__init__(
            Status(
                kind="Status",
                api_version="v1",
                status="Failure",
                reason=self.default_reason,
                code=self.default_code,
                message=_conflict_message(self.conflicts),
                details=StatusDetails(causes=causes),
            )
        )


def _conflict_message(conflicts: tuple[FieldConflict, ...]) -> str:
    if len(conflicts) == 1:
        manager, path = conflicts[0]
        return f"Apply failed with 1 conflict: conflict with {manager}: {format_path(path)}"
    lines = []
    for manager in sorted({conflict.manager for conflict in conflicts}):
        lines.append(f"conflicts with {manager}:")
        lines += [f"- {format_path(c.path)}" for c in conflicts if c.manager == manager]
    return f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)
