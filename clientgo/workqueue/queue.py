"""The work queue: an ordered set of items that need work, and which of them are being processed.

Promises: items come out in the order in which they were added, once for any number of adds; no
item is processed by two workers at once; an item that is added while it is processed comes out
again after its `done`, at the end; what was accepted before a shutdown is still returned by `get`.

Does not promise one `get` for each add: read the state, do not count events.

Differs from client-go (util/workqueue, `Typed`): an item has one of three states instead of being
in the sets *dirty* and *processing*. A `done` of an item that is not processed is ignored with a
warning. `shut_down_with_drain(until_empty=True)` also waits for items that are still listed.

`lock.py` says how operations share the queue's lock. An add wakes a getter only if no other is
already waking up, and a getter that leaves items wakes the next: a burst of adds costs a few
thread switches. An operation that an exception ends half-way, such as KeyboardInterrupt, repairs
the queue before the exception goes on.
"""

from __future__ import annotations

import enum
import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar, cast

from clientgo.observe.metrics import MetricsProvider
from clientgo.observe.trace import NOT_TRACED, Syncing, TracedSync, active_trace
from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.copies import uncopyable
from clientgo.util.process import generation, refuse_in_child
from clientgo.workqueue.lock import QueueLock
from clientgo.workqueue.metrics import QueueMetrics
from clientgo.workqueue.ordering import FIFO, Ordering, T

if TYPE_CHECKING:
    from clientgo.workqueue.explanation import ItemExplanation

_log = logging.getLogger("clientgo.workqueue")


R = TypeVar("R")

NOTHING: Final[Any] = object()
"""Where there is no item."""


class _State(enum.Enum):
    READY = "needs work; listed"
    PROCESSING = "being processed"
    DIRTY = "being processed, and needs work again"


# Reading a member off the enum costs more than the rest of the line that uses it.
_READY, _PROCESSING, _DIRTY = _State.READY, _State.PROCESSING, _State.DIRTY


_OUTCOMES: Final = {
    None: "new",
    _READY: "known",
    _PROCESSING: "while_processing",
    _DIRTY: "known",
}
"""What an add does, by the state of the item before it, in a trace."""


@dataclass(frozen=True, slots=True)
class QueueStatistics:
    """A queue at one instant.

    Items: `ready` to be taken, `processing` by workers, and `dirty`, those processed that need work
    again. Threads: `idle_getters` in `get`, `drains` in `shut_down_with_drain`.
    """

    name: str
    ready: int
    processing: int
    dirty: int
    idle_getters: int
    drains: int
    shutting_down: bool


