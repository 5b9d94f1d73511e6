"""The interface that the writer calls before it stores; ``admission`` implements it.

Upstream: apiserver ``admission.Interface``, ``MutationInterface`` and ``ValidationInterface``.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Protocol

import msgspec

from clientgo.testcluster.server.auth.users import SERVER, User
from clientgo.testcluster.server.objects.large_work import WorkOn
from clientgo.testcluster.server.resources.resource import Resource
from clientgo.testcluster.server.storage.storage import Object


class Operation(StrEnum):
    """What a write does, in the words of webhook rules."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"


class Review(msgspec.Struct):
    """A write to be admitted. Mutating admission may replace ``obj`` and add warnings."""

    operation: Operation
    resource: Resource
    namespace: str
    name: str
    obj: Object | None
    old: Object | None
    work: WorkOn
    """Runs what takes as long as the object is large."""
    subresource: str = ""
    dry_run: bool = False
    options: Mapping[str, object] = msgspec.field(default_factory=dict)
    user: User = SERVER
    warnings: list[str] = msgspec.field(default_factory=list)


class Admission(Protocol):
    """Decides on writes. Each method raises a FailedRequestError to refuse one."""

    def check(self, operation: Operation, resource: Resource, namespace: str, name: str) -> None:
        """Decide by what the request names, before the object is looked at."""

    async def mutate(self, review: Review) -> None:
        """Change ``review.obj``, before the object is validated."""

    def allocate(self, review: Review) -> None:
        """Set in ``review.obj`` what only one object can have; it has no field manager."""

    async def validate(self, review: Review) -> None:
        """Decide on the object as it will be stored."""
