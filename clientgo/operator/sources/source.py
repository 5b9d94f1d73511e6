"""What a source is, and what it is given.

Source: controller-runtime pkg/source; Java Operator SDK EventSource.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from clientgo.clock import Clock
from clientgo.meta import APIResource, ObjectName
from clientgo.operator.cache.scope import NamespaceSet
from clientgo.operator.change_events import ChangeEvent

if TYPE_CHECKING:
    from clientgo.operator.cache.object_cache import ObjectCache
    from clientgo.operator.client.cached_client import CachedClient


class Sink(Protocol):
    """Where a source puts what it has. Thread-safe; never blocks."""

    def emit(self, event: ChangeEvent) -> None:
        """Tell of an event: predicate and mapper decide which primaries run."""

    def enqueue(self, key: ObjectName, *, after: float = 0.0, priority: int = 0) -> None:
        """Ask for a run of a primary, at once or after so many seconds."""

    def failed(self, error: Exception) -> None:
        """Count and log that the source could not do its work for once."""


@dataclass(frozen=True, slots=True)
class SourceContext:
    """What a source may use. ``stop`` is set when it has to end."""

    controller: str
    primary: APIResource
    namespaces: NamespaceSet
    cache: ObjectCache
    client: CachedClient
    clock: Clock
    stop: threading.Event


@runtime_checkable
class Source(Protocol):
    """Something that knows when primaries deserve a look.

    ``start`` returns soon; a second one without a ``stop`` between raises
    :class:`~clientgo.operator.errors.AlreadyStartedError`. ``wait_synced`` blocks until the source
    has told of everything that is there already, for ``timeout`` real seconds and until ``stop`` is
    set at most, and answers whether it has. ``stop`` blocks until nothing is told any more. A
    source may also have ``healthy() -> str | None``, which says what is wrong with it, and
    ``before_others``: True lets it sync before the rest start.
    """

    name: str

    def start(self, context: SourceContext, sink: Sink) -> None: ...

    def wait_synced(self, timeout: float, stop: threading.Event | None = None) -> bool: ...

    def stop(self) -> None: ...
