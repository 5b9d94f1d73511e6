"""What this process has written and its watches have not brought back yet.

Promises that a read is never older than a write acknowledged before it. An entry goes when the
store has come as far as the write, or after a minute with a warning. Whether an event is the echo
of a write is decided when the write has been answered: a watch may be faster. It is none if more
has changed than was sent: the change may be another client's. Nothing is promised
where resource versions are no numbers, nor for writes to a server that was restored or replaced
since.

Differs from client-go's MutationCache: it knows which version the store is as of, covers deletions,
forgets by time and not by number, and knows echoes.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Protocol

from clientgo.meta import ObjectName, metadata_of, parse_resource_version
from clientgo.observe.metrics import NO_METRICS
from clientgo.operator.metrics import CacheMetrics
from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.copies import uncopyable

TIME_TO_LIVE: Final = 60.0
"""Seconds after which a watch that has not brought a write back is not waited for any longer."""

_log = logging.getLogger("clientgo.operator.cache")


class Stored(Protocol):
    """The store that lags behind the writes."""

    @property
    def restarts(self) -> int:
        """How often its versions have begun again, as those of a restored or replaced server."""

    def as_of(self, namespace: str) -> int:
        """Return the version that it is as of in a namespace; 0 if it has nothing yet."""

    def stored(self, key: ObjectName) -> Any | None:
        """What it has."""


@dataclass(slots=True)
class _Entry:
    obj: Any
    """What the write returned; of a deletion, the last state that was known."""
    version: int
    deleted: bool
    dated: bool
    """Whether ``version`` is that of the deletion; else it is older, that of the object."""
    left: bool
    """Whether the store does not select the object any more; ``version`` is that of the write."""
    expires: float
    restarts: int
    """Those of the store at the time of the write."""

    @property
    def hides(self) -> bool:
        """Return True if reads are to find no such object."""
        return self.deleted or self.left


@dataclass(frozen=True, slots=True)
class _Echo:
    writer: Hashable
    expires: float
    sent: Any
    """What can have changed with this version; None if all that has."""


@dataclass(frozen=True, slots=True)
class OwnWritesStatistics:
    """What is remembered, and how often the watch was late by a minute."""

    entries: int
    echoes: int
    expired: int


@uncopyable("it has locks; make one in each process")
class OwnWrites:
    """The writes of one process to the objects of one kind, laid over ``store``. Thread-safe."""

    def __init__(
        self,
        name: str,
        store: Stored,
        *,
        metrics: CacheMetrics | None = None,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        self._name = name
        self._store = store
        self._metrics = metrics or CacheMetrics(name, NO_METRICS)
        self._clock = clock
        self._lock = threading.Lock()
        self._entries: OrderedDict[ObjectName, _Entry] = OrderedDict()
        """In the order in which they expire."""
        self._echoes: OrderedDict[tuple[str, str], _Echo] = OrderedDict()
        self._unanswered: dict[Hashable, list[list[Callable[[], object]]]] = {}
        """By writer: for each write that is not answered yet, what waits for its answer."""
        self._overtaken: set[Hashable] = set()
        """The writers with a write that was not answered when a list came."""
        self._expired = 0

    # Writing

    @contextmanager
    def writing(self, writer: Hashable) -> Iterator[None]:
        """While a request is under way it is not decided which events are its echo."""
        waiting: list[Callable[[], object]] = []
        with self._lock:
            self._unanswered.setdefault(writer, []).append(waiting)
        try:
            yield
        finally:
            with self._lock:
                waiting_writes = self._unanswered[writer]
                waiting_writes[:] = [other for other in waiting_writes if other is not waiting]
                if not waiting_writes:
                    del self._unanswered[writer]
                    self._overtaken.discard(writer)
            for decide in waiting:
                decide()

    def wrote(self, obj: Any, writer: Hashable = None, sent: Any = None) -> None:
        """Remember what a write returned; events of it are echoes for ``writer``.

        Not if a list came while the request was under way: the list may have it. ``sent`` are the
        fields of a write that another client's version can have been the answer to, because it
        was on no condition and changed nothing.
        """
        metadata = metadata_of(obj)
        with self._lock:
            now = self._clock.monotonic()
            if writer is not None and writer not in self._overtaken:
                echo = _Echo(writer, now + TIME_TO_LIVE, sent)
                self._echoes[metadata.uid, metadata.resource_version] = echo
            self._tidy_locked(now)
            self._remember_locked(obj, now)

    def left(self, obj: Any) -> None:
        """Remember that a write returned an object that the store does not select.

        The watch reports it as deleted, if it has reported it before.
        """
        with self._lock:
            now = self._clock.monotonic()
            self._tidy_locked(now)
            self._remember_locked(obj, now, left=True)

    def deleted(self, obj: Any, version: str = "") -> None:
        """Remember that an object, in the state that is given, was deleted; at ``version``, if the
        API server said it."""
        with self._lock:
            now = self._clock.monotonic()
            self._tidy_locked(now)
            self._remember_locked(obj, now, deleted=True, deleted_at=version)

    # Echoes

    def unless_echo(
        self,
        obj: Any,
        writer: Hashable,
        act: Callable[[], object],
        echoed: Callable[[], object] | None = None,
        changes: Callable[[], Any] = dict,
    ) -> None:
        """Call ``act`` unless ``writer`` wrote this state of the object; then call ``echoed``.

        ``changes()`` is the merge patch from the state before.

        The call is immediate or, while a write of that writer is under way, made by its thread
        when the answer comes.
        """
        with self._lock:
            waiting_writes = self._unanswered.get(writer)
            if waiting_writes:
                waiting_writes[-1].append(
                    lambda: self.unless_echo(obj, writer, act, echoed, changes)
                )
                return
            metadata = metadata_of(obj)
            echo = self._echoes.get((metadata.uid, metadata.resource_version))
        is_foreign = echo is None or echo.writer != writer
        if is_foreign or (echo is not None and not _is_within(changes, echo.sent)):
            act()
        elif echoed is not None:
            echoed()

    def forget_echoes(self) -> None:
        """A list came: it may hide what others have done before a write of ours."""
        with self._lock:
            self._echoes.clear()
            self._overtaken.update(self._unanswered)

    # Reading

    def newest(self, key: ObjectName) -> Any | None:
        """The newest known state of an object, whether stored or written; None if it is gone."""
        # Read the entry first: if it is removed now, the store has the write.
        entry = self._entries.get(key)
        if entry is None:
            return self._store.stored(key)
        as_of = self._store.as_of(key.namespace)
        stored = self._store.stored(key)
        with self._lock:
            return self._newer_locked(key, entry, stored, as_of)

    def keys(self) -> list[ObjectName]:
        """Return the objects of which reads may be answered by more than the store."""
        if not self._entries:
            return []
        with self._lock:
            return list(self._entries)

    def saw(self, obj: Any) -> None:
        """The store has changed: what was written before that is history."""
        if not self._entries:
            return
        key = ObjectName.of(obj)
        as_of = self._store.as_of(key.namespace)
        stored = self._store.stored(key)
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None and self._is_over_locked(entry, stored, as_of):
                del self._entries[key]

    def statistics(self) -> OwnWritesStatistics:
        with self._lock:
            self._tidy_locked(self._clock.monotonic())
            return OwnWritesStatistics(len(self._entries), len(self._echoes), self._expired)

    # Inside

    def _remember_locked(
        self,
        obj: Any,
        now: float,
        *,
        deleted: bool = False,
        deleted_at: str = "",
        left: bool = False,
    ) -> None:
        key, metadata = ObjectName.of(obj), metadata_of(obj)
        date = parse_resource_version(deleted_at)
        version = parse_resource_version(metadata.resource_version) if date is None else date
        if version is None:
            return
        as_of, stored = self._store.as_of(key.namespace), self._store.stored(key)
        restarts = self._store.restarts
        known = self._entries.get(key)
        if known is not None and known.restarts == restarts:
            same = metadata_of(known.obj).uid == metadata.uid
            if deleted and same:
                version = max(version, known.version)
            elif known.version > version or (same and known.deleted):
                return  # acknowledged late; what came after it is known
        dated = date is not None
        entry = _Entry(obj, version, deleted, dated, left, now + TIME_TO_LIVE, restarts)
        if _is_history(entry, stored, as_of):
            self._entries.pop(key, None)
        else:
            self._entries[key] = entry
            self._entries.move_to_end(key)

    def _newer_locked(
        self, key: ObjectName, entry: _Entry, stored: Any | None, as_of: int
    ) -> Any | None:
        entry = self._entries.get(key, entry)
        if self._is_over_locked(entry, stored, as_of):
            if self._entries.get(key) is entry:
                del self._entries[key]
            return stored
        if self._clock.monotonic() >= entry.expires:
            if self._entries.get(key) is entry:
                self._expire_locked(key)
            return stored
        self._metrics.stale_reads.inc()
        return None if entry.hides else entry.obj

    def _is_over_locked(self, entry: _Entry, stored: Any | None, as_of: int) -> bool:
        """Return True if the store has come as far as an entry, or will never come there."""
        return entry.restarts != self._store.restarts or _is_history(entry, stored, as_of)

    def _tidy_locked(self, now: float) -> None:
        while self._entries:
            key = next(iter(self._entries))
            if self._entries[key].expires > now:
                break
            self._expire_locked(key)
        while self._echoes:
            echo = next(iter(self._echoes))
            if self._echoes[echo].expires > now:
                break
            del self._echoes[echo]

    def _expire_locked(self, key: ObjectName) -> None:
        entry = self._entries.pop(key)
        if entry.hides and self._store.stored(key) is None:
            return  # the watch had nothing to bring
        self._expired += 1
        self._metrics.lost_writes.inc()
        _log.warning(
            "%s: the watch has not brought back the write of %s for %g s; reading the cache",
            self._name,
            key,
            TIME_TO_LIVE,
        )


def _is_history(entry: _Entry, stored: Any | None, as_of: int) -> bool:
    """Return True if the store has come as far as what was written."""
    if as_of < entry.version:
        return False
    if not entry.deleted or entry.dated or stored is None:
        return True
    # Before Kubernetes 1.37 a deletion has no version: it is history when the object is gone, or
    # another one, or is deleted only when its finalizers or its grace period have ended.
    metadata = metadata_of(stored)
    return metadata.uid != metadata_of(entry.obj).uid or bool(metadata.deletion_timestamp)


def _is_within(changes: Callable[[], Any], sent: Any) -> bool:
    """Return True if only fields have changed that were sent."""
    return sent is None or _has_all(sent, changes())


def _has_all(sent: Any, changed: Any) -> bool:
    if not isinstance(sent, dict) or not isinstance(changed, dict):
        return True
    return all(name in sent and _has_all(sent[name], value) for name, value in changed.items())