@uncopyable("it has locks; make one in each process")
class Queue(Generic[T]):
    """A work queue for any number of producers and workers::

        while True:
            item, shutdown = queue.get()
            if shutdown:
                return
            try:
                sync(item)
            finally:
                queue.done(item)

    Items are hashable and compared by equality. `name` labels the metrics, which go to `metrics`
    (by default to `clientgo.observe.metrics.default_provider()`); a queue without a name has none.
    Leaving a ``with`` block shuts the queue down. Thread-safe; a signal handler may call what adds,
    `done`, `shut_down`, and what reads, also if it interrupts an operation of the queue.

    Source: k8s.io/client-go/util/workqueue, Typed.
    """

    def __init__(
        self,
        *,
        name: str = "",
        ordering: Ordering[T] | None = None,
        metrics: MetricsProvider | None = None,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        self._name = name
        self._clock = clock
        self._queue_lock = lock = QueueLock(name)
        self._lock = cast("threading.Lock", lock)
        self._token, self._left = lock.token, lock.left
        self._do_left, self._do_left_locked = lock.do_left, lock.do_left_locked
        self._states: dict[T, _State] = {}
        self._ready: Ordering[T] = FIFO() if ordering is None else ordering
        self._dirty = 0
        self._getter_needed = threading.Condition(self._lock)
        self._idle_getters = 0
        self._getter_is_waking = False
        self._drained = threading.Condition(self._lock)
        self._drains = 0
        self._shutting_down = False
        self._forced_shutdowns = 0
        self._metrics: QueueMetrics | None = QueueMetrics.build(name, metrics, clock, self._lock)
        self._trace = active_trace()
        self._acting_thread = ""
        """Who asked for an operation that the lock's holder does, by name."""
        self._observed = self._metrics is not None or self._trace is not None
        self._is_plain = not self._observed
        """True unless the queue is observed or shuts down."""
        refuse_in_child(
            self,
            f"work queue {name!r}",
            "_token",
            "_lock",
            "_queue_lock",
            advice="make the queue in the process that uses it, after the fork",
        )

    def add(self, item: T) -> None:
        """Note that `item` needs work. Never blocks; does nothing once the queue shuts down.

        Legal in a `__del__` method and in a signal handler.
        """
        try:
            del self._token[0]
        except IndexError:
            self._leave_to_holder(self._add_locked, item)
            return
        try:
            if self._left:
                self._do_left_locked()
            if item in self._states or not self._is_plain:
                self._add_locked(item)
            else:  # the usual case of `_add_locked`, without the price of the call
                self._ready.push(item)
                self._states[item] = _READY
                if self._idle_getters and not self._getter_is_waking:
                    self._wake_getter_locked()
        except BaseException:
            self._repair_locked()
            raise
        finally:
            try:
                self._token.append(None)
            finally:
                if self._left:
                    self._do_left()

    def get(self) -> tuple[T, bool]:
        """Block until an item is ready, and take it: ``(item, False)``.

        Answers ``(None, True)`` when the queue shuts down and no item is left. Every item that is
        taken must be given to `done`. If it raises, as KeyboardInterrupt, no item is taken.
        """
        try:
            del self._token[0]
        except IndexError:
            self._wait_for_token()
        item = NOTHING
        try:
            try:
                while True:
                    while not self._ready:
                        if self._shutting_down:
                            return cast("T", None), True
                        self._wait_locked()
                    if not self._observed or self._may_take_locked():
                        break
                item = self._ready.pop()
                self._states[item] = _PROCESSING
                if self._observed:
                    self._taken_locked(item)
                if self._idle_getters and self._ready and not self._getter_is_waking:
                    self._wake_getter_locked()
            except BaseException:
                taken, item = item, NOTHING
                self._repair_locked(taken)
                raise
            finally:
                try:
                    self._token.append(None)
                finally:
                    if self._left:
                        self._do_left()
        except BaseException:
            if item is not NOTHING:
                self._leave_to_holder(self._repair_locked, item)
            raise
        return item, False

    def done(self, item: T) -> None:
        """Give back an item that `get` returned. If it was added meanwhile, it is listed again.

        An item that is not being processed is ignored, with a warning: it was given back twice, or
        never taken.
        """
        if self._trace is not None:
            self._trace.acts_for("")  # what this thread sends from now on is not of the item
        try:
            del self._token[0]
        except IndexError:
            self._leave_to_holder(self._done_locked, item)
            return
        try:
            state = self._states.pop(item, None)
            if state is not _PROCESSING or not self._is_plain:
                self._done_with_locked(item, state)
        except BaseException:
            self._repair_done_locked(item)
            raise
        finally:
            try:
                self._token.append(None)
            finally:
                if self._left:
                    self._do_left()

    def shut_down(self) -> None:
        """Take no further items; let workers end when the listed ones are handed out.

        Wakes every blocked `get` and releases every running `shut_down_with_drain`. Does not wait
        for items being processed. Calling it again is harmless.

        Legal in a signal handler. If that interrupts an operation of this queue, the queue shuts
        down when the operation ends.
        """
        if self._queue_lock.is_taken_by_interrupted():
            self._leave_to_holder(self._force_shut_down_locked, None)
            return  # the queue's own threads end when the operation does
        self._do_locked(self._force_shut_down_locked)
        self._join_threads()

    def shut_down_with_drain(self, *, until_empty: bool = False) -> None:
        """Shut down, and block until no item is being processed.

        Items that are listed, but that no worker has taken at that moment, are waited for only
        with `until_empty`. A `shut_down` from another thread releases the wait, so that a second
        signal can end a program whose worker hangs.

        Not for a signal handler: the thread that it interrupts may be processing an item. Raises
        RuntimeError if it interrupts an operation of this queue.
        """
        if self._queue_lock.interrupts_operation():
            raise RuntimeError(
                f"shut_down_with_drain of work queue {self._name!r} interrupts an operation of the "
                "same queue, which cannot end before it; in a signal handler call shut_down, or "
                "set an event that another thread waits for"
            )
        forced_shutdowns = self._do_locked(self._begin_drain_locked)
        self._join_threads()
        self._do_locked(lambda _: self._drain_locked(forced_shutdowns, until_empty=until_empty))

    def syncing(self, item: T) -> Syncing:
        """Show the sync of `item` to a tracer, in a worker loop of your own::

            with queue.syncing(key):
                sync(key)

        `run_workers` does it. It costs next to nothing while nothing is traced.
        """
        return NOT_TRACED if self._trace is None else TracedSync(self._trace, self._name, item)

    @property
    def shutting_down(self) -> bool:
        """Return True if a shutdown has begun."""
        return self._shutting_down

    def items(self) -> Iterator[T]:
        """Take items until the queue shuts down, giving each back when the next is asked for.

        ``for item in queue.items(): ...`` is the loop of a worker whose body does not raise.
        """
        while True:
            item, shutdown = self.get()
            if shutdown:
                return
            try:
                yield item
            finally:
                self.done(item)

    def statistics(self) -> QueueStatistics:
        """Return what the queue holds right now."""
        return QueueStatistics(**self._read(self._statistics_locked))

    def processing_items(self) -> list[T]:
        """Return the items that workers have taken and not given back with `done`, in no order."""
        states = self._read(lambda: list(self._states.items()))
        return [item for item, state in states if state is not _READY]

    def explain(self, item: T) -> ItemExplanation:
        """Return what the queue knows of an item right now."""
        from clientgo.workqueue.explanation import ItemExplanation  # for those who ask

        return ItemExplanation(**self._read(lambda: self._explained_locked(item)))

    def __len__(self) -> int:
        """Return how many items are listed: neither processed nor delayed ones."""
        self._do_left()
        return len(self._ready)

    def __enter__(self) -> Self:
        self._entered_in = generation()
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._entered_in == generation():  # a forked child leaves it to its parent
            self.shut_down()

    def _wait_for_token(self) -> None:
        is_main = threading.get_ident() == threading.main_thread().ident
        if is_main and self._queue_lock.interrupts_operation():
            raise RuntimeError(
                f"a signal handler uses work queue {self._name!r} while it interrupts an operation "
                "of the same queue, which cannot end before it; there call only add, add_after, "
                "add_rate_limited, done, shut_down and what reads, or set an event that another "
                "thread waits for"
            )
        self._queue_lock.wait()

    def _do_locked(self, operation: Callable[[Any], R], item: Any = None) -> R:
        """Do something under the lock, and wait for that."""
        try:
            del self._token[0]
        except IndexError:
            self._wait_for_token()
        try:
            self._do_left_locked()
            return operation(item)
        except BaseException:
            self._repair_locked()
            raise
        finally:
            try:
                self._token.append(None)
            finally:
                self._do_left()

    def _do_or_leave(self, operation: Callable[[T], object], item: T) -> None:
        """Do something under the lock; if that is taken, leave it to its holder."""
        try:
            del self._token[0]
        except IndexError:
            self._leave_to_holder(operation, item)
            return
        try:
            if self._left:
                self._do_left_locked()
            operation(item)
        except BaseException:
            self._repair_locked()
            raise
        finally:
            try:
                self._token.append(None)
            finally:
                if self._left:
                    self._do_left()

    def _leave_to_holder(self, operation: Callable[[Any], object], item: Any) -> None:
        hash(item)  # an item that is none is refused to the caller
        if self._trace is not None:
            operation = partial(self._do_for_locked, threading.current_thread().name, operation)
        self._left.append((operation, item))
        self._do_left()

    def _read(self, operation: Callable[[], R]) -> R:
        """Do what changes nothing under the lock, or inside an operation that is interrupted."""
        if self._queue_lock.is_taken_by_interrupted():
            return operation()
        return self._do_locked(lambda _: operation())

    def _repair_locked(self, taken: Any = NOTHING) -> None:
        """Make states and order agree again, after an operation that has raised.

        An item `taken` by a `get` that did not return it is listed again.
        """
        try:
            if self._states.get(taken, _READY) is not _READY:
                self._states[taken] = _READY
            states = list(self._states.values())
            if len(self._ready) != states.count(_READY):
                self._list_all_locked()
            self._dirty = states.count(_DIRTY)
            self._getter_is_waking = False
            self._getter_needed.notify_all()
            self._drained.notify_all()
        except BaseException:
            self._left.append((self._repair_locked, taken))
            raise

    def _list_all_locked(self) -> None:
        items = []
        while self._ready:
            items.append(self._ready.pop())
        items += [item for item, state in list(self._states.items()) if state is _READY]
        listed = set()
        for item in items:
            try:
                if item not in listed:
                    self._ready.push(item)
                    self._states[item] = _READY
                    listed.add(item)
            except Exception:  # noqa: BLE001 - the others must be listed
                _log.exception("work queue %r: the item %r is dropped", self._name, item)

    def _do_for_locked(self, thread: str, operation: Callable[[T], object], item: T) -> None:
        """Do what another thread left, and show it as done by that thread."""
        self._acting_thread = thread
        try:
            operation(item)
        finally:
            self._acting_thread = ""

    def _note_locked(self, hop: str, item: T, **details: Any) -> None:
        """Note a hop if there is a tracer."""
        if self._trace is not None:
            self._trace.note(hop, self._name, item, thread=self._acting_thread, **details)

    def _needs_work_locked(self, item: T) -> bool:
        state = self._states.get(item)
        return state is not None and state is not _PROCESSING

    def _add_locked(self, item: T) -> None:
        if self._shutting_down:
            return
        state = self._states.get(item)
        if state is None:
            self._ready.push(item)
            self._states[item] = _READY
            if self._idle_getters and not self._getter_is_waking:
                self._wake_getter_locked()
        elif state is _PROCESSING:
            self._states[item] = _DIRTY
            self._dirty += 1
        elif state is _READY:
            self._ready.touch(item)
        if self._observed:
            self._added_locked(item, state)

    def _done_locked(self, item: T) -> None:
        try:
            self._done_with_locked(item, self._states.pop(item, None))
        except BaseException:
            self._repair_done_locked(item)
            raise

    def _done_with_locked(self, item: T, state: _State | None) -> None:
        """End the processing of an item; `state` is the one that it had."""
        if state is _PROCESSING or state is _DIRTY:
            if state is _DIRTY:
                self._list_again_locked(item)
            if self._observed:
                self._finished_locked(item, again=state is _DIRTY)
        else:
            if state is not None:
                self._states[item] = state
            _log.warning(
                "done(%r) on work queue %r: the item is not being processed; call done once a get",
                item,
                self._name,
            )
        if self._shutting_down:
            self._note_progress_locked()

    def _list_again_locked(self, item: T) -> None:
        self._states[item] = _READY
        self._dirty -= 1
        try:
            self._ready.push(item)
        except Exception:
            del self._states[item]
            raise
        if self._idle_getters and not self._getter_is_waking:
            self._wake_getter_locked()

    def _repair_done_locked(self, item: T) -> None:
        """Repair a `done` of an item that was perhaps added meanwhile."""
        if self._dirty > list(self._states.values()).count(_DIRTY):
            self._states[item] = _READY
        self._repair_locked()

    def _may_take_locked(self) -> bool:
        """Ask the tracer, without the lock; return True if there is still an item then."""
        if self._trace is None:
            return True
        self._trace.acts_for(self._name)
        if not self._trace.holds:
            return True
        self._queue_lock._release_save()
        try:
            self._trace.before("queue.take", self._name)
        finally:
            self._queue_lock._acquire_restore()
        return bool(self._ready)

    def _added_locked(self, item: T, before: _State | None) -> None:
        """Report an add of an item that had the state `before`."""
        is_news = before is None or before is _PROCESSING
        self._note_locked("queue.add", item, outcome=_OUTCOMES[before])
        if self._metrics is not None and is_news:
            self._metrics.added(item)

    def _taken_locked(self, item: T) -> None:
        self._note_locked("queue.get", item)
        if self._trace is not None:
            self._trace.acts_for(self._name, item)
        if self._metrics is not None:
            self._metrics.taken(item)

    def _finished_locked(self, item: T, *, again: bool) -> None:
        self._note_locked("queue.done", item, again=again)
        if self._metrics is not None:
            self._metrics.finished(item)

    def _wait_locked(self) -> None:
        """Wait until there may be an item or a shutdown."""
        if not self._states:
            # An emptied dict keeps the table of its largest size until it is cleared.
            self._states.clear()
            if self._metrics is not None:
                self._metrics.forget_items()
        self._idle_getters += 1
        try:
            self._clock.wait(self._getter_needed, None)
        finally:
            self._idle_getters -= 1
            self._getter_is_waking = False

    def _wake_getter_locked(self) -> None:
        self._getter_is_waking = True
        self._getter_needed.notify()

    def _processing_locked(self) -> int:
        return len(self._states) - len(self._ready)

    def _force_shut_down_locked(self, _: object) -> None:
        self._forced_shutdowns += 1
        self._shut_down_locked()

    def _begin_drain_locked(self, _: object) -> int:
        self._shut_down_locked()
        return self._forced_shutdowns

    def _drain_locked(self, forced_shutdowns: int, *, until_empty: bool) -> None:
        self._drains += 1
        try:
            while self._forced_shutdowns == forced_shutdowns and (
                self._processing_locked() or (until_empty and self._ready)
            ):
                self._clock.wait(self._drained, None)
        finally:
            self._drains -= 1

    def _shut_down_locked(self) -> None:
        self._shutting_down, self._is_plain = True, False
        self._getter_needed.notify_all()
        if self._metrics is not None:
            self._metrics.stop()
        self._note_progress_locked()

    def _note_progress_locked(self) -> None:
        """Let those who wait for the end of a shutdown look again."""
        if self._drains:
            self._drained.notify_all()
        if self._metrics is not None and not self._states:
            self._metrics.remove()

    def _join_threads(self) -> None:
        if self._metrics is not None:
            self._metrics.join()

    def _statistics_locked(self) -> dict[str, Any]:
        return {
            "name": self._name,
            "ready": len(self._ready),
            "processing": self._processing_locked(),
            "dirty": self._dirty,
            "idle_getters": self._idle_getters,
            "drains": self._drains,
            "shutting_down": self._shutting_down,
        }

    def _explained_locked(self, item: T) -> dict[str, Any]:
        state = self._states.get(item)
        return {
            "state": "unknown" if state is None else state.name.lower(),
            "now": self._clock.monotonic(),
            "since": None if self._metrics is None else self._metrics.since(item),
            "ready": len(self._ready),
            "idle_getters": self._idle_getters,
            "shutting_down": self._shutting_down,
        }
