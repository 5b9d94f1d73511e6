"""What this process has written and its watches have not brought back yet.

Promises: a read that is laid over by this is never older than a write that was acknowledged
before it; an object that was deleted here is not read again. An entry goes when the watch has
caught up with it, or after a minute with a warning.

Does not promise anything about what others write.

Differs from client-go's MutationCache: it covers deletions and lists, forgets by time and not by
number, and says whether an event is the echo of a write, and by whom that was made. Versions that
are no numbers are compared for equality only.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Final

from clientgo.clock import REAL_CLOCK, Clock
from clientgo.meta import ObjectName, metadata_of

TIME_TO_LIVE: Final = 60.0
"""Seconds after which a watch that has not brought a write back is not waited for any longer."""

_log = logging.getLogger("clientgo.operator.cache")


@dataclass(slots=True)
class _Entry:
    obj: Any
    """What the write returned; of a deletion, the last state that was known."""
    version: int | None
    deleted: bool
    expires: float


@dataclass(frozen=True, slots=True)
class OwnWritesStatistics:
    """How often an entry answered a read, and how often the watch was late by a minute."""

    entries: int
    hits: int
    expired: int


class OwnWrites:
    """The writes of one process to the objects of one kind. Thread-safe."""

    def __init__(self, name: str, *, clock: Clock = REAL_CLOCK) -> None:
        self._name = name
        self._clock = clock
        self._lock = threading.Lock()
        self._entries: dict[ObjectName, _Entry] = {}
        self._echoes: OrderedDict[tuple[str, str], tuple[Any, float]] = OrderedDict()
        self._hits = 0
        self._expired = 0

    def wrote(self, obj: Any, writer: Any = None) -> None:
        """Remember what a write returned; ``writer`` is who will be told it is an echo."""
        metadata = metadata_of(obj)
        key = ObjectName(metadata.namespace or "", metadata.name)
        version = _number(metadata.resource_version)
        now = self._clock.monotonic()
        with self._lock:
            if writer is not None:
                self._echoes[metadata.uid, metadata.resource_version] = writer, now + TIME_TO_LIVE
                self._tidy_echoes_locked(now)
            known = self._entries.get(key)
            if known is not None and _is_newer(known, metadata.uid, version):
                return
            self._entries[key] = _Entry(obj, version, False, now + TIME_TO_LIVE)

    def deleted(self, obj: Any) -> None:
        """Remember that an object, in the state that is given, was deleted."""
        key, version = ObjectName.of(obj), _number(metadata_of(obj).resource_version)
        with self._lock:
            expires = self._clock.monotonic() + TIME_TO_LIVE
            self._entries[key] = _Entry(obj, version, True, expires)

    def is_echo(self, obj: Any, writer: Any) -> bool:
        """Whether this very state of the object was written by ``writer``."""
        metadata = metadata_of(obj)
        with self._lock:
            echo = self._echoes.get((metadata.uid, metadata.resource_version))
            return echo is not None and echo[0] == writer

    def laid_over(self, key: ObjectName, stored: Any | None) -> Any | None:
        """The newest known state of an object that the cache has, or has not."""
        if not self._entries:
            return stored
        with self._lock:
            return self._newest_locked(key, stored)

    def laid_over_all(self, stored: dict[ObjectName, Any]) -> dict[ObjectName, Any]:
        """The newest known states, given all objects that the cache has; what is returned may
        have more objects, or fewer."""
        if not self._entries:
            return stored
        with self._lock:
            for key in list(self._entries):
                newest = self._newest_locked(key, stored.get(key))
                if newest is None:
                    stored.pop(key, None)
                else:
                    stored[key] = newest
            return stored

    def saw_deletion(self, obj: Any) -> None:
        """The watch brought a deletion: what was written before it is history."""
        key, metadata = ObjectName.of(obj), metadata_of(obj)
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return
            number = _number(metadata.resource_version)
            older = entry.version is None or number is None or number >= entry.version
            if metadata_of(entry.obj).uid == metadata.uid or older:
                del self._entries[key]

    def forget(self) -> None:
        """Forget everything, as after the cache was filled anew."""
        with self._lock:
            self._entries.clear()

    def statistics(self) -> OwnWritesStatistics:
        with self._lock:
            return OwnWritesStatistics(len(self._entries), self._hits, self._expired)

    def _newest_locked(self, key: ObjectName, stored: Any | None) -> Any | None:
        entry = self._entries.get(key)
        if entry is None:
            return stored
        if self._clock.monotonic() >= entry.expires:
            del self._entries[key]
            self._expired += 1
            _log.warning(
                "%s: the watch has not brought back the write of %s for %g s; reading the cache",
                self._name,
                key,
                TIME_TO_LIVE,
            )
            return stored
        if stored is not None and not _is_newer_than(entry, stored):
            del self._entries[key]
            return stored
        if entry.deleted and stored is None:
            del self._entries[key]
            return None
        self._hits += 1
        return None if entry.deleted else entry.obj

    def _tidy_echoes_locked(self, now: float) -> None:
        while self._echoes:
            first = next(iter(self._echoes))
            if self._echoes[first][1] > now:
                return
            del self._echoes[first]


def _is_newer_than(entry: _Entry, stored: Any) -> bool:
    """Whether what was written is ahead of what the cache has."""
    metadata, written = metadata_of(stored), metadata_of(entry.obj)
    number = _number(metadata.resource_version)
    if entry.deleted:
        return bool(metadata.uid == written.uid)
    if number is None or entry.version is None:
        return bool(metadata.resource_version != written.resource_version)
    return number < entry.version


def _is_newer(entry: _Entry, uid: str, version: int | None) -> bool:
    """Whether a known write is ahead of another one that was acknowledged later."""
    if metadata_of(entry.obj).uid != uid or entry.version is None or version is None:
        return False
    return entry.deleted or entry.version > version


def _number(version: str) -> int | None:
    return int(version) if version.isdecimal() else None
