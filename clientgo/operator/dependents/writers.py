"""Bringing one object to what a dependent desires, by a single request or none.

Promises that no request is made for an object that is as desired. Most kinds are written by
server-side apply, so that fields of others are left alone and fields that are not desired any more
go. ConfigMaps and Secrets are compared by their data: keys that are not desired are removed.

Differs from Java Operator SDK, which compares the fields that a manager owns with what is desired
and never settles where the API server rewrites a value: here what the answer to the last write
looked like is what counts as equal.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from clientgo.meta import APIResource, ObjectName, to_plain
from clientgo.meta.patches import create_merge_patch
from clientgo.operator.client.live_client import LiveClient
from clientgo.operator.dependents.dependent import Dependent
from clientgo.operator.dependents.differences import differences, lacks_owned_field
from clientgo.operator.dependents.written_objects import WrittenObjects

Write: TypeAlias = Callable[[LiveClient], Any]
"""Makes one request; returns the object as it is stored then."""


class Writer(Protocol):
    """How objects of one dependent are compared and written. Thread-safe."""

    def due(self, actual: Any | None, desired: Any, manager: str) -> Write | None:
        """What has to be sent in the name of a field manager; None for nothing."""

    def forget(self, key: ObjectName) -> None:
        """The object was deleted."""


def writer_for(
    dependent: Dependent[Any, Any], resource: APIResource, written: WrittenObjects
) -> Writer:
    """The one that suits the kind."""
    if resource.group == "" and resource.kind in ("ConfigMap", "Secret"):
        return DataWriter(dependent, written)
    return ApplyWriter(dependent, written)


class ApplyWriter:
    """By server-side apply."""

    def __init__(self, dependent: Dependent[Any, Any], written: WrittenObjects) -> None:
        self._dependent = dependent
        self._written = written

    def due(self, actual: Any | None, desired: Any, manager: str) -> Write | None:
        if actual is not None and self._matches(actual, desired, manager):
            return None
        plain = to_plain(desired)

        def write(client: LiveClient) -> Any:
            stored = client.apply(desired)
            self._written.wrote(ObjectName.of(stored), plain, differences(to_plain(stored), plain))
            return stored

        return write

    def forget(self, key: ObjectName) -> None:
        self._written.forget(key)

    def _matches(self, actual: Any, desired: Any, manager: str) -> bool:
        said = self._dependent.matches(actual, desired)
        if said is not None:
            return said
        key, there, wanted = ObjectName.of(actual), to_plain(actual), to_plain(desired)
        if self._written.is_changed(key, wanted) or _gives_up_a_field(there, wanted, manager):
            return False
        left = differences(there, wanted)
        return not left or self._written.is_settled(key, wanted, left)


class DataWriter:
    """By data: what a ConfigMap or a Secret holds is what is desired, and nothing else."""

    def __init__(self, dependent: Dependent[Any, Any], written: WrittenObjects) -> None:
        self._dependent = dependent
        self._written = written

    def due(self, actual: Any | None, desired: Any, manager: str) -> Write | None:
        if actual is None:
            return lambda client: client.create(desired)
        said = self._dependent.matches(actual, desired)
        patch = {} if said else _data_patch(to_plain(actual), to_plain(desired))
        if not patch:
            return None

        def write(client: LiveClient) -> Any:
            stored = client.patch(actual, patch)
            self._written.wrote(ObjectName.of(stored), patch, {})
            return stored

        return write

    def forget(self, key: ObjectName) -> None:
        self._written.forget(key)


def _gives_up_a_field(there: dict[str, Any], wanted: dict[str, Any], manager: str) -> bool:
    """Whether a field that was applied before is not desired any more, or nothing was applied."""
    entries = there["metadata"].get("managedFields") or []
    applied = [
        entry.get("fieldsV1") or {}
        for entry in entries
        if entry.get("manager") == manager
        and entry.get("operation") == "Apply"
        and not entry.get("subresource")
    ]
    if not applied:
        return bool(entries)  # the cache may leave them all out
    return any(lacks_owned_field(wanted, fields) for fields in applied)


def _data_patch(there: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    data = dict(wanted.get("data") or {})
    for name, text in (wanted.get("stringData") or {}).items():
        data[name] = base64.b64encode(text.encode()).decode()
    exact = {"data": data, "binaryData": wanted.get("binaryData") or {}}
    patch: dict[str, Any] = {
        name: change
        for name, value in exact.items()
        if (change := create_merge_patch(there.get(name) or {}, value))
    }
    patch |= {
        name: value
        for name, value in wanted.items()
        if name not in (*exact, "stringData", "metadata") and there.get(name) != value
    }
    metadata = _metadata_patch(there["metadata"], wanted["metadata"])
    return patch | ({"metadata": metadata} if metadata else {})


def _metadata_patch(there: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    """What is missing; labels, annotations and owners that others have added stay."""
    patch: dict[str, Any] = {
        name: wanted[name]
        for name in ("labels", "annotations")
        if name in wanted and differences(there.get(name), wanted[name])
    }
    owners = there.get("ownerReferences") or []
    ours = wanted.get("ownerReferences") or []
    if any(owner not in owners for owner in ours):
        uids = {owner["uid"] for owner in ours}
        patch["ownerReferences"] = [*(o for o in owners if o["uid"] not in uids), *ours]
    return patch
