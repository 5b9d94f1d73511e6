"""Hand over the fields that a manager has updated to a manager that applies.

Promises that the applier then owns what the updaters did, so that a field goes which its next apply
leaves out. Which fields were changed by updates is forgotten.

Source: client-go util/csaupgrade.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, TypeAlias

JSONObject: TypeAlias = dict[str, Any]


def upgrade_managed_fields(
    entries: list[JSONObject], updaters: Collection[str], applier: str, subresource: str = ""
) -> list[JSONObject]:
    """Return managed fields in which `applier` has taken over what `updaters` own.

    Fields of other versions than that of the entry which inherits are forgotten.
    """
    for updater in updaters:
        entries = _handed_over(entries, updater, applier, subresource)
    return entries


def upgrade_managed_fields_patch(
    obj: JSONObject, updaters: Collection[str], applier: str, subresource: str = ""
) -> list[JSONObject] | None:
    """Return the JSON patch that upgrades `obj` on the server; None if there is nothing to do.

    It is a conflict if the object has changed meanwhile.
    """
    metadata = obj.get("metadata", {})
    entries = metadata.get("managedFields") or []
    upgraded = upgrade_managed_fields(entries, updaters, applier, subresource)
    if upgraded == entries:
        return None
    version = metadata.get("resourceVersion", "")
    return [
        {"op": "replace", "path": "/metadata/managedFields", "value": upgraded},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
    ]


def entries_of(
    entries: list[JSONObject], manager: str, operation: str, subresource: str = ""
) -> list[JSONObject]:
    """Return the entries of a manager, in which it has applied (``Apply``) or updated."""
    wanted = manager, operation, subresource
    return [
        entry
        for entry in entries
        if (entry.get("manager"), entry.get("operation"), entry.get("subresource", "")) == wanted
    ]


def _handed_over(
    entries: list[JSONObject], updater: str, applier: str, subresource: str
) -> list[JSONObject]:
    updates = entries_of(entries, updater, "Update", subresource)
    heirs = entries_of(entries, applier, "Apply", subresource) or updates
    if not heirs or not updates:
        return entries
    heir, version = heirs[0], heirs[0].get("apiVersion")
    fields = heir.get("fieldsV1") or {}
    for update in updates:
        if update.get("apiVersion") == version:
            fields = _union(fields, update.get("fieldsV1") or {})
            break
    upgraded = {**heir, "manager": applier, "operation": "Apply", "fieldsV1": fields}
    return [
        upgraded if entry is heir else entry
        for entry in entries
        if entry is heir or not any(entry is update for update in updates)
    ]


def _union(one: JSONObject, other: JSONObject) -> JSONObject:
    """Return the fields of both; a set of fields is a tree of names."""
    return one | {name: _union(one.get(name, {}), below) for name, below in other.items()}
