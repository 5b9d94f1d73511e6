"""Handing what client-side apply owns over to server-side apply.

Promises: after the upgrade the applier owns what the former updaters did, so that leaving a field
out of the next apply removes it.

Does not promise a way back: which fields were changed by updates is forgotten.

Upstream: ``k8s.io/client-go/util/csaupgrade``.
"""

from __future__ import annotations

from collections.abc import Iterable

from clientgo.meta.json_values import JSONObject, copy_json
from clientgo.testcluster.fields.managed_fields.entries import APPLY, UPDATE
from clientgo.testcluster.fields.managed_fields.fields.field_set import EMPTY, FieldSet


def upgrade_managed_fields(
    entries: list[JSONObject],
    updaters: Iterable[str],
    applier: str,
    subresource: str = "",
) -> list[JSONObject]:
    """Return managed fields in which `applier` has taken over what `updaters` own.

    Raises ``ValueError`` if an entry that is concerned is malformed.
    """
    upgraded: list[JSONObject] = copy_json(entries)
    for updater in updaters:
        upgraded = _hand_over(upgraded, updater, applier, subresource)
    return upgraded


def upgrade_managed_fields_patch(
    obj: JSONObject, updaters: Iterable[str], applier: str, subresource: str = ""
) -> list[JSONObject] | None:
    """Return the JSON patch that upgrades `obj` on the server; None if there is nothing to do.

    The server answers 409 if the object has changed meanwhile.
    """
    metadata = obj.get("metadata", {})
    entries = metadata.get("managedFields") or []
    upgraded = upgrade_managed_fields(entries, updaters, applier, subresource)
    if upgraded == entries:
        return None
    return [
        {"op": "replace", "path": "/metadata/managedFields", "value": upgraded},
        {
            "op": "replace",
            "path": "/metadata/resourceVersion",
            "value": metadata.get("resourceVersion", ""),
        },
    ]


def _hand_over(
    entries: list[JSONObject], updater: str, applier: str, subresource: str
) -> list[JSONObject]:
    def entries_of(manager: str, operation: str) -> list[JSONObject]:
        identity = (manager, operation, subresource)
        return [
            entry
            for entry in entries
            if (entry.get("manager"), entry.get("operation"), entry.get("subresource", ""))
            == identity
        ]

    updates = entries_of(updater, UPDATE)
    if applies := entries_of(applier, APPLY):
        heir = applies[0]
    elif updates:
        heir = updates[0]
        heir["manager"], heir["operation"] = applier, APPLY
    else:
        return entries
    version = heir.get("apiVersion")
    inherited = next((_fields(e) for e in updates if e.get("apiVersion") == version), EMPTY)
    heir["fieldsV1"] = (_fields(heir) | inherited).to_fields_v1()
    return [entry for entry in entries if entry is heir or entry not in updates]


def _fields(entry: JSONObject) -> FieldSet:
    return FieldSet.from_fields_v1(entry.get("fieldsV1") or {})
