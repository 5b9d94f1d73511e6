"""Correlation: many similar events become a few Event objects with counts.

Promises, in this order: many events that differ only in their messages are combined; an event that
was seen before increases a count; an object with too many events is silenced for a while. Memory
is bounded. Thread-safe. An Event that expired on the server, or was evicted here, starts again.

Differs from client-go (`tools/record`, EventCorrelator): the first messages of a group keep an
Event of their own, not random ones; keys are tuples; labels, annotations and reporting fields of a
combined event are kept; silenced and evicted events are counted.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from clientgo.api.core_v1 import Event
from clientgo.meta import deep_copy
from clientgo.meta.timestamps import format_time
from clientgo.record.event_names import event_name
from clientgo.record.lru_cache import LRUCache
from clientgo.util.clock import REAL_CLOCK, Clock, nanoseconds
from clientgo.util.copies import uncopyable
from clientgo.util.flowcontrol import TokenBucket


def similar_events(event: Event) -> tuple[Hashable, Hashable]:
    """The default grouping: alike but for the message, which tells the members apart."""
    about = event.involved_object
    group = (
        _source(event),
        (about.kind, about.namespace, about.name, about.uid, about.api_version),
        event.type,
        event.reason,
        (event.reporting_component, event.reporting_instance),
    )
    return group, event.message


def combined_message(event: Event) -> str:
    """The default message of a combined event: that of the newest member, marked as combined."""
    return f"(combined from similar events): {event.message}"


def spam_by_object(event: Event) -> Hashable:
    """The default budget: one for each source, object and event type, whatever the reason."""
    about = event.involved_object
    return (
        _source(event),
        (about.kind, about.namespace, about.name, about.uid, about.api_version),
        event.type,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrelatorOptions:
    """How events are combined and silenced.

    A group is combined from its ``max_events``-th message on, until it has been quiet for more
    than ``max_interval`` seconds. An object may send ``burst`` events immediately and ``qps`` a
    second in the long run. Each of three caches holds ``cache_size`` entries; a process that
    reports on more objects than that needs more, or events are written again instead of counted.

    Source: tools/record, CorrelatorOptions.
    """

    cache_size: int = 4096
    burst: int = 25
    qps: float = 1 / 300
    max_events: int = 10
    max_interval: float = 600.0
    group_key: Callable[[Event], tuple[Hashable, Hashable]] = similar_events
    combine: Callable[[Event], str] = combined_message
    spam_key: Callable[[Event], Hashable] = spam_by_object


class Correlated(NamedTuple):
    """What to write: a new ``event``, or ``patch`` over the one of its name that exists.

    ``event`` is the correlator's own copy, for the caller to keep.
    """

    event: Event
    patch: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class CorrelatorStatistics:
    """How many events were silenced, and how many entries the caches hold and have evicted."""

    silenced: int
    cached: int
    evicted: int


@uncopyable("it has locks; make one in each process")
class EventCorrelator:
    """Decides for each event whether and how it is written. Source: tools/record."""

    def __init__(
        self, options: CorrelatorOptions | None = None, *, clock: Clock = REAL_CLOCK
    ) -> None:
        options = options or CorrelatorOptions()
        self._options = options
        self._clock = clock
        self._lock = threading.Lock()
        self._groups: LRUCache[Hashable, _Group] = LRUCache(options.cache_size)
        self._observed: LRUCache[Hashable, _Observed] = LRUCache(options.cache_size)
        self._budgets: LRUCache[Hashable, TokenBucket] = LRUCache(options.cache_size)
        self._silenced = 0

    def correlate(self, event: Event) -> Correlated | None:
        """Say what to write for an event; None if its object has used up its budget."""
        with self._lock:
            candidate, key = self._aggregate_locked(deep_copy(event))
            patch = self._count_locked(candidate, key)
            if not self._within_budget_locked(candidate):
                self._silenced += 1
                return None
            return Correlated(candidate, patch)

    def written(self, event: Event) -> None:
        """Remember the server's copy of an event: the next one like it changes that."""
        with self._lock:
            self._observed.put(_identity(event), _observed(event))

    def statistics(self) -> CorrelatorStatistics:
        with self._lock:
            caches: tuple[LRUCache[Hashable, Any], ...]
            caches = (self._groups, self._observed, self._budgets)
            return CorrelatorStatistics(
                silenced=self._silenced,
                cached=sum(len(cache) for cache in caches),
                evicted=sum(cache.evictions for cache in caches),
            )

    def _aggregate_locked(self, event: Event) -> tuple[Event, Hashable]:
        """The event, or the combined one that stands for it, and the key that it counts under."""
        group_key, member = self._options.group_key(event)
        now_ns = nanoseconds(self._clock.monotonic())
        group = self._groups.get(group_key)
        if group is None or now_ns - group.last_ns > nanoseconds(self._options.max_interval):
            group = _Group(now_ns)
        group.last_ns = now_ns
        self._groups.put(group_key, group)
        if member in group.members:
            return event, _identity(event)
        if len(group.members) + 1 < self._options.max_events:
            group.members.add(member)
            return event, _identity(event)
        return self._combined(event), group_key

    def _combined(self, event: Event) -> Event:
        now = self._clock.time()
        event.metadata.name = event_name(event.involved_object.name or "", nanoseconds(now))
        event.first_timestamp = event.last_timestamp = format_time(now)
        event.count = 1
        event.message = self._options.combine(event)
        return event

    def _count_locked(self, event: Event, key: Hashable) -> dict[str, Any] | None:
        """Count the event; if it was seen before, make it the one that exists, and give a patch."""
        seen = self._observed.get(key)
        patch: dict[str, Any] | None = None
        if seen is not None and seen.times > 0:
            event.metadata.name = seen.name
            event.metadata.resource_version = seen.resource_version
            event.first_timestamp = seen.first_timestamp
            event.count = seen.times + 1
            patch = {"count": event.count, "lastTimestamp": event.last_timestamp}
            if event.message:
                patch["message"] = event.message
        self._observed.put(key, _observed(event))
        return patch

    def _within_budget_locked(self, event: Event) -> bool:
        key = self._options.spam_key(event)
        budget = self._budgets.get(key)
        if budget is None:
            budget = TokenBucket(self._options.qps, self._options.burst)
            self._budgets.put(key, budget)
        return budget.take(self._clock.monotonic())


@dataclass(slots=True)
class _Group:
    """The messages of a group that have an Event of their own, and when the last one came."""

    last_ns: int
    members: set[Hashable] = field(default_factory=set)


class _Observed(NamedTuple):
    """What is known of the Event object of a key."""

    times: int
    name: str
    resource_version: str
    first_timestamp: str | None


def _observed(event: Event) -> _Observed:
    return _Observed(
        event.count or 0,
        event.metadata.name,
        event.metadata.resource_version,
        event.first_timestamp,
    )


def _source(event: Event) -> Hashable:
    return event.source.component, event.source.host


def _identity(event: Event) -> Hashable:
    """The key of an event: equal for repetitions."""
    about = event.involved_object
    return (
        _source(event),
        (
            about.kind,
            about.namespace,
            about.name,
            about.field_path,
            about.uid,
            about.api_version,
        ),
        event.type,
        event.reason,
        event.message,
    )
