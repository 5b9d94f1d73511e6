"""What a source is, and what it is given.

Source: controller-runtime pkg/source; Java Operator SDK EventSource.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import CoroutineType
from typing import Any, Final, Protocol

from clientgo.meta import APIResource, ObjectName
from clientgo.operator.cache.object_cache import ObjectCache
from clientgo.operator.cache.scope import NamespaceSet
from clientgo.operator.change_events import ChangeEvent
from clientgo.operator.client.live_client import CachedClient
from clientgo.operator.errors import AlreadyStartedError
from clientgo.operator.mappers import Mapper
from clientgo.operator.predicates import Predicate
from clientgo.operator.runs.steps import CoroutineLoop, no_event_loop
from clientgo.util.clock import Clock
from clientgo.util.process import SupervisedThread
from clientgo.util.wait import StopEvent


class Sink(Protocol):
    """Where a source puts what it has. Thread-safe; never blocks."""

    def emit(self, event: ChangeEvent) -> None:
        """Pass on an event: predicate and mapper decide which primaries run."""

    def enqueue(self, key: ObjectName, *, after: float = 0.0, priority: int = 0) -> None:
        """Ask for a run of a primary, immediately or after so many seconds."""

    def failed(self, error: Exception) -> None:
        """Count and log that the source could not do its work; what is alike once a minute."""


@dataclass(frozen=True, slots=True)
class SourceContext:
    """What a source may use. ``stop`` is set when it has to end; ``event_loop()`` is the manager's,
    for coroutines."""

    controller: str
    primary: APIResource
    namespaces: NamespaceSet
    cache: ObjectCache
    client: CachedClient
    clock: Clock
    stop: threading.Event
    event_loop: Callable[[], CoroutineLoop] = no_event_loop

    def result_of(self, name: str, returned: Any) -> Any:
        """Return what a function of a source returned or, of a coroutine, its result. Blocks.

        The coroutine is cancelled at the stop.
        """
        if not isinstance(returned, CoroutineType):
            return returned
        return self.event_loop().run(f"{self.controller} source {name}", returned, self.stop)


_TAKING: Final = threading.Lock()


class Source(ABC):
    """Base of everything that knows when primaries have to run.

    A subclass needs a ``name``, :meth:`start` and :meth:`stop`.
    """

    name: str
    kind: Any = None
    """What ``ctx.secondaries(kind)`` finds this source by."""
    mapper: Mapper | None = None
    """Which primaries an event of ``sink.emit`` is about."""
    predicate: Predicate | None = None
    """Which events pass."""
    before_others: bool = False
    """True starts the controller's other sources after this one has synced."""
    again: Callable[[], Source] | None = None
    """Makes another that does the same; None where other code calls this very one."""
    _taken = False

    @abstractmethod
    def start(self, context: SourceContext, sink: Sink) -> None:
        """Begin, without blocking. Raises ``AlreadyStartedError`` unless it was stopped before."""

    @abstractmethod
    def stop(self) -> None:
        """End; blocks until the sink is not called any more."""

    def for_controller(self) -> Source:
        """Return it for its first controller, and another for each further one.

        Several controllers may use a class that declares sources, in two managers of a test, say.
        """
        with _TAKING:
            taken, self._taken = self._taken, True
        return self.again() if taken and self.again is not None else self

    def wait_synced(self, timeout: float, stop: threading.Event | None = None) -> bool:
        """Block until the sink has everything that exists already; return False if it has not.

        Waits for ``timeout`` real seconds, and until ``stop`` is set, at most.
        """
        return True

    def healthy(self) -> str | None:
        """Return what is wrong with the source, or None."""
        return None

    def change_namespaces(self, namespaces: NamespaceSet) -> None:
        """Follow the controller to other namespaces."""
        return

    def release(self, condition: Callable[[ObjectName], bool]) -> None:
        """End what is done for primaries that a condition holds for: another process has them."""
        return

    def secondaries(self, key: ObjectName) -> list[Any]:
        """Return what belongs to a primary."""
        raise LookupError(f"source {self.name} keeps nothing")

    def read_once(
        self, context: SourceContext, key: ObjectName, primary: Any | None
    ) -> list[Any] | None:
        """Return what belongs to a primary, without a start: for a run without a manager.

        ``primary`` is None if it is gone. None means that only a source that runs knows.
        """
        return None


class ThreadSource(Source):
    """A source that works in a thread of its own, which has a stop event of its own."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._starting = threading.Lock()
        self._stop = StopEvent()
        self._thread: SupervisedThread | None = None

    @abstractmethod
    def work(self, context: SourceContext, sink: Sink) -> None:
        """Work until ``context.stop`` is set; called in the thread."""

    def start(self, context: SourceContext, sink: Sink) -> None:
        with self._starting:
            if self._thread is not None:
                raise AlreadyStartedError(f"source {self.name} runs already")
            self._stop = StopEvent()
            self._thread = SupervisedThread.started(
                self.work,
                args=(replace(context, stop=self._stop), sink),
                name=f"source-{self.name}",
                then="the source is unhealthy; restart this process",
            )

    def stop(self) -> None:
        self._stop.set()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()

    def healthy(self) -> str | None:
        return None if self.works() else "its thread does not run"

    def works(self) -> bool:
        """Return True if the thread runs."""
        thread = self._thread
        return thread is not None and thread.is_alive()
