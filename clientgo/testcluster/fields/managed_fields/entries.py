"""``metadata.managedFields``: who owns which fields, as API objects carry it.

Promises: `Managers` is the decoded form; `decode_managers` and `encode_managers` are inverse up to
order. One manager has one entry for all that it applied, and one a version for its updates.

Upstream: ``internal/managedfields.go`` in ``k8s.io/apimachinery/pkg/util/managedfields``, where
managers are told apart by a JSON text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from clientgo.meta.json_values import JSONObject, JSONValue
from clientgo.meta.timestamps import parse_time
from clientgo.testcluster.fields.managed_fields.fields.field_set import FieldSet
from clientgo.util.copies import CopyableError

APPLY = "Apply"
UPDATE = "Update"


class ManagedFieldsError(CopyableError, ValueError):
    """An entry of ``managedFields`` is malformed."""


class ManagerId(NamedTuple):
    """What tells owners apart. `api_version` is empty for appliers: they have one entry in all."""

    manager: str
    operation: str
    api_version: str = ""
    subresource: str = ""

    @classmethod
    def of(cls, manager: str, operation: str, api_version: str, subresource: str) -> ManagerId:
        """Identify a manager by what its entry says."""
        return cls(manager, operation, "" if operation == APPLY else api_version, subresource)

    @property
    def applies(self) -> bool:
        """True for server-side apply, False for every other way to write."""
        return self.operation == APPLY

    def __str__(self) -> str:
        text = f'"{self.manager}"'
        if self.subresource:
            text += f' with subresource "{self.subresource}"'
        return text if self.applies else f"{text} using {self.api_version}"


@dataclass(frozen=True, slots=True)
class OwnedFields:
    """The fields that one manager owns, in terms of one API version."""

    fields: FieldSet
    api_version: str

    def without(self, fields: FieldSet) -> OwnedFields:
        """Take fields away."""
        return replace(self, fields=self.fields - fields)


@dataclass(frozen=True, slots=True)
class Managers:
    """All owners of an object, and when each of them last changed something (RFC 3339)."""

    owners: Mapping[ManagerId, OwnedFields] = field(default_factory=dict)
    times: Mapping[ManagerId, str] = field(default_factory=dict)


def decode_managers(entries: Sequence[JSONValue]) -> Managers:
    """Read ``managedFields``.

    Raises `ManagedFieldsError` for an entry that is malformed.
    """
    owners, times = {}, {}
    for index, entry in enumerate(entries):
        try:
            manager = ManagerId.of(
                _text(entry, "manager"),
                _known(entry, "operation", (APPLY, UPDATE)),
                _present(entry, "apiVersion"),
                _text(entry, "subresource"),
            )
            _known(entry, "fieldsType", ("FieldsV1",))
            fields = FieldSet.from_fields_v1(entry.get("fieldsV1") or {})
            if time := entry.get("time"):
                parse_time(time)
                times[manager] = time
        except (ValueError, AttributeError, TypeError) as error:
            raise ManagedFieldsError(f"entry {index} of managedFields: {error}") from error
        owners[manager] = OwnedFields(fields, entry["apiVersion"])
    return Managers(owners, times)


def encode_managers(managers: Managers) -> list[JSONObject]:
    """Return the entries for ``managedFields``: appliers first, then by time and name."""
    entries = [
        encode_entry(manager, ownership, managers.times.get(manager))
        for manager, ownership in managers.owners.items()
    ]
    return sorted(entries, key=_sort_key)


def encode_entry(manager: ManagerId, ownership: OwnedFields, time: str | None) -> JSONObject:
    """Return one entry of ``managedFields``."""
    entry: JSONObject = {}
    if manager.manager:
        entry["manager"] = manager.manager
    entry["operation"] = manager.operation
    entry["apiVersion"] = ownership.api_version
    if time:
        entry["time"] = time
    entry["fieldsType"] = "FieldsV1"
    entry["fieldsV1"] = ownership.fields.to_fields_v1()
    if manager.subresource:
        entry["subresource"] = manager.subresource
    return entry


def seconds_of(time: str | None) -> int:
    """Return a timestamp in whole seconds; an absent one is the oldest."""
    return int(parse_time(time)) if time else 0


def _sort_key(entry: JSONObject) -> tuple[str, int, str, str, str]:
    return (
        entry["operation"],
        seconds_of(entry.get("time")),
        entry.get("manager", ""),
        entry["apiVersion"],
        entry.get("subresource", ""),
    )


def _text(entry: JSONObject, name: str) -> str:
    value = entry.get(name, "")
    if not isinstance(value, str):
        raise TypeError(f"{name} must be text, not {value!r}")
    return value


def _present(entry: JSONObject, name: str) -> str:
    value = entry.get(name)
    if not isinstance(value, str) or not value:
        raise ValueError(f"{name} must not be empty")
    return value


def _known(entry: JSONObject, name: str, allowed: tuple[str, ...]) -> str:
    value = _present(entry, name)
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}, not {value!r}")
    return value
