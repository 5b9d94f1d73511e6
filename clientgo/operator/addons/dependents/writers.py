"""Bring one object to what a dependent desires, with one request or none.

Promises no request for an object that is as desired. Most kinds are written by server-side apply:
fields of others stay, fields that are no longer desired go. ConfigMaps and Secrets are compared by
their data, and get no other keys. A value that the API server stores differently (``1000m`` as
``1``) is written once; ten equal writes in a minute are logged.

Differs from Java Operator SDK, whose comparison never settles where the server rewrites a value.
"""

from __future__ import annotations

import base64
import json
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final, TypeAlias

import msgspec

from clientgo.meta import APIResource, ObjectName, to_plain
from clientgo.meta.patches import create_merge_patch
from clientgo.operator.addons.dependents.dependent import Dependent
from clientgo.operator.client.differences import differences, patch_to
from clientgo.operator.client.live_client import LiveClient
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


@dataclass(slots=True)
class _Written:
    """The last write of an object. ``left`` is how the answer differed from what was sent."""

    digest: int
    left: dict[str, Any]
    times: deque[float] = field(default_factory=lambda: deque(maxlen=MOST_IDENTICAL_WRITES))


class Writer:
    """Compares and writes the objects of one dependent. Thread-safe. ``name`` is for the log."""

    def __init__(
        self, dependent: Dependent[Any, Any], resource: APIResource, name: str, clock: Clock
    ) -> None:
        self._dependent = dependent
        self._compares_data = not resource.group and resource.kind in ("ConfigMap", "Secret")
        self._name = name
        self._clock = clock
        self._lock = Lock()
        self._written: LRUCache[ObjectName, _Written] = LRUCache(_MOST_OBJECTS)

    def due(self, actual: Any | None, desired: Any, manager: str) -> Write | None:
        """Return the write that is needed, in the name of a field manager; None if none is."""
        matches = None if actual is None else self._dependent.matches(actual, desired)
        if matches:
            return None
        if self._compares_data:
            return self._data_write(actual, desired)
        wanted = to_plain(desired)
        if actual is not None and matches is None and self._is_settled(actual, wanted, manager):
            return None

        def apply(client: LiveClient) -> Any:
            stored = client.apply(desired)
            self._wrote(ObjectName.of(stored), wanted, differences(to_plain(stored), wanted))
            return stored

        return apply

    def forget(self, key: ObjectName) -> None:
        """Forget a deleted object."""
        with self._lock:
            if self._written.get(key) is not None:
                self._written.remove(key)

    def _is_settled(self, actual: Any, wanted: dict[str, Any], manager: str) -> bool:
        """Return True if an object differs only as the answer to the last equal write did."""
        there = to_plain(actual)
        with self._lock:
            written = self._written.get(ObjectName.of(actual))
        if written is not None and written.digest != _digest(wanted):
            return False
        if _gives_up_a_field(there, wanted, manager):
            return False
        left = differences(there, wanted)
        return not left or (written is not None and written.left == left)

    def _data_write(self, actual: Any | None, desired: Any) -> Write | None:
        if actual is None:
            return lambda client: client.create(desired)
        patch = _data_patch(to_plain(actual), to_plain(desired))
        if not patch:
            return None

        def write(client: LiveClient) -> Any:
            stored = client.patch(actual, patch)
            self._wrote(ObjectName.of(stored), patch, {})
            return stored

        return write

    def _wrote(self, key: ObjectName, sent: dict[str, Any], left: dict[str, Any]) -> None:
        now, digest = self._clock.monotonic(), _digest(sent)
        with self._lock:
            written = self._written.get(key)
            if written is None or written.digest != digest:
                written = _Written(digest, left)
            written.left = left
            written.times.append(now)
            times = written.times
            is_loop = len(times) == MOST_IDENTICAL_WRITES and now - times[0] < PERIOD
            if is_loop:
                times.clear()
            self._written.put(key, written)
        if is_loop:
            _log.warning(
                "%s: the same was written to %s %d times within %g s, and undone each time; find "
                "out who else writes it, or say in its matches(...) what counts as equal",
                self._name,
                key,
                MOST_IDENTICAL_WRITES,
                PERIOD,
            )


def _digest(plain: dict[str, Any]) -> int:
    return hash(msgspec.json.encode(plain, order="deterministic"))


def _gives_up_a_field(there: dict[str, Any], wanted: dict[str, Any], manager: str) -> bool:
    """Return True if a field that was applied is no longer desired, or if nothing was applied."""
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


def lacks_owned_field(desired: Any, fields: dict[str, Any]) -> bool:
    """Return True if ``desired`` leaves out a field that ``fieldsV1`` of its manager names."""
    for step, below in fields.items():
        if step == ".":
            continue
        found, value = _follow(desired, step)
        if not found or lacks_owned_field(value, below):
            return True
    return False


def _follow(value: Any, step: str) -> tuple[bool, Any]:
    kind, _, selector = step.partition(":")
    if kind == "f":
        inside = isinstance(value, dict) and selector in value
        return inside, value[selector] if inside else None
    if not isinstance(value, list):
        return False, None
    if kind == "v":
        wanted = json.loads(selector)
        return wanted in value, wanted
    if kind == "k":
        keys = json.loads(selector)
        for item in value:
            # A key that was left out has its default, which is what the entry says.
            if isinstance(item, dict) and all(item.get(k, v) == v for k, v in keys.items()):
                return True, item | keys
        return False, None
    return True, value


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
    """Return what is missing; labels, annotations and owners that others have added stay."""
    ours = wanted.get("ownerReferences") or []
    patch = patch_to(there, {name: wanted.get(name) for name in ("labels", "annotations")})
    owners = there.get("ownerReferences") or []
    if any(owner not in owners for owner in ours):
        uids = {owner["uid"] for owner in ours}
        patch["ownerReferences"] = [*(o for o in owners if o["uid"] not in uids), *ours]
    return patch
