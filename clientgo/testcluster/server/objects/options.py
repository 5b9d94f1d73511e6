"""What a client asks of a write: the values that ``requests.options`` reads from a request.

Upstream: ``metav1.CreateOptions``, ``UpdateOptions``, ``PatchOptions``, ``DeleteOptions``.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec

from clientgo.testcluster.server.auth.users import SERVER, User


class FieldValidation(StrEnum):
    """What happens to unknown and duplicate fields."""

    IGNORE = "Ignore"
    WARN = "Warn"
    STRICT = "Strict"


class Propagation(StrEnum):
    """What a deletion does with what the object owns."""

    BACKGROUND = "Background"
    FOREGROUND = "Foreground"
    ORPHAN = "Orphan"


class WriteOptions(msgspec.Struct, frozen=True):
    """Options of create, update, patch and apply."""

    dry_run: bool = False
    field_manager: str = ""
    field_validation: FieldValidation = FieldValidation.WARN
    force: bool = False
    as_sent: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """What the client gave, for admission webhooks."""
    user: User = SERVER
    work_size: int = 0
    """Bytes of the object that the client sent, at most; 0 if the server itself writes."""

    def sent_as(self, kind: str) -> Mapping[str, Any]:
        """Return what the client gave as options of a kind: admission sees no ``PatchOptions``."""
        return {**self.as_sent, "kind": kind} if self.as_sent else self.as_sent


class DeleteOptions(msgspec.Struct, frozen=True):
    """Options of a deletion; absent preconditions are None."""

    dry_run: bool = False
    uid: str | None = None
    resource_version: str | None = None
    propagation: Propagation | None = None
    grace_period: int | None = None
    """Seconds; a negative number counts as one."""
    as_sent: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """What the client gave, for admission webhooks."""
    user: User = SERVER


SERVER_OPTIONS = WriteOptions(
    field_manager="clientgo-apiserver", field_validation=FieldValidation.IGNORE
)
"""Options of the writes that the server itself makes."""
