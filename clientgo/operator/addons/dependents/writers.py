"""Bring one object to what a dependent desires, with one request or none.

Promises no request for an object that is as desired. Most kinds are written by server-side apply:
fields of others stay, fields that are no longer desired go. ConfigMaps and Secrets are compared by
their data, and get no other keys. A value that the API server stores differently (``1000m`` as
``1``) is written once; ten equal writes in a minute are logged.

Differs from Java Operator SDK, whose comparison never settles where the server rewrites a value.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from threading import Lock
from typing import Any, Final, TypeAlias

from clientgo.client import PatchKind
from clientgo.meta import APIResource, ObjectName, to_plain
from clientgo.meta.patches import (
    create_merge_patch,
    entries_of,
    upgrade_managed_fields_patch,
)
from clientgo.operator.addons.dependents.dependent import Dependent
from clientgo.operator.client.applied import lacks_owned_field
from clientgo.operator.client.differences import differences, metadata_patch, with_data
from clientgo.operator.client.live_client import LiveClient
from clientgo.operator.client.sent_writes import SentWrites
from clientgo.record.lru_cache import LRUCache
from clientgo.util.clock import Clock

Write: TypeAlias = Callable[[LiveClient], Any]
"""Makes one request; returns the stored object."""

MOST_IDENTICAL_WRITES: Final = 10
PERIOD: Final = 60.0
"""That many equal writes in that many seconds are a loop."""

_MOST_OBJECTS: Final = 10_000
"""How many objects are remembered, the latest ones."""

_log = logging.getLogger("clientgo.operator.addons.dependents")


class Writer:
    """Compares and writes the objects of one dependent. Thread-safe. ``name`` is for the log."""

    def __init__(
        self, dependent: Dependent[Any, Any], resource: APIResource, name: str, clock: Clock
    ) -> None:
        self._dependent = dependent
        self._compares_data = not resource.group and resource.kind in ("ConfigMap", "Secret")
        self._name = name
        self._clock = clock
        self._sent = SentWrites()
        self._lock = Lock()
        self._times: LRUCache[ObjectName, deque[float]] = LRUCache(_MOST_OBJECTS)
        """Of the latest writes of an object that sent the same."""

    def due(self, actual: Any | None, desired: Any, manager: str) -> Write | None:
        """Return the write that is needed, in the name of a field manager; None if none is."""
        matches = None if actual is None else self._dependent.matches(actual, desired)
        if matches:
            return None
        if self._compares_data:
            return self._data_write(actual, desired, manager)
        wanted = to_plain(desired)
        there = None if actual is None else to_plain(actual)
        upgrade = None if there is None else _upgrade(there, manager)
        is_compared = matches is None and upgrade is None
        if there is not None and is_compared and self._is_settled(there, wanted, manager):
            return None

        def apply(client: LiveClient) -> Any:
            if upgrade is not None:
                client.patch(actual, upgrade, PatchKind.JSON)
            stored = client.apply(desired)
            self._wrote(ObjectName.of(stored), wanted, stored)
            return stored

        return apply

    def forget(self, key: ObjectName) -> None:
        """Forget a deleted object."""
        self._sent.forget(key)

    def _is_settled(self, there: dict[str, Any], wanted: dict[str, Any], manager: str) -> bool:
        """Return True if an object differs only as the answer to the last equal write did."""
        key = ObjectName.of(there)
        if self._sent.is_other(key, wanted) or _gives_up_a_field(there, wanted, manager):
            return False
        return not differences(there, wanted) or self._sent.is_settled(key, wanted, there)

    def _data_write(self, actual: Any | None, desired: Any, manager: str) -> Write | None:
        if actual is None:
            return lambda client: client.create(desired)
        there = to_plain(actual)
        patch = _data_patch(there, to_plain(desired), manager)
        if not patch or self._sent.is_settled(ObjectName.of(actual), patch, there):
            return None

        def write(client: LiveClient) -> Any:
            stored = client.patch(actual, patch)
            self._wrote(ObjectName.of(stored), patch, stored)
            return stored

        return write

    def _wrote(self, key: ObjectName, sent: dict[str, Any], stored: Any) -> None:
        now, repeats = self._clock.monotonic(), self._sent.remember(key, sent, to_plain(stored))
        with self._lock:
            times = self._times.get(key) if repeats else None
            if times is None:
                times = deque(maxlen=MOST_IDENTICAL_WRITES)
                self._times.put(key, times)
            times.append(now)
            is_loop = len(times) == MOST_IDENTICAL_WRITES and now - times[0] < PERIOD
            if is_loop:
                times.clear()
        if is_loop:
            _log.warning(
                "%s: the same was written to %s %d times within %g s, and undone each time; find "
                "out who else writes it, or say in its matches(...) what counts as equal",
                self._name,
                key,
                MOST_IDENTICAL_WRITES,
                PERIOD,
            )


def _upgrade(there: dict[str, Any], manager: str) -> Any | None:
    """Return the patch that hands over what an older release of a manager has updated.

    None if the manager has applied before: then its updates are writes beside the dependent.
    """
    entries = there["metadata"].get("managedFields") or []
    if entries_of(entries, manager, "Apply"):
        return None
    return upgrade_managed_fields_patch(there, (manager,), manager)


def _gives_up_a_field(there: dict[str, Any], wanted: dict[str, Any], manager: str) -> bool:
    """Return True if a field that was applied is no longer desired, or if nothing was applied."""
    entries = there["metadata"].get("managedFields") or []
    applied = [entry.get("fieldsV1") or {} for entry in entries_of(entries, manager, "Apply")]
    if not applied:
        return bool(entries)  # the cache may leave them all out
    return any(lacks_owned_field(wanted, fields) for fields in applied)


def _data_patch(there: dict[str, Any], wanted: dict[str, Any], manager: str) -> dict[str, Any]:
    wanted = with_data(wanted)
    exact = {name: wanted.get(name) or {} for name in ("data", "binaryData")}
    patch: dict[str, Any] = {
        name: change
        for name, value in exact.items()
        if (change := create_merge_patch(there.get(name) or {}, value))
    }
    patch |= {
        name: value
        for name, value in wanted.items()
        if name not in (*exact, "metadata") and there.get(name) != value
    }
    names = ("labels", "annotations", "ownerReferences", "finalizers")
    ours = {name: wanted["metadata"].get(name) for name in names}
    metadata = metadata_patch(there["metadata"], ours)
    for name, given_up in _given_up(there["metadata"], ours, manager).items():
        metadata[name] = metadata.get(name, {}) | given_up
    return patch | ({"metadata": metadata} if metadata else {})


def _given_up(
    there: dict[str, Any], wanted: dict[str, Any], manager: str
) -> dict[str, dict[str, None]]:
    """Return labels and annotations that a manager has written and does not desire any more."""
    entries = entries_of(there.get("managedFields") or [], manager, "Update")
    owned = [(entry.get("fieldsV1") or {}).get("f:metadata", {}) for entry in entries]
    found: dict[str, dict[str, None]] = {}
    for name in ("labels", "annotations"):
        steps = {step for fields in owned for step in fields.get(f"f:{name}", {})}
        keys = {step.removeprefix("f:") for step in steps} & (there.get(name) or {}).keys()
        if gone := keys - (wanted[name] or {}).keys():
            found[name] = dict.fromkeys(sorted(gone))
    return found
