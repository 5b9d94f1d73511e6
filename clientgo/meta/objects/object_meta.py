"""The header of every API object: `metadata`.

The fields that controllers read, decoded eagerly into forms that the garbage collector does not
visit (`gc=False` Structs, tuples, dicts of strings). Other fields stay in the object's JSON, and
`managedFields` does until it is read. Source: apimachinery `meta/v1`.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct, field

from clientgo.meta.decoding import convert, decode
from clientgo.meta.timestamps import to_datetime

_Entries: Any = list[Any] | None

ABSENT: Final = Raw(b"null")
"""A null and not empty, because a copy of the default is sent."""


class OwnerReference(Struct, rename="camel", kw_only=True, gc=False, omit_defaults=True):
    """Says that another object owns this one; at most one reference has ``controller`` set."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ManagedFieldsEntry(Struct, rename="camel", kw_only=True, omit_defaults=True):
    """The fields that one manager set by one operation (``Apply`` or ``Update``)."""

    manager: str = ""
    operation: str = ""
    api_version: str = ""
    time: str | None = None
    fields_type: str = ""
    fields_v1: dict[str, Any] = field(default_factory=dict, name="fieldsV1")
    subresource: str = ""


class ObjectMeta(
    Struct, rename="camel", kw_only=True, gc=False, omit_defaults=True, repr_omit_defaults=True
):
    """Name, identity, version, labels and ownership of an object.

    Timestamps are the API's own text (RFC 3339); ``creation_time`` and ``deletion_time`` are the
    same as ``datetime``. An empty string or collection, or None, means that the server did not
    send the field. The timestamps accept a null, because servers write one into every pod template.
    """

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()
    _managed_fields: Raw = field(default=ABSENT, name="managedFields")

    @property
    def creation_time(self) -> datetime | None:
        """When the object was created, in UTC; None if the server did not say."""
        return None if self.creation_timestamp is None else to_datetime(self.creation_timestamp)

    @property
    def deletion_time(self) -> datetime | None:
        """When the object is to be gone, in UTC; None unless it is being deleted."""
        return None if self.deletion_timestamp is None else to_datetime(self.deletion_timestamp)

    def managed_fields_json(self) -> list[Any]:
        """The managed fields as JSON values, with what :class:`ManagedFieldsEntry` leaves out.

        Raises ``ValueError`` for some that are nested too deeply.
        """
        return decode(self._managed_fields, _Entries) or []

    @property
    def managed_fields(self) -> tuple[ManagedFieldsEntry, ...]:
        """Which manager set which fields; decoded each time it is read.

        Assign ``()`` to send an object without them, as server-side apply requires.
        """
        return tuple(convert(entry, ManagedFieldsEntry) for entry in self.managed_fields_json())

    @managed_fields.setter
    def managed_fields(self, entries: Iterable[ManagedFieldsEntry]) -> None:
        kept = tuple(entries)
        self._managed_fields = Raw(msgspec.json.encode(kept)) if kept else ABSENT


class ListMeta(Struct, rename="camel", kw_only=True, omit_defaults=True):
    """The header of a list: its version and, when there are more pages, where they go on."""

    resource_version: str = ""
    continue_: str = field(default="", name="continue")
    remaining_item_count: int | None = None
