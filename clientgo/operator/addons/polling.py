"""Sources that poll, for what has no watch.

Promises that the first answer is there before any reconcile, that primaries run only for what
differs from the answer before, and that a failed poll is logged, counted and repeated. The period
counts from the end of an answer. A first answer can wait like a first list.

Source: Java Operator SDK PollingEventSource, PerResourcePollingEventSource, which stop after an
exception.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Literal, TypeAlias, overload

from clientgo.cache import Latch
from clientgo.meta import ObjectName
from clientgo.operator.cache.scope import NamespaceSet
from clientgo.operator.errors import AlreadyStartedError, DeclarationError, Retry
from clientgo.operator.retry import none
from clientgo.operator.runs import Run, RunQueue, RunSettings
from clientgo.operator.runs.steps import Outcome
from clientgo.operator.settings.durations import Duration, positive_seconds
from clientgo.operator.sources.primaries import ItemCache, ItemId, PrimaryWatch
from clientgo.operator.sources.source import Sink, Source, SourceContext, ThreadSource
from clientgo.util.copies import uncopyable
from clientgo.util.wait import StopEvent, wait_for_event
from clientgo.workqueue import LOW_PRIORITY

_FIRST_POLL: Final = 0.2
"""Seconds until a coroutine runs again that came before the first answer about its object."""

Answer: TypeAlias = Mapping[ObjectName, Iterable[Any]]
Fetched: TypeAlias = Answer | Coroutine[Any, Any, Answer]


@uncopyable("it has threads; make one in each process")
class PollingSource(ThreadSource):
    """Calls ``fetch()`` for all primaries; :func:`poll` makes it. Thread-safe."""

    def __init__(
        self,
        fetch: Callable[[], Fetched],
        *,
        period: float,
        item_id: ItemId | None,
        kind: Any,
        name: str,
    ) -> None:
        super().__init__(name)
        self.again = partial(
            PollingSource, fetch, period=period, item_id=item_id, kind=kind, name=name
        )
        self.kind = kind
        self.cache = ItemCache(item_id)
        self._fetch = fetch
        self._period = period
        self._answered = Latch()
        self._trouble: str | None = None

    def work(self, context: SourceContext, sink: Sink) -> None:
        while not context.stop.is_set():
            self._poll(context, sink)
            context.clock.sleep(self._period, context.stop)

    def wait_synced(self, timeout: float, stop: threading.Event | None = None) -> bool:
        return wait_for_event(self._answered, timeout, stop)

    def stop(self) -> None:
        super().stop()
        self._answered = Latch()

    def healthy(self) -> str | None:
        return self._trouble or super().healthy()

    def secondaries(self, key: ObjectName) -> list[Any]:
        return self.cache.items(key)

    def read_once(
        self, context: SourceContext, key: ObjectName, primary: Any | None
    ) -> list[Any] | None:
        answer = self._items_by_key(context)
        return list(self.cache.by_id(answer.get(key, ())).values())

    def _items_by_key(self, context: SourceContext) -> dict[ObjectName, list[Any]]:
        """Fetch; raises ``TypeError`` for an answer of another shape."""
        answer: Any = context.result_of(self.name, self._fetch())
        if not isinstance(answer, Mapping):
            raise TypeError(f"fetch returns a dict of items by ObjectName, not {answer!r}")
        for key in answer:
            if not isinstance(key, ObjectName):
                raise TypeError(
                    f"fetch returns items by ObjectName(namespace, name), and {key!r} is none"
                )
        return {key: _listed(items) for key, items in answer.items()}

    def _poll(self, context: SourceContext, sink: Sink) -> None:
        try:
            answer = self._items_by_key(context)
            priority = 0 if self._answered.is_set() else LOW_PRIORITY
            for key in self.cache.replace_all(answer):
                sink.enqueue(key, priority=priority)
            self._trouble = None
            self._answered.set()
        except Exception as error:  # noqa: BLE001 - the next poll may be answered
            if context.stop.is_set():
                return  # the poll itself was stopped
            self._trouble = f"{type(error).__name__}: {error}"
            sink.failed(error)


@uncopyable("it has threads; make one in each process")
class PerResourcePollingSource(Source):
    """Calls ``fetch(primary)`` for each primary; :func:`poll` makes it. Thread-safe.

    A primary that ``when`` excludes is checked again when it changes. Each poll is a run of a
    ``RunQueue``, which asks to be repeated; coroutines share one thread.
    """

    def __init__(
        self,
        fetch: Callable[[Any], Any],
        *,
        period: float,
        when: Callable[[Any], bool] | None,
        item_id: ItemId | None,
        concurrency: int,
        kind: Any,
        name: str,
    ) -> None:
        self.name = name
        self.again = partial(
            PerResourcePollingSource,
            fetch,
            period=period,
            when=when,
            item_id=item_id,
            concurrency=concurrency,
            kind=kind,
            name=name,
        )
        self.kind = kind
        self.cache = ItemCache(item_id)
        self._is_async = inspect.iscoroutinefunction(fetch)
        self._concurrency = concurrency
        self._fetch = fetch
        self._period = period
        self._when = when
        self._starting = threading.Lock()
        self._started: _Started | None = None
        self._lock = threading.Lock()
        self._asked: set[ObjectName] = set()
        """The primaries that are being polled, or have their time."""
        self._troubles: dict[ObjectName, str] = {}

    def start(self, context: SourceContext, sink: Sink) -> None:
        with self._starting:
            if self._started is not None:
                raise AlreadyStartedError(f"source {self.name} runs already")
            settings = RunSettings(none(), max_interval=0.0)
            stop = StopEvent()
            queue = RunQueue(f"source-{self.name}", settings, stopping=stop, clock=context.clock)
            context = replace(context, stop=stop)
            primaries = PrimaryWatch(context, self._disappeared, partial(self._appeared, queue))
            started = self._started = _Started(context, sink, queue, primaries)
            threads = 1 if self._is_async else None
            queue.start(partial(self._work, started), self._concurrency, threads=threads)

    def wait_synced(self, timeout: float, stop: threading.Event | None = None) -> bool:
        """Every primary is known; the answers about them are fetched when they are read."""
        started = self._started
        return started is not None and started.primaries.wait_synced(timeout, stop)

    def change_namespaces(self, namespaces: NamespaceSet) -> None:
        if self._started is not None:
            self._started.primaries.change_namespaces(namespaces)
            self.cache.keep_only(namespaces)

    def stop(self) -> None:
        started = self._started
        if started is None:
            return
        started.primaries.stop()
        started.queue.stop()
        with self._lock:
            self._asked.clear()
        self._started = None

    def healthy(self) -> str | None:
        with self._lock:
            for key, trouble in self._troubles.items():
                return f"{key}: {trouble}"
        started = self._started
        works = started is not None and started.queue.threads_alive()
        return None if works else "its thread does not run"

    def secondaries(self, key: ObjectName) -> list[Any]:
        """Return the items of a primary; polls if that was not done yet.

        Raises ``Retry`` in a coroutine, if ``fetch`` is one too and has to be waited for.
        """
        if not self.cache.known(key):
            primary = self._primary(key)
            if primary is not None:
                self._learn(key, self._answer(self._fetch_now(key, primary))[0])
        return self.cache.items(key)

    def read_once(
        self, context: SourceContext, key: ObjectName, primary: Any | None
    ) -> list[Any] | None:
        if primary is None or (self._when is not None and not self._when(primary)):
            return None
        items, _ = self._answer(context.result_of(self.name, self._fetch(primary)))
        return list(self.cache.by_id(items).values())

    def _work(self, started: _Started, run: Run) -> None:
        """Poll for a primary whose time has come; a coroutine goes on without this thread."""
        primary = self._begin(run.key)
        if primary is None:
            run.gone()
            if self._is_async:
                run.over()
        elif self._is_async:
            context = started.context
            name = f"{context.controller} source {self.name} {run.key}"
            ended = partial(self._over, started.sink, run)
            context.event_loop().start(name, self._fetch(primary), ended, context.stop)
        else:
            self._finish(started.sink, run, partial(self._fetch, primary))

    def _over(self, sink: Sink, run: Run, outcome: Outcome) -> None:
        self._finish(sink, run, outcome)
        run.over()

    def _appeared(self, queue: RunQueue, key: ObjectName, primary: Any) -> None:
        if self._when is not None and not self._when(primary):
            return
        with self._lock:
            if key in self._asked:
                return
            self._asked.add(key)
        queue.trigger(key)

    def _disappeared(self, key: ObjectName) -> None:
        self.cache.forget(key)
        with self._lock:
            self._troubles.pop(key, None)

    def _begin(self, key: ObjectName) -> Any | None:
        """Return the primary to poll, None for no poll."""
        with self._lock:
            self._asked.discard(key)  # before the primary is read: what changes then polls again
        primary = self._primary(key)
        if primary is None or (self._when is not None and not self._when(primary)):
            self._disappeared(key)
            return None
        with self._lock:
            self._asked.add(key)
        return primary

    def _finish(self, sink: Sink, run: Run, fetched: Outcome) -> None:
        """Take the answer about a primary, and ask for the next poll."""
        try:
            items, period = self._answer(fetched())
            priority = 0 if self.cache.known(run.key) else LOW_PRIORITY
            if self._learn(run.key, items):
                sink.enqueue(run.key, priority=priority)
        except Exception as error:  # noqa: BLE001 - the next poll may be answered
            run.succeeded(self._period)
            if self._stops():
                return  # the poll itself was stopped
            with self._lock:
                self._troubles[run.key] = f"{type(error).__name__}: {error}"
            sink.failed(error)
        else:
            run.succeeded(period)
            with self._lock:
                self._troubles.pop(run.key, None)

    def _learn(self, key: ObjectName, items: list[Any]) -> bool:
        """Keep an answer; return True if it is a change. The primary may be gone by now."""
        changed = self.cache.replace(key, items)
        if self._primary(key) is None:
            self.cache.forget(key)
        return changed

    def _fetch_now(self, key: ObjectName, primary: Any) -> Any:
        started = self._started
        if not self._is_async or started is None:
            return self._fetch(primary)
        if started.context.event_loop().is_current():
            raise Retry(f"source {self.name} has not polled {key} yet", after=_FIRST_POLL)
        return started.context.result_of(self.name, self._fetch(primary))

    def _answer(self, answer: Any) -> tuple[list[Any], float]:
        if isinstance(answer, tuple):
            items, period = answer
            return _listed(items), positive_seconds(period, "the period that fetch returned")
        return _listed(answer), self._period

    def _primary(self, key: ObjectName) -> Any | None:
        return None if self._started is None else self._started.primaries.get(key)

    def _stops(self) -> bool:
        return self._started is None or self._started.context.stop.is_set()


def _listed(items: Any) -> list[Any]:
    """Return the items of one primary. Raises ``TypeError`` for one item without a list."""
    if isinstance(items, str | Mapping) or not isinstance(items, Iterable):
        raise TypeError(f"fetch returns a list of items for each primary, not {items!r}")
    return list(items)


@dataclass(frozen=True, slots=True)
class _Started:
    """What a source has while it runs."""

    context: SourceContext
    sink: Sink
    queue: RunQueue
    primaries: PrimaryWatch


@overload
def poll(
    fetch: Callable[[], Fetched],
    *,
    period: Duration,
    per_resource: Literal[False] = False,
    item_id: ItemId | None = None,
    kind: Any = None,
    name: str = "poll",
) -> PollingSource: ...


@overload
def poll(
    fetch: Callable[[Any], Any],
    *,
    period: Duration,
    per_resource: Literal[True],
    when: Callable[[Any], bool] | None = None,
    item_id: ItemId | None = None,
    concurrency: int = 1,
    kind: Any = None,
    name: str = "poll",
) -> PerResourcePollingSource: ...


def poll(
    fetch: Callable[..., Any],
    *,
    period: Duration,
    per_resource: bool = False,
    when: Callable[[Any], bool] | None = None,
    item_id: ItemId | None = None,
    concurrency: int = 1,
    kind: Any = None,
    name: str = "poll",
) -> PollingSource | PerResourcePollingSource:
    """Return a source that calls ``fetch``, which may be ``async def``, every ``period`` seconds.

    ``fetch()`` returns the items of all primaries, by key. With ``per_resource`` ``fetch(primary)``
    is called for each primary that passes ``when``, ``concurrency`` at a time, and returns the
    items, or a pair of these and the seconds until the next call. ``item_id`` identifies items, by
    default by their ``id`` or ``name``; ``kind`` is the class under which ``ctx.secondaries`` finds
    them. It finds the last answer, without what a run has changed outside since.

    Raises ``ConfigError``, ``DeclarationError``.
    """
    length = positive_seconds(period, f"the period of source {name}")
    if not per_resource:
        if when is not None or concurrency != 1:
            raise DeclarationError(f"source {name}: when and concurrency need per_resource=True")
        return PollingSource(fetch, period=length, item_id=item_id, kind=kind, name=name)
    if concurrency < 1:
        raise DeclarationError(f"source {name}: concurrency must be at least 1, not {concurrency}")
    return PerResourcePollingSource(
        fetch,
        period=length,
        when=when,
        item_id=item_id,
        concurrency=concurrency,
        kind=kind,
        name=name,
    )
